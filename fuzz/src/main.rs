//! libFuzzer around one check, selected by the environment variable `BACTRIAN_FUZZ`: a single program to link
//! instead of one per target. Without the variable it lists the targets and their corpora.

#![no_main]

use std::process::exit;
use std::sync::OnceLock;

use bactrian_fuzz_checks::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(init: choose(), |bytes: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.check)(bytes);
    }
});

fn choose() {
    let Some(name) = std::env::var_os("BACTRIAN_FUZZ") else {
        for target in TARGETS {
            println!("{} {}", target.name, target.corpus);
        }
        exit(0);
    };
    match TARGETS.iter().find(|target| name == target.name) {
        Some(target) => drop(TARGET.set(target)),
        None => {
            eprintln!("BACTRIAN_FUZZ: there is no target {}", name.display());
            exit(2);
        }
    }
}
