//! Programs of OCaml versions for which no compiler is available: `cargo xtask programs`.
//!
//! No release of Debian has OCaml 4.14, 5.0, 5.1 or 5.2. Packages of npm and PyPI contain executables of 4.14
//! and 5.2. They are downloaded from the registries that this machine's npm and pip use, and kept in an ignored
//! folder. Tests that need a missing one say so.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::command::{output, root};

/// An executable in a package.
pub struct Packaged {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    ocaml: &'static str,
    registry: Registry,
    /// The package's file name in the registry, and the path of the executable in it.
    file: &'static str,
    member: &'static str,
    /// The folder of the package that the executable needs; None if it needs nothing else.
    around: Option<&'static str>,
    /// The expected digest of the package.
    digest: &'static str,
}

#[derive(Clone, Copy)]
enum Registry {
    Npm,
    PyPi,
}

/// What `make test` needs: the type checker Flow. Tests look for it in the same place.
pub const FLOW_OF_5_2: Packaged = Packaged {
    name: "flow",
    package: "flow-bin",
    version: "0.250.0",
    ocaml: "5.2",
    registry: Registry::Npm,
    file: "flow-bin-0.250.0.tgz",
    member: "package/flow-linux64-v0.250.0/flow",
    around: None,
    digest: "sha512-OYEPzpgSzvV+33kBuOOA1C0AjQkzIjrmbS/324CRRijnU1tABKyM5unzf4KIkyN5IQutgxqsSRZ1GsixC8+xIQ==",
};
const FLOW_OF_4_14: Packaged = Packaged {
    version: "0.200.0",
    ocaml: "4.14",
    file: "flow-bin-0.200.0.tgz",
    member: "package/flow-linux64-v0.200.0/flow",
    digest: "sha512-4KquALYPkCCTCZ43GIqTDZDOf4znU3/kXsigpiwwORV8l/ctqwvKkqCOhjqvGy5DtbiL6WTPBqLwGAlxeGeNIA==",
    ..FLOW_OF_5_2
};
/// Not position-independent, contains Python and RocksDB, 131 MB.
const PYRE: Packaged = Packaged {
    name: "pyre.bin",
    package: "pyre-check",
    version: "0.10.0",
    ocaml: "4.14",
    registry: Registry::PyPi,
    file: "pyre_check-0.10.0-py3-none-manylinux1_x86_64.whl",
    member: "pyre_check-0.10.0.data/data/bin/pyre.bin",
    around: None,
    digest: "715d1c4ec3ab5823bb6c9168a4954cb419d995d637e3e9617d9af1ff49be18b6",
};
/// Linked statically, with musl.
const ESY: Packaged = Packaged {
    name: "esy",
    package: "esy",
    version: "0.9.2",
    ocaml: "5.2",
    registry: Registry::Npm,
    file: "esy-0.9.2.tgz",
    member: "package/platform-esy-npm-release-linux-x64-static/bin/esy",
    around: Some("package/platform-esy-npm-release-linux-x64-static"),
    digest: "sha512-H/H4qDF5W0c38JIYl+4avSRbznhxM8jstemNZQbi1oNW/IVW7SCejxXbVRnzr3TzQhm1l0qVgjYvZXFQJ40yKg==",
};
/// All known programs.
const ALL: [Packaged; 4] = [FLOW_OF_4_14, FLOW_OF_5_2, PYRE, ESY];

/// Downloads what is missing, for users.
///
/// # Errors
/// As [`Packaged::get`].
pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    ALL.iter().try_for_each(Packaged::get)
}

impl Packaged {
    /// Its folder, relative to the root of the repository.
    fn place(&self) -> String {
        format!(".cache/{}-{}", self.name, self.version)
    }

    /// Downloads it if it is missing.
    ///
    /// # Errors
    /// If there is no npm or pip, no network, or the package has another digest.
    pub fn get(&self) -> Outcome {
        let place = root().join(self.place());
        if place.join(self.name).exists() {
            return Ok(());
        }
        let Packaged { name, package, version, ocaml, .. } = self;
        println!(
            "-- getting {name} {version}, a program of OCaml {ocaml}, of the package {package}"
        );
        let scratch = place.with_extension(format!("new-{}", std::process::id()));
        let got = self.unpack(&scratch).and_then(|()| {
            // Another process that did the same may have been faster.
            fs::rename(&scratch, &place).or_else(|error| match place.exists() {
                true => Ok(()),
                false => Err(format!("{}: {error}", place.display())),
            })
        });
        // Nothing is left if it was moved.
        fs::remove_dir_all(&scratch).ok();
        got
    }

    /// Downloads the package and puts the executable into a folder.
    fn unpack(&self, folder: &Path) -> Outcome {
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        let within = folder.join("package");
        fs::create_dir_all(&within).map_err(failed)?;
        let run = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            output(command.args(&words[1..]).current_dir(&within))
        };
        let Packaged { package, version, file, .. } = self;
        let found = match self.registry {
            Registry::Npm => {
                let wanted = format!("{package}@{version}");
                run(&["npm", "pack", "--json", "--loglevel=error", &wanted])?
            }
            Registry::PyPi => {
                let wanted = format!("{package}=={version}");
                run(&["python3", "-m", "pip", "download", "--quiet", "--no-deps", &wanted])?;
                run(&["sha256sum", file])?
            }
        };
        if !found.contains(self.digest) {
            return Err(format!("{package} {version} does not have the known checksum"));
        }
        let wanted = self.around.unwrap_or(self.member);
        match self.registry {
            Registry::Npm => run(&["tar", "-xzf", file, wanted])?,
            Registry::PyPi => run(&["python3", "-m", "zipfile", "-e", file, "."])?,
        };
        // Packages do not mark all executables as such.
        run(&["chmod", "-R", "a+rx", wanted])?;
        let (member, executable) = (within.join(self.member), folder.join(self.name));
        match self.around {
            Some(_) => {
                fs::remove_file(within.join(file)).map_err(failed)?;
                symlink(Path::new("package").join(self.member), &executable).map_err(failed)
            }
            None => {
                fs::rename(member, &executable).map_err(failed)?;
                fs::remove_dir_all(&within).map_err(failed)
            }
        }
    }
}
