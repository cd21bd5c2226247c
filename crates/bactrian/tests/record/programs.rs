//! Every fixture program, with every compiler, at three rates: the same output, exit status and files as
//! plain, and a clean trace. Again with the debug runtimes.
//!
//! The quick set has every program with every compiler at the middle rate. It omits:
//! - the rates auto and 1, except for programs for which our behaviour depends on the rate: with many
//!   samples, stacks are collected as a whole, and threads, domains, handlers and exceptions interrupt that;
//! - the debug runtimes, except for programs in which we allocate or hold values during collections: they
//!   check our use of the runtime, which other programs do not change;
//! - the crowd of children, except for a small one with OCaml 4 native code: it tests the kernel's limits,
//!   not OCaml.

use std::path::Path;

use bactrian_fixtures::{Compiler, Variant, program, whole_table};

use crate::runs::{Place, Run, difference};
use crate::traces::{in_folder, info, is_clean, is_private, state};

/// A fixture program and how it is run.
pub struct Fixture {
    pub name: &'static str,
    /// The arguments of each run, as words.
    pub runs: &'static [&'static str],
    /// See [`Run::first`].
    pub first: &'static str,
    expect: Expect,
}

/// Requirements for its trace, besides being clean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Samples,
    /// Several traces: of children, or of the same process after exec.
    Family,
    /// Several domains in one trace.
    Domains,
    /// The program uses the sampler itself, and has precedence.
    OwnSampler,
}

const fn fixture(name: &'static str) -> Fixture {
    Fixture { name, runs: &[""], first: "", expect: Expect::Samples }
}

pub const FIXTURES: &[Fixture] = &[
    fixture("exceptions"),
    // OCaml 4 overflows the system stack, which may be unlimited here.
    Fixture { first: "ulimit -S -s 8192", ..fixture("stack_overflow") },
    fixture("deep_recursion"),
    fixture("threads"),
    Fixture { runs: &["", "crowd 8", "crowd 25"], expect: Expect::Family, ..fixture("fork_exec") },
    Fixture { runs: &["", "die"], ..fixture("signals") },
    fixture("finalisers"),
    fixture("compaction"),
    fixture("bigarrays"),
    fixture("marshalling"),
    fixture("dynlink"),
    Fixture { expect: Expect::OwnSampler, ..fixture("own_memprof") },
    Fixture { expect: Expect::OwnSampler, ..fixture("memprof_stop") },
    Fixture {
        runs: &[
            "end",
            "exit",
            "high",
            "uncaught",
            "out-of-memory",
            "raise-at-exit",
            "exit-at-exit",
            "at-once",
            "kill",
            "abort",
            "crash",
            "handler",
            "thread",
            "stdout-closed",
        ],
        ..fixture("exits")
    },
    Fixture { runs: &["", "100 50000"], ..fixture("exact") },
    Fixture { runs: &["process"], ..fixture("environment") },
    Fixture { runs: &["all", "std"], ..fixture("closed_fds") },
    fixture("early_thread"),
    Fixture { expect: Expect::Domains, ..fixture("domains") },
    Fixture { expect: Expect::Domains, ..fixture("effects") },
];

impl Fixture {
    /// One of its runs.
    pub fn run(&self, words: &str, executable: &Path, variant: Variant) -> Run {
        let arguments: Vec<_> = words.split_whitespace().collect();
        let mut run = Run::new(executable, &arguments);
        run.first = self.first;
        match variant {
            // It prints a greeting on standard error otherwise.
            Variant::Debug => run.with("OCAMLRUNPARAM", "v=0"),
            _ => run,
        }
    }
}

/// The default rate: at first one sample in 1,024 words. Such rare samples may miss a small program entirely.
const RARE: &str = "auto";
const RATES: &[&str] = &[RARE, "1e-2", "1"];

/// The programs that the quick set runs at every rate.
const BY_RATE: &[&str] =
    &["deep_recursion", "threads", "exact", "effects", "domains", "exceptions"];
/// The programs that the quick set runs with the debug runtimes.
const CHECKED: &[&str] =
    &["threads", "finalisers", "compaction", "own_memprof", "domains", "effects", "exceptions"];

/// The rates at which a program is run; empty if it is not run at all.
fn rates(name: &str, variant: Variant) -> &'static [&'static str] {
    let is_whole = whole_table();
    match variant {
        Variant::Debug if is_whole || CHECKED.contains(&name) => &["1e-2"],
        Variant::Debug => &[],
        _ if is_whole || BY_RATE.contains(&name) => RATES,
        _ => &["1e-2"],
    }
}

