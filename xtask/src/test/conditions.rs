//! Runs the tests under the conditions under which people and machines start them: `cargo xtask test
//! --conditions [WORD..]`. Results must not depend on the terminal, ignored signals, environment variables, the
//! user or the load.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::Outcome;
use crate::command::{root, succeed};
use crate::test::binaries::{self, Start};

/// The number of busy processes in the condition `load`.
const LOAD: usize = 10;

/// The conditions tested by default. Those combined in `together` are not repeated separately: if a test fails
/// there, naming them one by one shows which of them it was.
const USUAL: [&str; 5] = ["together", "terminal", "pwd-elsewhere", "user", "load"];

pub fn run(words: &[String]) -> Outcome {
    // Without a space, because LD_PRELOAD does not support paths with spaces.
    let folder = std::env::temp_dir().join("bactrian-tests-of-another-temporary-folder");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let elsewhere = folder.display().to_string();
    let user_folder = UserFolder::new()?;
    let for_user = [
        ("TMPDIR", user_folder.text()),
        ("HOME", user_folder.text()),
        ("BACTRIAN_FIXTURES", user_folder.text()),
    ];
    let elsewhere = [("TMPDIR", elsewhere.as_str())];
    let conditions = [
        // `script` takes a single command line, which a shell splits; our paths have no spaces.
        (
            "terminal",
            Start {
                before: vec!["sh", "-c", "exec script -qefc \"$*\" /dev/null", "sh"],
                ..Start::default()
            },
        ),
        ("nohup", Start { before: vec!["nohup"], ..Start::default() }),
        (
            "ignored-signals",
            Start {
                before: vec!["env", "--ignore-signal=HUP,INT,QUIT,TERM,USR1,USR2"],
                ..Start::default()
            },
        ),
        ("pwd-unset", Start { unset: &["PWD", "OLDPWD"], ..Start::default() }),
        ("pwd-elsewhere", Start { set: &[("PWD", "/nonexistent")], ..Start::default() }),
        ("home-unset", Start { unset: &["HOME", "XDG_CACHE_HOME"], ..Start::default() }),
        ("tmpdir", Start { set: &elsewhere, ..Start::default() }),
        (
            "user",
            Start {
                before: vec!["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
                set: &for_user,
                ..Start::default()
            },
        ),
        ("load", Start::default()),
        // Conditions that do not exclude each other.
        (
            "together",
            Start {
                before: vec!["nohup", "env", "--ignore-signal=INT,QUIT,TERM,USR1,USR2"],
                unset: &["PWD", "OLDPWD", "HOME", "XDG_CACHE_HOME"],
                set: &elsewhere,
                ..Start::default()
            },
        ),
    ];
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let titles = conditions.each_ref().map(|(title, _)| *title);
    if let Some(unknown) = words.iter().find(|word| !titles.contains(&word.as_str())) {
        return Err(format!("no condition {unknown:?}; there are {}", titles.join(", ")));
    }
    let mut failed = Vec::new();
    for (title, start) in conditions {
        let is_wanted = match words {
            [] => USUAL.contains(&title),
            words => words.iter().any(|word| word == title),
        };
        if !is_wanted {
            continue;
        }
        if title == "user" && !is_root {
            println!("-- {title}: NOT TESTED: only root can become another user");
            continue;
        }
        println!("-- {title}");
        let _load = (title == "load").then(Load::start);
        if let Err(reason) = binaries::run(&start) {
            failed.push(format!("{title}: {reason}"));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

/// A world-writable folder: the home and temporary folder of the user `nobody`.
struct UserFolder(PathBuf);

impl UserFolder {
    fn new() -> Result<UserFolder, String> {
        let path = std::env::temp_dir().join(format!("bactrian-user-{}", std::process::id()));
        let for_all = fs::Permissions::from_mode(0o1777);
        let made = fs::create_dir_all(&path).and_then(|()| fs::set_permissions(&path, for_all));
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        let folder = UserFolder(path);
        folder.take_programs()?;
        Ok(folder)
    }

    /// Links what is already compiled: compiling our library requires cargo, which is in root's home directory
    /// here.
    fn take_programs(&self) -> Outcome {
        let programs = root().join("target/fixtures");
        for entry in fs::read_dir(&programs).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if ["own", "scratch", "locks"].iter().any(|other| name == *other)
                || !entry.path().is_dir()
            {
                continue;
            }
            let mut copy = Command::new("cp");
            succeed(copy.args(["-rl", "--"]).arg(entry.path()).arg(&self.0))?;
        }
        Ok(())
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap_or("/tmp")
    }
}

impl Drop for UserFolder {
    fn drop(&mut self) {
        // A leftover only takes space.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Busy processes that run until this is dropped.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Load {
        // They end by themselves if this process is killed.
        let while_we_live = format!("while kill -0 {}; do :; done", std::process::id());
        let busy = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", &while_we_live]);
            shell.stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        Load((0..LOAD).filter_map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It ends in no other way.
            child.kill().and_then(|()| child.wait()).ok();
        }
    }
}
