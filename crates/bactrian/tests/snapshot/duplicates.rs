//! The formulas of a prover, of which there are forty copies: they are found, with the saving of sharing and
//! the allocation site.

use std::fs;
use std::process::Command;

use bactrian_fixtures::{Compiler, Variant, both_or, program, repository};
use serde_json::Value;

use crate::runs::{Place, Run};

#[test]
fn duplicate_formulas_of_a_prover_are_found() {
    let source = fs::read_to_string(repository().join("programs/heap_formulas.ml"));
    let source = source.expect("the program");
    let line = 1 + source
        .lines()
        .position(|line| line.contains("(* the constructor *)"))
        .expect("it is marked");
    // Duplicates in the snapshots of one program are the same for all compilers.
    for compiler in both_or(Compiler::OCaml5) {
        let place = Place::new();
        let run = Run::new(program("heap_formulas", compiler, Variant::Plain), &[]);
        let options = ["--snapshots", "exit", "--rate", "0.01"];
        let seen = place.run(&run.observed(&options, &place.trace("run.ctf")));
        assert_eq!(seen.end, "exit status 0", "{seen:?}");
        let said = String::from_utf8_lossy(&seen.stdout).into_owned();
        let recoverable: f64 = said
            .lines()
            .find_map(|line| line.strip_prefix("recoverable ")?.parse().ok())
            .expect("it says how much");

        let output = Command::new(env!("CARGO_BIN_EXE_bactrian"))
            .args(["heap", "duplicates", "--json", "--no-index"])
            .arg(place.trace("run.1.heap"))
            .output()
            .expect("bactrian starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let result = &answer["result"];
        let saved = result["saved"].as_f64().expect("a number") / 8.0;
        let part = saved / recoverable;
        assert!((0.9..1.05).contains(&part), "{compiler:?}: {saved} of {recoverable} words");

        let site = &result["sites"][0];
        assert_eq!(site["name"], "Heap_formulas.rename", "{compiler:?}: {site}");
        assert_eq!(site["line"], line, "{compiler:?}: {site}");
        assert!(site["share"].as_f64() > Some(0.6), "{compiler:?}: {site}");
        // The formula itself, and twenty renamings that changed nothing.
        let largest = &result["structures"][0];
        assert_eq!(largest["copies"], 21, "{compiler:?}: {largest}");
    }
}