/// Whether a run of a program is included.
pub fn is_run(name: &str, words: &str, compiler: Compiler) -> bool {
    match (name, words) {
        ("fork_exec", "crowd 8") => compiler == Compiler::OCaml4 && !whole_table(),
        ("fork_exec", "crowd 25") => whole_table(),
        _ => true,
    }
}

/// Runs a program plain and at each rate; reports all failures at once.
fn check(name: &str, compiler: Compiler, variant: Variant) {
    let rates = rates(name, variant);
    if rates.is_empty() {
        return;
    }
    let fixture = FIXTURES.iter().find(|fixture| fixture.name == name).expect("a fixture");
    let executable = program(name, compiler, variant);
    let mut wrong = Vec::new();
    for words in fixture.runs.iter().filter(|words| is_run(name, words, compiler)) {
        let run = fixture.run(words, &executable, variant);
        let place = Place::new();
        let plain = place.run(&run);
        for rate in rates {
            let traces = Place::new();
            let observed = place.run(&run.observed(&["--rate", rate], &traces.trace("trace.ctf")));
            let mut what = difference(&plain, &observed);
            if let Err(reason) = check_traces(fixture.expect, rate, &traces) {
                what.push_str(&reason);
            }
            if !what.is_empty() {
                wrong
                    .push(format!("{name} {words}, {compiler:?} {variant:?}, rate {rate}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_traces(expect: Expect, rate: &str, place: &Place) -> Result<(), String> {
    let traces = in_folder(&place.traces());
    let mut states = Vec::new();
    for trace in &traces {
        let info = info(trace, &[])?;
        is_clean(&info).map_err(|reason| format!("{}: {reason}", trace.display()))?;
        is_private(trace)?;
        let result = &info["result"];
        // Some children are small as well, and a killed one may not have written any samples yet.
        let samples = result["sampled_allocations"].as_u64().unwrap_or(0);
        let is_child = *trace != place.trace("trace.ctf");
        let is_small = rate == RARE || is_child;
        let wanted = !is_small && state(&info) == "ended";
        if samples == 0 && wanted {
            return Err(format!("{}: no samples", trace.display()));
        }
        let domains = result["domains"].as_array().map_or(0, Vec::len);
        let version = if expect == Expect::Domains && rate != RARE { 3 } else { 2 };
        if rate != RARE && (result["format_version"] != version || (version == 3) != (domains > 1))
        {
            return Err(format!("version {}, {domains} domains", result["format_version"]));
        }
        states.push(state(&info).to_owned());
    }
    let enough = match expect {
        // The parent, its followed children, and the parent again after exec. A forked child leaves a trace
        // only if it was sampled.
        Expect::Family => traces.len() >= if rate == RARE { 1 } else { 8 },
        _ => traces.len() == 1,
    };
    let own = states.first().is_some_and(|state| state == "program-samples");
    match enough && own == (expect == Expect::OwnSampler) {
        true => Ok(()),
        false => Err(format!("{} traces, in states {states:?}", traces.len())),
    }
}

/// One test for each program.
macro_rules! tests {
    ($module:ident, $compiler:expr, $variant:expr; $($name:ident)*) => {
        mod $module {
            use super::*;

            $(
                #[test]
                fn $name() {
                    check(stringify!($name), $compiler, $variant);
                }
            )*
        }
    };
}

tests!(ocaml4, Compiler::OCaml4, Variant::Plain;
    exceptions stack_overflow deep_recursion threads fork_exec signals finalisers compaction bigarrays
    marshalling dynlink own_memprof memprof_stop exits exact environment closed_fds early_thread);

tests!(ocaml5, Compiler::OCaml5, Variant::Plain;
    exceptions stack_overflow deep_recursion threads fork_exec signals finalisers compaction bigarrays
    marshalling dynlink own_memprof memprof_stop exits exact environment closed_fds early_thread domains effects);

tests!(ocaml4_debug, Compiler::OCaml4, Variant::Debug;
    exceptions stack_overflow deep_recursion threads fork_exec signals finalisers compaction bigarrays
    marshalling dynlink own_memprof memprof_stop exits exact environment closed_fds early_thread);

tests!(ocaml5_debug, Compiler::OCaml5, Variant::Debug;
    exceptions stack_overflow deep_recursion threads fork_exec signals finalisers compaction bigarrays
    marshalling dynlink own_memprof memprof_stop exits exact environment closed_fds early_thread domains effects);
