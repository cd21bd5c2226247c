//! Bytecode, in all the forms in which it can be run: the program behaves the same, and the trace has names,
//! lines and every word.
//!
//! The quick set runs each program as an executable and as a custom executable at the rate 1e-2. The other
//! forms differ in where bytecode and names are found, not in what a program does. Two programs are run in
//! all forms, and as an executable at the rate 1, too: `exceptions`, which raises through our callback's
//! frames, and `own_memprof`, which uses the sampler before us. The compiler in bytecode is recorded at the
//! rate 1e-2 only, since deep stacks at the rate 1 are compared one by one here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bactrian_fixtures::{
    BOTH, Compiler, Variant, compiler_of_ocaml5_in_bytecode, program, repository,
    toplevel_of_ocaml5, whole_table,
};
use bactrian_trace::{Event, Index, Reader, Source, Stacks};

use crate::faults::agent;
use crate::runs::{Place, Run, difference, text};
use crate::traces::{Site, allocated, in_folder, info, is_clean, sites, state};

/// How bytecode is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Through its first line, which names a runtime.
    Executable,
    /// As an argument of a runtime.
    Argument,
    Custom,
    Complete,
    /// As a source file, in the toplevel.
    Script,
}

const COMPILED: &[Form] = &[Form::Executable, Form::Argument, Form::Custom, Form::Complete];
const ALL: &[Form] =
    &[Form::Executable, Form::Argument, Form::Custom, Form::Complete, Form::Script];

/// Whether the quick set runs a program in all forms.
fn is_in_all_forms(name: &str) -> bool {
    matches!(name, "exceptions" | "own_memprof") || whole_table()
}

/// The rates at which a program is run; empty if it is not run in this form.
fn rates(name: &str, form: Form) -> &'static [&'static str] {
    let is_first = matches!(form, Form::Executable | Form::Custom);
    match form {
        _ if !is_in_all_forms(name) => {
            if is_first {
                &["1e-2"]
            } else {
                &[]
            }
        }
        // The toplevel compiles scripts, so there is much more to record.
        Form::Script => &["1e-2"],
        _ if whole_table() || form == Form::Executable => &["1e-2", "1"],
        _ => &["1e-2"],
    }
}

/// The path in the first line of bytecode.
fn runtime_of(bytecode: &Path) -> PathBuf {
    let bytes = fs::read(bytecode).expect("a file");
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let path = line.strip_prefix(b"#!").expect("a first line that names a runtime");
    String::from_utf8(path.to_vec()).expect("UTF-8").into()
}

/// A run of a program in one of the forms.
fn run(name: &str, compiler: Compiler, form: Form, arguments: &[&str]) -> Run {
    let of = |variant| program(name, compiler, variant);
    match form {
        Form::Executable => Run::new(of(Variant::Bytecode), arguments),
        Form::Custom => Run::new(of(Variant::Custom), arguments),
        Form::Complete => Run::new(of(Variant::Complete), arguments),
        Form::Argument => {
            let bytecode = of(Variant::Bytecode);
            Run::new(runtime_of(&bytecode), &[&[text(&bytecode)], arguments].concat())
        }
        Form::Script => {
            let source = repository().join("programs").join(format!("{name}.ml"));
            match compiler {
                Compiler::OCaml4 => {
                    let libraries = ["-I", "+threads", "unix.cma", "threads.cma", text(&source)];
                    Run::new("ocaml", &[&libraries, arguments].concat())
                }
                Compiler::OCaml5 => {
                    let options = ["-I", "+unix", "-I", "+threads", text(&source)];
                    Run::new(toplevel_of_ocaml5(), &[&options, arguments].concat())
                        .with("OCAMLLIB", compiler.standard_library())
                }
            }
        }
    }
}

