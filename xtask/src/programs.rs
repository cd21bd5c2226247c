//! Programs of versions of OCaml of which there is no compiler to be had: `cargo xtask programs`.
//!
//! No release of Debian has OCaml 4.14, 5.0, 5.1 or 5.2. Packages of npm have executables of 4.14 and 5.2: they are got from the
//! registry that this machine's npm uses, and kept in an ignored folder. Tests that need one say so where it is missing.

use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::command::{output, root, succeed};

/// The type checker Flow, as npm has it.
pub struct Flow {
    version: &'static str,
    ocaml: &'static str,
    /// What npm says of the package that is known here.
    integrity: &'static str,
}

/// What `make test` needs. Tests look for it in the same place.
pub const V0_250: Flow = Flow {
    version: "0.250.0",
    ocaml: "5.2",
    integrity: "sha512-OYEPzpgSzvV+33kBuOOA1C0AjQkzIjrmbS/324CRRijnU1tABKyM5unzf4KIkyN5IQutgxqsSRZ1GsixC8+xIQ==",
};
const V0_200: Flow = Flow {
    version: "0.200.0",
    ocaml: "4.14",
    integrity: "sha512-4KquALYPkCCTCZ43GIqTDZDOf4znU3/kXsigpiwwORV8l/ctqwvKkqCOhjqvGy5DtbiL6WTPBqLwGAlxeGeNIA==",
};
/// All that are known.
pub const ALL: [Flow; 2] = [V0_200, V0_250];

/// Gets what is missing, for people.
///
/// # Errors
/// As [`Flow::get`].
pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    ALL.iter().try_for_each(Flow::get)
}

impl Flow {
    /// Its folder, from the project's on.
    fn place(&self) -> String {
        format!(".cache/flow-{}", self.version)
    }

    /// Gets it, if it is missing.
    ///
    /// # Errors
    /// If there is no npm, no network, or another package of that name.
    pub fn get(&self) -> Outcome {
        let place = root().join(self.place());
        if place.join("flow").exists() {
            return Ok(());
        }
        let package = format!("flow-bin@{}", self.version);
        println!("-- getting {package}, a program of OCaml {}, from npm", self.ocaml);
        let scratch = place.with_extension(format!("new-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let got = (|| {
            let mut npm = Command::new("npm");
            npm.args(["pack", "--json", "--loglevel=error", &package]).current_dir(&scratch);
            let told = output(&mut npm)?;
            if !told.contains(self.integrity) {
                return Err(format!("npm's {package} is not the one that is known here"));
            }
            let file = package.replace('@', "-") + ".tgz";
            let member = format!("package/flow-linux64-v{}/flow", self.version);
            let mut tar = Command::new("tar");
            tar.args(["-xzf", &file, "--strip-components=2", &member]).current_dir(&scratch);
            succeed(&mut tar)?;
            fs::remove_file(scratch.join(file)).map_err(|error| error.to_string())?;
            // Somebody else who did the same may have been quicker.
            fs::rename(&scratch, &place).or_else(|error| match place.exists() {
                true => Ok(()),
                false => Err(format!("{}: {error}", place.display())),
            })
        })();
        // There is nothing left if it was moved.
        fs::remove_dir_all(&scratch).ok();
        got
    }
}
