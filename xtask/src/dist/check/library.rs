//! Checks that the OCaml library and the ppx build with dune from the source archive, in Debian releases with the OCaml versions
//! that we support. Some have a Rust that is too old, so the root file systems use this machine's.

use std::time::Instant;

use super::roots::{Bind, Root};
use super::{packed, source};
use crate::Outcome;

struct Subject {
    suite: &'static str,
    ocaml: &'static str,
}

const SUBJECTS: &[Subject] = &[
    Subject { suite: "bookworm", ocaml: "4.13" },
    Subject { suite: "trixie", ocaml: "5.3" },
    Subject { suite: "forky", ocaml: "5.4" },
];
const PACKAGES: &[&str] = &[
    "ocaml",
    "ocaml-dune",
    "ocaml-findlib",
    "libppxlib-ocaml-dev",
    "gcc",
    "libc6-dev",
    "binutils",
];

pub fn run() -> Outcome {
    let release = packed()?;
    let (folder, rust) = (source::unpack(&release)?, source::toolchain()?);
    let mut table = Vec::new();
    for Subject { suite, ocaml } in SUBJECTS {
        let root = Root::bare(suite)?.with(PACKAGES)?;
        println!("-- Debian {suite}: the OCaml library and ppx with OCaml {ocaml}");
        let start = Instant::now();
        let script = format!("expected={ocaml}\n{}", include_str!("library.sh"));
        let binds = [Bind { from: &folder, to: "/source" }, Bind { from: &rust, to: "/opt/rust" }];
        root.run(&binds, &script)?;
        let ppxlib = root.version_of("libppxlib-ocaml-dev")?;
        let seconds = start.elapsed().as_secs_f64();
        table.push(format!("{seconds:6.1} s  OCaml {ocaml} with ppxlib {ppxlib} ({suite})"));
    }
    println!(
        "the library and the ppx can be built, installed, and used in a program:\n{}",
        table.join("\n")
    );
    Ok(())
}