/// Runs a program plain and observed, with each list of arguments, in some forms; reports all failures at
/// once.
fn check(name: &str, runs: &[&str], forms: &[Form]) {
    let mut wrong = Vec::new();
    for compiler in BOTH {
        for &form in forms {
            let rates = rates(name, form);
            if rates.is_empty() {
                continue;
            }
            for words in runs {
                let arguments: Vec<_> = words.split_whitespace().collect();
                let run = run(name, compiler, form, &arguments);
                let place = Place::new();
                let plain = place.run(&run);
                for rate in rates {
                    let traces = Place::new();
                    let trace = traces.trace("trace.ctf");
                    let observed = place.run(&run.observed(&["--rate", rate], &trace));
                    let mut what = difference(&plain, &observed);
                    if let Err(reason) = check_traces(name, &traces) {
                        what.push_str(&reason);
                    }
                    if !what.is_empty() {
                        let which = format!("{name} {words}, {compiler:?} {form:?}, rate {rate}");
                        wrong.push(format!("{which}: {what}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_traces(name: &str, place: &Place) -> Result<(), String> {
    let traces = in_folder(&place.traces());
    let main = place.trace("trace.ctf");
    if !traces.contains(&main) {
        return Err("no trace".to_owned());
    }
    for trace in traces {
        let info = info(&trace, &[])?;
        is_clean(&info).map_err(|reason| format!("{}: {reason}", trace.display()))?;
        let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
        // Children may be small, and a killed process may not have written anything yet.
        if samples == 0 && trace == main && state(&info) == "ended" {
            return Err("no samples".to_owned());
        }
        let own = state(&info) == "program-samples";
        if own != (name == "own_memprof" || name == "memprof_stop") {
            return Err(format!("{}: it is {}", trace.display(), state(&info)));
        }
    }
    Ok(())
}

#[test]
fn exceptions() {
    check("exceptions", &[""], ALL);
}

#[test]
fn threads() {
    check("threads", &[""], ALL);
}

#[test]
fn signals() {
    check("signals", &["", "die"], ALL);
}

#[test]
fn finalisers() {
    // What the toplevel retains of a script is not specified.
    check("finalisers", &[""], COMPILED);
}

#[test]
fn marshalling() {
    check("marshalling", &[""], ALL);
}

#[test]
fn own_memprof() {
    check("own_memprof", &[""], ALL);
}

#[test]
fn memprof_stop() {
    check("memprof_stop", &[""], ALL);
}

#[test]
fn exits() {
    let ways = ["end", "exit", "uncaught", "raise-at-exit", "exit-at-exit", "at-once", "kill"];
    check("exits", &ways, &[Form::Executable]);
    let ways = ["abort", "handler", "thread", "stdout-closed"];
    check("exits", &ways, &[Form::Custom]);
    check("exits", &["uncaught", "at-once"], &[Form::Argument, Form::Complete, Form::Script]);
}

#[test]
fn fork_exec() {
    // The program executes itself, which in these forms is the runtime or the toplevel.
    check("fork_exec", &[""], COMPILED);
}

#[test]
fn dynlink() {
    // Several files.
    check("dynlink", &[""], COMPILED);
}

#[test]
fn deep_recursion() {
    check("deep_recursion", &[""], ALL);
}

#[test]
fn queens_lists() {
    check("queens_lists", &[""], ALL);
}

/// An exact trace of a successful run.
fn exact(run: &Run, place: &Place) -> PathBuf {
    let trace = place.trace("trace.ctf");
    let seen = place.run(&run.observed(&["--exact"], &trace));
    let what = run.program.display();
    assert_eq!(seen.end, "exit status 0", "{what}: {seen:?}");
    is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
    trace
}

#[test]
fn functions_and_lines_have_names() {
    for compiler in BOTH {
        // A complete executable has no debug information, whatever the compiler options.
        for form in [Form::Executable, Form::Argument, Form::Custom] {
            let place = Place::new();
            let sites =
                sites(&exact(&run("deep_recursion", compiler, form, &[]), &place), "allocated");
            let source = repository().join("programs/deep_recursion.ml");
            let source = fs::read_to_string(source).expect("a source");
            for (function, code) in [
                ("Deep_recursion.count_up", "n :: count_up (n - 1)"),
                ("Deep_recursion.comb", "Node (Leaf, n, comb (n - 1))"),
                ("Deep_recursion.mirror", "Node (mirror r, n + 1, mirror l)"),
            ] {
                let line = source.lines().position(|line| line.contains(code)).expect("a line") + 1;
                let is_it = |site: &&Site| {
                    site.function == function
                        && site.file.ends_with("deep_recursion.ml")
                        && site.line == line as u64
                };
                let found: f64 = sites.iter().filter(is_it).map(|site| site.value).sum();
                assert!(found > 0.0, "{compiler:?} {form:?}: no {function} at line {line}");
            }
        }
    }
}

/// Words in blocks, without headers, allocated at the matching sites of a trace; and the number of these
/// sites.
fn words(trace: &Path, is_it: impl Fn(&Site) -> bool) -> (f64, usize) {
    let [bytes, blocks] = ["allocated", "objects"].map(|metric| {
        let mut sites = sites(trace, metric);
        sites.retain(|site| is_it(site) && site.value > 0.0);
        sites
    });
    let sum = |sites: &[Site]| sites.iter().map(|site| site.value).sum::<f64>();
    (sum(&bytes) / 8.0 - sum(&blocks), bytes.len())
}

#[test]
fn eight_queens_allocate_at_two_sites() {
    for compiler in BOTH {
        let native = Run::new(program("queens_lists", compiler, Variant::Plain), &[]);
        let forms = [Form::Executable, Form::Argument, Form::Custom];
        let forms = forms.iter().take(if whole_table() { 3 } else { 1 });
        let bytecode = forms.map(|&form| run("queens_lists", compiler, form, &[]));
        for run in std::iter::once(native).chain(bytecode) {
            let place = Place::new();
            let trace = exact(&run, &place);
            let what = format!("{compiler:?}, {}", run.program.display());
            let closure = words(&trace, |site| {
                site.function.ends_with("solutions.(fun)") && site.columns == [46, 60]
            });
            assert_eq!(closure, (31_440.0, 1), "{what}: the cons in the closure");
            // Since OCaml 5.1 it allocates two conses at a time.
            let conses = if compiler == Compiler::OCaml4 { 1 } else { 2 };
            let map = words(&trace, |site| site.function.ends_with("List.map"));
            assert_eq!(map, (31_440.0, conses), "{what}: the cons in List.map");
        }
    }
}

/// The words into which a bytecode executable's data is unmarshalled before the program starts.
fn words_of_data(bytecode: &Path) -> f64 {
    let bytes = fs::read(bytecode).expect("a file");
    let number = |at: usize| {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        usize::try_from(u32::from_be_bytes(bytes)).expect("64 bits")
    };
    // The file ends with the names and lengths of its sections, their number, and a magic string of twelve
    // characters.
    let count = bytes.len() - 16;
    let first = count - 8 * number(count);
    let mut end = first;
    for entry in (first..count).step_by(8).rev() {
        let start = end - number(entry + 4);
        if &bytes[entry..entry + 4] == b"DATA" {
            // The last number in the header of marshalled data.
            return number(start + 16) as f64;
        }
        end = start;
    }
    panic!("{} has no data", bytecode.display());
}

/// Words according to the runtime's counters, which it can print at exit.
fn books(run: &Run, place: &Place) -> f64 {
    let seen = place.run(&run.clone().with("OCAMLRUNPARAM", "v=0x400"));
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    let number = |name: &str| -> f64 {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        let number = line.map(|rest| rest.trim_start_matches(':').trim().parse());
        number.and_then(Result::ok).unwrap_or_else(|| panic!("no {name} in {said}"))
    };
    number("minor_words") + number("major_words") - number("promoted_words")
}

/// Words that the runtime itself allocates before the program: 17 with OCaml 4.13 and 86 with 5.3.
const BEFORE: f64 = 100.0;
/// How much they vary with the lengths of paths.
const PATHS: f64 = 16.0;

#[test]
fn an_exact_trace_has_every_word() {
    for compiler in BOTH {
        let mut before = Vec::new();
        for (name, arguments) in [
            ("exact", &["3000", "1"][..]),
            ("queens_lists", &[]),
            ("exceptions", &[]),
            ("marshalling", &[]),
            ("deep_recursion", &[]),
            ("exits", &["end"]),
        ] {
            let run = run(name, compiler, Form::Executable, arguments);
            let place = Place::new();
            let all = books(&run, &place);
            let trace = exact(&run, &place);
            let in_the_heap = ["--heap", "minor", "--heap", "major"];
            let [_, seen, _] = allocated(&info(&trace, &in_the_heap).expect("a trace"));
            before.push(all - seen / 8.0 - words_of_data(&run.program));
        }
        let least = before.iter().copied().fold(f64::INFINITY, f64::min);
        let most = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_close = least >= 0.0 && most <= BEFORE && most - least <= PATHS;
        assert!(is_close, "{compiler:?}: words that the traces do not have: {before:?}");
    }
}

/// How often a trace has each allocation: its words, its source and its stack. All frames outside the
/// program's own code, whose addresses differ between runs, count as equal. Encoded as bytes, which compare
/// fast, because stacks are deep.
fn allocations(trace: &Path) -> BTreeMap<Vec<u8>, u64> {
    let bytes = fs::read(trace).expect("a trace");
    let index = Index::skim(&bytes).expect("a readable trace");
    let mut reader = Reader::new(&bytes, &index, Stacks::Decode);
    let mut all = BTreeMap::new();
    while let Some((event, frames)) = reader.next_with_frames() {
        if let Event::Alloc(alloc) = event {
            let source = match alloc.source {
                Source::Minor => 0,
                Source::Major => 1,
                _ => 2,
            };
            let mut what = Vec::with_capacity(16 + 8 * alloc.stack.len());
            what.extend_from_slice(&alloc.length.0.to_be_bytes());
            what.push(source);
            for &frame in alloc.stack {
                let code = bactrian_trace::instruction(frames.code(frame));
                what.extend_from_slice(&code.unwrap_or(u64::MAX).to_be_bytes());
            }
            *all.entry(what).or_default() += 1;
        }
    }
    all
}

/// Checks that a program's stacks are the same whether we or its runtime walk the interpreter's stack.
fn check_walks(name: &str, compiler: Compiler, forms: &[Form], depth: &str) {
    for &form in forms {
        let what = format!("{name}, {compiler:?} {form:?}, depth {depth}");
        let run = run(name, compiler, form, &[]);
        let place = Place::new();
        let plain = place.run(&run);
        let [ours, theirs] = ["auto", "runtime"].map(|stacks| {
            let trace = place.trace(&format!("{stacks}.ctf"));
            // The launcher would remove the variable from the environment.
            let observed = run
                .clone()
                .with("LD_PRELOAD", agent())
                .with("BACTRIAN_TRACE", &trace)
                .with("BACTRIAN_RATE", "1")
                .with("BACTRIAN_DEPTH", depth)
                .with("BACTRIAN_STACKS", stacks);
            // Programs may print their own stacks.
            assert_eq!(difference(&plain, &place.run(&observed)), "", "{what}, {stacks}");
            is_clean(&info(&trace, &[]).expect("a readable trace")).expect("a clean trace");
            allocations(&trace)
        });
        assert!(ours.len() > 100, "{what}: {} stacks", ours.len());
        let other = ours.iter().find(|(stack, count)| theirs.get(*stack) != Some(*count));
        assert!(other.is_none(), "{what}: {other:?}, of {} and {}", ours.len(), theirs.len());
        assert_eq!(ours.len(), theirs.len(), "{what}");
    }
}

/// Not in the quick set: a depth that no stack reaches, the other form, and programs whose stacks are of
/// kinds that `interpreter_stacks` covers, too.
fn check_all_walks(compiler: Compiler) {
    for depth in ["400", "7", "1000"].iter().take(if whole_table() { 3 } else { 2 }) {
        check_walks("interpreter_stacks", compiler, &[Form::Executable], depth);
    }
    check_walks("exceptions", compiler, &[Form::Executable], "400");
    if whole_table() {
        check_walks("interpreter_stacks", compiler, &[Form::Custom], "400");
        for name in ["deep_recursion", "dynlink"] {
            check_walks(name, compiler, &[Form::Executable], "400");
        }
    }
}

#[test]
fn walked_stacks_equal_those_of_the_ocaml_4_runtime() {
    check_all_walks(Compiler::OCaml4);
}

#[test]
fn walked_stacks_equal_those_of_the_ocaml_5_runtime() {
    check_all_walks(Compiler::OCaml5);
    check_walks("effects", Compiler::OCaml5, &[Form::Executable], "400");
}

#[test]
fn the_compiler_in_bytecode() {
    fn source(folder: &Path) {
        let source = repository().join("programs/deep_recursion.ml");
        fs::copy(source, folder.join("deep_recursion.ml")).expect("room for a source");
    }
    let compile = |program: PathBuf, arguments: &[&str]| {
        let options = ["-g", "-dlambda", "-c", "deep_recursion.ml"];
        let run = Run::new(program, &[arguments, &options].concat());
        Run { prepare: source, ..run }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).map(|folder| folder.join("ocamlc.byte"));
    let compiler = folders.find(|path| path.exists());
    let compiler = compiler.expect("OCaml is there: scripts/setup installs it");
    let runs = [
        compile(compiler.clone(), &[]),
        compile(runtime_of(&compiler), &[text(&compiler)]),
        compile(compiler_of_ocaml5_in_bytecode(), &[])
            .with("OCAMLLIB", Compiler::OCaml5.standard_library()),
    ];
    for run in runs {
        let place = Place::new();
        let plain = place.run(&run);
        let what = run.program.display();
        assert_eq!(plain.end, "exit status 0", "{what}: {plain:?}");
        assert!(plain.files.contains_key(Path::new("deep_recursion.cmo")), "{what}");
        for rate in ["1e-2", "1"].iter().take(if whole_table() { 2 } else { 1 }) {
            let outside = Place::new();
            let trace = outside.trace("trace.ctf");
            let observed = place.run(&run.observed(&["--rate", rate], &trace));
            assert_eq!(difference(&plain, &observed), "", "{what}, rate {rate}");
            let info = info(&trace, &[]).expect("a readable trace");
            is_clean(&info).expect("a clean trace");
        }
    }
}
