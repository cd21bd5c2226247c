//! Compilers in addition to the machine's own OCaml: `cargo xtask ocaml [VERSION..]`.
//!
//! Debian 12 has OCaml 4.13; other releases of Debian have other versions. Their packages are downloaded from
//! the mirror that this machine already uses and unpacked into an ignored folder; nothing is installed.
//! Programs built for another libc run here with that libc, which comes with them:
//!
//! - `bin/ocamlopt` and the like start the compilers with the newer dynamic linker (`program.sh`);
//! - the compilers find a C compiler in `tools/`, which is the machine's, told to link with the newer libc and
//!   to record its path in the executable (`cc.sh`).
//!
//! So the programs they compile start here like any other, and accept `LD_PRELOAD`. Compilers older than this
//! machine run with its libc.

mod sources;

pub use sources::Mirror;

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Outcome;
use crate::command::{output, root, succeed};

/// An OCaml of another release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Major and minor version.
    pub version: &'static str,
    /// The suite that contains it, followed by one with packages that the first lacks.
    suites: &'static [&'static str],
    packages: &'static [&'static str],
    /// The script that starts its programs.
    starter: &'static str,
    /// The C compiler that it should find; None for the machine's own.
    c_compiler: Option<&'static str>,
    /// A program that uses each library that tests need, and its expected output.
    host: (&'static str, &'static str),
}

/// What `make test` needs in addition to the machine's own.
pub const QUICK: &[Compiler] = &[V5_3, V5_4];
/// Those with which tests are repeated before a release.
pub const OTHERS: &[Compiler] = &[V5_4, V5_5, V4_11];
/// All known compilers.
pub const ALL: &[Compiler] = &[V4_11, V5_3, V5_4, V5_5];
/// From Debian 11: the oldest version that can be recorded.
const V4_11: Compiler = Compiler {
    version: "4.11",
    suites: &["bullseye"],
    packages: &["ocaml-nox", "ocaml-base-nox", "ocaml-compiler-libs"],
    starter: include_str!("program_4.sh"),
    c_compiler: None,
    host: (include_str!("host_4.ml"), "process thread plugin"),
};
/// From Debian 13.
pub const V5_3: Compiler = newer("5.3", &["trixie"]);
/// From the release after that.
pub const V5_4: Compiler = newer("5.4", &["forky"]);
const V5_5: Compiler = newer("5.5", &["experimental", "sid"]);

