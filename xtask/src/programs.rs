//! Programs of a version of OCaml of which there is no compiler to be had: `cargo xtask programs`.
//!
//! No release of Debian has OCaml 5.0, 5.1 or 5.2. Packages of npm have executables of 5.2: one of them is got from the
//! registry that this machine's npm uses, and kept in an ignored folder. Tests that need it say so where it is missing.

use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::command::{output, root, succeed};

/// The type checker Flow, of OCaml 5.2. Tests look for it in the same place.
const PACKAGE: &str = "flow-bin@0.250.0";
const MEMBER: &str = "package/flow-linux64-v0.250.0/flow";
const PLACE: &str = ".cache/flow-0.250.0";
/// What npm says of the package that tests were written with.
const INTEGRITY: &str = "sha512-OYEPzpgSzvV+33kBuOOA1C0AjQkzIjrmbS/324CRRijnU1tABKyM5unzf4KIkyN5IQutgxqsSRZ1GsixC8+xIQ==";

/// Gets what is missing, for people.
///
/// # Errors
/// As [`get`].
pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    get()
}

/// Gets what is missing.
///
/// # Errors
/// If there is no npm, no network, or another package of that name.
pub fn get() -> Outcome {
    let place = root().join(PLACE);
    if place.join("flow").exists() {
        return Ok(());
    }
    println!("-- getting {PACKAGE}, a program of OCaml 5.2, from npm");
    let scratch = place.with_extension(format!("new-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let got = (|| {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--json", "--loglevel=error", PACKAGE]).current_dir(&scratch);
        let told = output(&mut npm)?;
        if !told.contains(INTEGRITY) {
            return Err(format!("npm's {PACKAGE} is not the one that is known here"));
        }
        let file = PACKAGE.replace('@', "-") + ".tgz";
        let mut tar = Command::new("tar");
        tar.args(["-xzf", &file, "--strip-components=2", MEMBER]).current_dir(&scratch);
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
