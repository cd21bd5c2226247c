//! Root file systems of Debian releases, to install packages in. A bare one is debootstrap's minimal variant. Packages installed
//! on top of it are a separate overlay layer. Changes made by a check are discarded at its end. Packages come from the mirror
//! that this machine's apt uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::{fresh, make_folder};
use crate::Outcome;
use crate::command::{root, succeed};
use crate::compilers::Mirror;

pub struct Root {
    suite: String,
    /// Folders of the overlay, the lowest first.
    layers: Vec<PathBuf>,
}

/// A folder of this machine, and its path in the root file system.
pub struct Bind<'a> {
    pub from: &'a Path,
    pub to: &'static str,
}

/// A step that must not change the layers has no network, either.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    None,
    OfThisMachine,
}

impl Root {
    /// The minimal system of a release.
    pub fn bare(suite: &str) -> Result<Root, String> {
        let folder = folder().join(suite);
        if !folder.exists() {
            let mirror = Mirror::of_this_machine()?;
            println!("-- getting a minimal Debian {suite}");
            let new = folder.with_extension("new");
            fresh(&new)?;
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", suite]).arg(&new).arg(&mirror.uri);
            if !Path::new(SCRIPTS).join(suite).exists() {
                // A release that this debootstrap does not know is made like the newest that it knows.
                debootstrap.arg(Path::new(SCRIPTS).join("sid"));
            }
            let quiet = debootstrap.stdout(Stdio::null());
            succeed(quiet).map_err(|reason| {
                format!("{reason}: this needs root, and debootstrap (scripts/setup dist)")
            })?;
            move_to(&new, &folder)?;
        }
        Ok(Root { suite: suite.to_owned(), layers: vec![folder] })
    }

    /// The same with packages installed.
    pub fn with(&self, packages: &[&str]) -> Result<Root, String> {
        if packages.is_empty() {
            return Ok(Root { suite: self.suite.clone(), layers: self.layers.clone() });
        }
        let layer = folder().join(format!("{}+{}", self.suite, packages.join("+")));
        if !layer.exists() {
            println!("-- Debian {}: installing {}", self.suite, packages.join(" "));
            let new = layer.with_extension("new");
            fresh(&new)?;
            let script = format!(
                "export DEBIAN_FRONTEND=noninteractive
apt-get -qq {LONG_VALID} update
apt-get -qq install --no-install-recommends {} >/tmp/said 2>&1 || {{ cat /tmp/said >&2; exit 1; }}
apt-get clean
rm -rf /tmp/said",
                packages.join(" ")
            );
            self.start(&[], &script, Some(&new), Network::OfThisMachine)?;
            move_to(&new, &layer)?;
        }
        let layers = self.layers.iter().cloned().chain([layer]).collect();
        Ok(Root { suite: self.suite.clone(), layers })
    }

    /// Runs a shell script in it, without network.
    pub fn run(&self, binds: &[Bind<'_>], script: &str) -> Outcome {
        self.start(binds, script, None, Network::None).map(|_| ())
    }

    /// The version of a package in this release.
    pub fn version_of(&self, package: &str) -> Result<String, String> {
        let script =
            format!("apt-get -qq {LONG_VALID} update; apt-cache show --no-all-versions {package}");
        let shown = self.start(&[], &script, None, Network::OfThisMachine)?;
        let version = shown.lines().find_map(|line| line.strip_prefix("Version: "));
        version.map(str::to_owned).ok_or_else(|| format!("Debian {} has no {package}", self.suite))
    }

    /// Runs a script and returns its output. Changes go into the folder `keep`, or are discarded.
    fn start(
        &self,
        binds: &[Bind<'_>],
        script: &str,
        keep: Option<&Path>,
        network: Network,
    ) -> Result<String, String> {
        let scratch = folder().join(format!("scratch-{}", std::process::id()));
        fresh(&scratch)?;
        for name in ["upper", "work", "root"] {
            make_folder(&scratch.join(name))?;
        }
        let upper = keep.map_or(scratch.join("upper"), Path::to_path_buf);
        // The uppermost layer comes first.
        let layers: Vec<_> = self.layers.iter().rev().map(|l| l.display().to_string()).collect();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        if network == Network::None {
            command.arg("--net");
        }
        command.args(["sh", "-euc", include_str!("enter.sh"), "enter"]);
        command.arg(layers.join(":")).arg(&upper).arg(&scratch).arg(script);
        for Bind { from, to } in binds {
            command.arg(from).arg(to);
        }
        command.env_clear().env("PATH", SYSTEM_PATH).stderr(Stdio::inherit());
        let ended = command.output();
        fs::remove_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let ended = ended.map_err(|error| format!("unshare: {error}"))?;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        match ended.status.success() {
            true => Ok(said),
            false => Err(format!("Debian {}: this script failed:\n{script}\n{said}", self.suite)),
        }
    }
}

/// The lists of a release may have expired, because they are not signed again all the time.
const LONG_VALID: &str = "-o Acquire::Check-Valid-Until=false";
const SCRIPTS: &str = "/usr/share/debootstrap/scripts";
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn folder() -> PathBuf {
    root().join(".cache/roots")
}

/// Only a complete root file system has its final name.
fn move_to(new: &Path, place: &Path) -> Outcome {
    fs::rename(new, place).map_err(|error| format!("{}: {error}", place.display()))
}