/// A compiler newer than this machine.
const fn newer(version: &'static str, suites: &'static [&'static str]) -> Compiler {
    Compiler {
        version,
        suites,
        packages: PACKAGES,
        starter: include_str!("program.sh"),
        c_compiler: Some(include_str!("cc.sh")),
        host: (include_str!("host.ml"), "process thread domain effect plugin"),
    }
}

/// The recorder supports no other architecture yet.
const ARCHITECTURE: &str = "amd64";
const PACKAGES: &[&str] = &[
    "ocaml",
    // ocamlrun.
    "ocaml-base",
    "libstdlib-ocaml",
    "libstdlib-ocaml-dev",
    // Tests link a compiler from these: the only large OCaml 5 program available.
    "libcompiler-libs-ocaml-dev",
    // The libraries that the compilers run with, and that their programs are linked with.
    "libc6",
    "libc6-dev",
    "linux-libc-dev",
    "libgcc-s1",
    "libzstd1",
    "libzstd-dev",
];
/// Programs of `usr/bin` that get a starter in `bin`.
const PROGRAMS: &[&str] = &["ocamlopt", "ocamlc", "ocamldep", "ocamlobjinfo", "ocamlrun"];
/// The file that contains the recipe of a finished folder, which decides whether it must be made again.
const STAMP: &str = "made-by";

/// Downloads compilers for users: `cargo xtask ocaml 5.4`, or those that `make test` needs.
///
/// # Errors
/// As [`get`]; or if one is unknown.
pub fn run(arguments: &[String]) -> Outcome {
    if arguments.is_empty() {
        return get(QUICK);
    }
    for version in arguments {
        let known = ALL.iter().find(|compiler| compiler.version == version);
        let Some(compiler) = known else {
            let known: Vec<_> = ALL.iter().map(|compiler| compiler.version).collect();
            return Err(format!("no OCaml {version:?}; there are {}", known.join(", ")));
        };
        compiler.get()?;
    }
    Ok(())
}

/// Downloads compilers that are missing.
///
/// # Errors
/// If one cannot be downloaded, or does not work here.
pub fn get(compilers: &[Compiler]) -> Outcome {
    compilers.iter().try_for_each(Compiler::get)
}

impl Compiler {
    /// Its folder. Tests look for it in the same place.
    fn prefix(&self) -> PathBuf {
        root().join(format!(".cache/ocaml-{}", self.version))
    }

    /// The path of one of its programs, such as `ocamlopt`.
    ///
    /// # Errors
    /// As [`get`].
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        self.get()?;
        Ok(self.prefix().join("bin").join(name))
    }

    fn get(&self) -> Outcome {
        let prefix = self.prefix();
        let version = self.version;
        if self.is_done() {
            println!("OCaml {version} is in {}", prefix.display());
            return Ok(());
        }
        let start = Instant::now();
        let mirror = Mirror::of_this_machine()?;
        println!("-- getting OCaml {version} of Debian {} from {}", self.suites[0], mirror.uri);
        // Beside its destination, so that it can be moved there in one step.
        let scratch = Scratch::new(&prefix)?;
        let new = scratch.0.join("prefix");
        self.download(&mirror, &scratch.0)?;
        unpack(&scratch.0.join("packages"), &new)?;
        self.add_starters(&new).map_err(|error| format!("{}: {error}", new.display()))?;
        let found = self.try_it(&new, &scratch.0)?;
        if !found.starts_with(&format!("{version}.")) {
            return Err(format!(
                "Debian {} has OCaml {found} now, and not {version}",
                self.suites[0]
            ));
        }
        write(&new.join(STAMP), &self.recipe())?;
        self.put_in_place(&new, &scratch.0)?;
        let megabytes = output(Command::new("du").arg("-sm").arg(&prefix))?;
        let megabytes = megabytes.split_whitespace().next().unwrap_or("?");
        let seconds = start.elapsed().as_secs_f64();
        println!("-- OCaml {found} is in {}: {megabytes} MB, {seconds:.1} s", prefix.display());
        Ok(())
    }

    /// Everything that determines the contents of the folder.
    fn recipe(&self) -> String {
        let lists = [self.packages, PROGRAMS].map(|words| words.join(" "));
        let scripts = [self.starter, self.c_compiler.unwrap_or_default()].join("\n");
        format!("{}\n{}\n{scripts}", self.suites.join(" "), lists.join("\n"))
    }

    fn is_done(&self) -> bool {
        let stamp = fs::read_to_string(self.prefix().join(STAMP));
        stamp.is_ok_and(|stamp| stamp == self.recipe())
    }

    /// Downloads the packages into `packages`. apt keeps all its state in `scratch`, so this needs no
    /// privileges and changes nothing on the machine. Proxies and the like are those of the machine, because
    /// apt reads its configuration before ours.
    fn download(&self, mirror: &Mirror, scratch: &Path) -> Outcome {
        for folder in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = scratch.join(folder);
            fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let suites = self.suites;
        let sources = suites.iter().map(|suite| mirror.line(suite, ARCHITECTURE));
        write(&scratch.join("sources.list"), &sources.collect::<String>())?;
        write(&scratch.join("status"), "")?;
        let configuration = scratch.join("apt.conf");
        write(&configuration, &settings(scratch))?;
        let apt = |arguments: &[&str]| {
            let mut command = Command::new("apt-get");
            command.arg("-qq").arg("-c").arg(&configuration).args(arguments);
            let done = succeed(command.current_dir(scratch.join("packages")));
            done.map_err(|reason| {
                format!(
                    "{reason}\nThis needs apt-get, a network, and {} with the suites {}; if the \
                 signature is refused, a newer package debian-archive-keyring",
                    mirror.uri,
                    suites.join(", ")
                )
            })
        };
        // Without --error-on an unreachable mirror is only a warning.
        apt(&["--error-on=any", "update"])?;
        apt(&[&["--target-release", suites[0], "download"], self.packages].concat())
    }

    fn add_starters(&self, prefix: &Path) -> io::Result<()> {
        let script = |path: &str, text: &str| {
            let path = prefix.join(path);
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        };
        fs::create_dir(prefix.join("bin"))?;
        for program in PROGRAMS {
            script(&format!("bin/{program}"), self.starter)?;
        }
        let Some(c_compiler) = self.c_compiler else { return Ok(()) };
        // A Debian package creates these, and linker scripts refer to files through them.
        symlink("usr/lib", prefix.join("lib"))?;
        symlink("usr/lib64", prefix.join("lib64"))?;
        fs::create_dir(prefix.join("tools"))?;
        // The name under which the compilers look for it.
        script("tools/x86_64-linux-gnu-gcc", c_compiler)
    }

    /// Compiles and runs a program that needs all libraries that tests need; returns the version.
    fn try_it(&self, prefix: &Path, scratch: &Path) -> Result<String, String> {
        let folder = scratch.join("try");
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let (host, expected) = self.host;
        write(&folder.join("plugin.ml"), include_str!("plugin.ml"))?;
        write(&folder.join("host.ml"), host)?;
        let ocamlopt = |arguments: &str| {
            let mut command = Command::new(prefix.join("bin/ocamlopt"));
            command.args(arguments.split_whitespace()).current_dir(&folder);
            output(&mut command)
                .map_err(|reason| format!("what was downloaded does not work here: {reason}"))
        };
        ocamlopt("-shared plugin.ml -o plugin.cmxs")?;
        ocamlopt(
            "-I +unix -I +threads -I +dynlink unix.cmxa threads.cmxa dynlink.cmxa host.ml -o host",
        )?;
        let said = output(Command::new(folder.join("host")).current_dir(&folder))?;
        let version = said.trim_end().strip_prefix(expected).map(|rest| rest.trim().to_owned());
        version.ok_or_else(|| format!("a program compiled to try it says {said:?}"))
    }

    /// Moves the finished folder to its place, and an older one out of the way.
    fn put_in_place(&self, new: &Path, scratch: &Path) -> Outcome {
        let prefix = &self.prefix();
        if prefix.exists() {
            fs::rename(prefix, scratch.join("old"))
                .map_err(|error| format!("{}: {error}", prefix.display()))?;
        }
        match fs::rename(new, prefix) {
            // Another process that did the same was faster.
            Err(_) if self.is_done() => Ok(()),
            moved => moved.map_err(|error| format!("{}: {error}", prefix.display())),
        }
    }
}

/// A folder for unfinished work, removed when the work ends for whatever reason.
struct Scratch(PathBuf);

impl Scratch {
    fn new(prefix: &Path) -> Result<Scratch, String> {
        let path = prefix.with_extension(format!("new-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover only takes space.
        fs::remove_dir_all(&self.0).ok();
    }
}

fn settings(scratch: &Path) -> String {
    let place = scratch.display();
    format!(
        r#"// No hooks: nothing on the machine changes.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Architectures;
APT::Architecture "{ARCHITECTURE}";
APT::Architectures {{ "{ARCHITECTURE}"; }};
// The user that root's downloads run as otherwise may not write here.
APT::Sandbox::User "";
// Suites that are not released are not signed anew regularly.
Acquire::Check-Valid-Until "false";
Dir::Etc::sourcelist "{place}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{place}";
Dir::State::lists "{place}/lists";
Dir::State::status "{place}/status";
Dir::Cache "{place}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"#
    )
}

fn unpack(packages: &Path, prefix: &Path) -> Outcome {
    let listed = fs::read_dir(packages).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for file in listed.map_err(|error| format!("{}: {error}", packages.display()))? {
        succeed(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(prefix))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
