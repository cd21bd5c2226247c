//! Roots found from memory alone, compared with those that the program's own runtime lists.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use bactrian_capture::heap::roots::{self, Listing, Order, RootHolder, Roots, Scanned, Stacks};
use bactrian_capture::heap::target::{Files, Target};
use bactrian_capture::memory::Memory;
use bactrian_fixtures::{Compiler, Recipe, Variant, program, run, stripped, whole_table};
use programs::Waiting;

/// The pointers that the runtime has listed, by slot.
fn listed(listing: &Listing) -> BTreeMap<u64, u64> {
    let slots = listing.lists.iter().flat_map(|list| &list.slots);
    let pointers = slots.filter(|slot| slot.value & 1 == 0 && slot.value != 0);
    pointers.map(|slot| (slot.slot, slot.value)).collect()
}

fn found(roots: &Roots) -> BTreeMap<u64, u64> {
    roots.roots.iter().map(|root| (root.slot, root.value)).collect()
}

/// Compares both ways: nothing that the runtime lists is missing, and nothing is made up.
fn assert_same(roots: &Roots, listing: &Listing, what: &str) {
    let listed = listed(listing);
    let mut found = found(roots);
    let missing: Vec<_> = listed.iter().filter(|(slot, _)| !found.contains_key(slot)).collect();
    assert!(missing.is_empty(), "{what}: not found {missing:x?}; gaps {:?}", roots.gaps);
    let more = roots.roots.iter().filter(|root| !listed.contains_key(&root.slot));
    let (unlisted, more): (Vec<&roots::Root>, Vec<_>) =
        more.partition(|root| is_never_listed(roots, root));
    assert!(more.is_empty(), "{what}: not listed {more:x?}");
    for root in unlisted {
        found.remove(&root.slot);
    }
    assert_eq!(found, listed, "{what}");
}

/// Before 5.2 the runtime lists the threads of its caller's domain, whichever domain it is asked about: we
/// also find those of others.
fn is_never_listed(roots: &Roots, root: &roots::Root) -> bool {
    let thread = match root.place {
        RootHolder::Stack { thread, .. }
        | RootHolder::Local { thread }
        | RootHolder::ThreadDescriptor { thread }
        | RootHolder::LastException { thread } => thread,
        _ => return false,
    };
    let is_of_other = roots.threads.get(thread as usize).is_some_and(|thread| thread.domain != 0);
    is_of_other && matches!(Compiler::OCaml5.version(), (5, ..=1))
}

fn target(program: &Waiting) -> Target {
    Target::find(&program.memory, &Files::of_process(program.pid())).expect("OCaml")
}

fn start(program: &Path) -> Waiting {
    Waiting::start(&mut Command::new(program))
}

/// The functions of the frames in which a thread has roots.
fn functions(roots: &Roots, thread: u32) -> BTreeSet<String> {
    let frames = roots.roots.iter().filter_map(|root| match root.place {
        RootHolder::Stack { thread: of, frame, .. } if of == thread => roots.frames.get(&frame),
        _ => None,
    });
    frames.flat_map(|frame| &frame.locations).map(|location| location.function.clone()).collect()
}

/// In OCaml 4.11 it is `Stdlib__hashtbl`.
fn is_hashtbl(module: &str) -> bool {
    module.eq_ignore_ascii_case("Stdlib__Hashtbl")
}

fn check_common(roots: &Roots, what: &str) {
    let globals = roots.roots.iter().filter_map(|root| match root.place {
        RootHolder::Global { module, .. } => roots.modules.get(module as usize),
        _ => None,
    });
    let globals: BTreeSet<_> = globals.map(|module| module.name.as_str()).collect();
    assert!(globals.contains("Heap_roots"), "{what}: {globals:?}");
    assert!(globals.iter().any(|name| is_hashtbl(name)), "{what}");
    let hashtbl = roots.units.iter().find(|unit| is_hashtbl(&unit.name));
    assert!(hashtbl.is_some_and(|unit| unit.interface.is_some()), "{what}: {hashtbl:?}");
    let main = functions(roots, 0);
    assert!(main.contains("Heap_roots.deep"), "{what}: {main:?}");
    let frames = roots.frames.values().flat_map(|frame| &frame.locations);
    let deep = frames.filter(|location| location.function == "Heap_roots.deep");
    let lines: BTreeSet<_> = deep.map(|location| (location.file.as_str(), location.line)).collect();
    let source = include_str!("../../../../programs/heap_roots.ml");
    let call = source.lines().position(|line| line.contains("list_roots inner")).expect("there");
    assert!(lines.contains(&("heap_roots.ml", call as u32 + 1)), "{what}: {lines:?}");
    // The main thread and three others, each in its function.
    assert_eq!(roots.threads.len(), 4, "{what}");
    let ids: BTreeSet<_> = roots.threads.iter().filter_map(|thread| thread.id).collect();
    assert_eq!(ids, [0, 1, 2, 3].into(), "{what}");
    assert_eq!(roots.threads.iter().filter(|thread| thread.is_active).count(), 1, "{what}");
    for thread in 1..4 {
        assert!(functions(roots, thread).contains("Heap_roots.hold"), "{what}: {thread}");
    }
    let local =
        roots.roots.iter().filter(|root| matches!(root.place, RootHolder::Local { thread: 0 }));
    assert_eq!(local.count(), 3, "{what}: kept, copy and one of many");
    let of_c = |generational| {
        let place = RootHolder::C { is_generational: generational };
        roots.roots.iter().filter(|root| root.place == place).count()
    };
    assert!(of_c(false) >= 1 && of_c(true) >= 2, "{what}");
    let finalisers = |order| roots.finalisers.iter().filter(|f| f.order == order).count();
    assert_eq!((finalisers(Order::First), finalisers(Order::Last)), (101, 1), "{what}");
    assert_eq!(roots.ephemerons.len(), 2, "{what}: an ephemeron and a weak array");
    let has_sampler = what.contains("OCaml4") || Compiler::OCaml5.has_sampler();
    assert_eq!(roots.samples.len() > 50, has_sampler, "{what}: {} samples", roots.samples.len());
    for sample in &roots.samples {
        assert!(sample.samples > 0 && sample.block & 7 == 0, "{what}: {sample:x?}");
        let of = |space: &&roots::Space| space.range.contains(&sample.block);
        let space = roots.spaces.iter().find(of).expect("sampled blocks are in the heap");
        assert_ne!(space.kind, roots::SpaceKind::Static, "{what}");
    }
}

#[test]
fn roots_are_those_that_the_runtime_lists() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let whole = program("heap_roots", compiler, Variant::Plain);
        let what = format!("{compiler:?}");
        let program = start(&whole);
        let roots = roots::find(&target(&program), &program.memory, None);
        assert_same(&roots, &program.listing, &what);
        assert_eq!(roots.gaps, [""; 0], "{what}");
        check_common(&roots, &what);

        let with = roots::find(&target(&program), &program.memory, Some(&program.listing));
        assert!(!with.roots.iter().any(|root| root.place == RootHolder::Unknown), "{what}");
        assert_eq!(with.roots, roots.roots, "{what}: a listing changes nothing");

        let what = format!("{compiler:?} stripped");
        let program = start(&stripped(&whole));
        let target = target(&program);
        let roots = roots::find(&target, &program.memory, Some(&program.listing));
        assert_same(&roots, &program.listing, &what);
        assert!(!roots.roots.iter().any(|root| root.place == RootHolder::Unknown), "{what}");
        assert_eq!(roots.gaps, [""; 0], "{what}");
        check_common(&roots, &what);
    }
}

/// The fibers of continuations that are reachable from a list in a global, which is where heap_roots_5 keeps
/// them.
fn suspended(roots: &Roots, memory: &dyn Memory) -> Vec<u64> {
    const CONTINUATION: u64 = 245;
    let module =
        roots.modules.iter().position(|module| module.name == "Heap_roots_5").expect("its module");
    let of_module = |root: &&roots::Root| matches!(root.place, RootHolder::Global { module: of, .. } if of as usize == module);
    let mut found = BTreeSet::new();
    for global in roots.roots.iter().filter(of_module) {
        // A reference to a list; any other global has no continuation where this looks.
        let mut cell = memory.word(global.value).unwrap_or(0);
        for _ in 0..10 {
            if cell & 1 == 1 || cell == 0 {
                break;
            }
            let head = memory.word(cell).filter(|head| head & 7 == 0 && *head != 0);
            let header = head.and_then(|head| memory.word(head - 8));
            if header.is_some_and(|header| header & 0xff == CONTINUATION) {
                found.extend(memory.word(head.expect("it has a header")));
            }
            cell = memory.word(cell + 8).unwrap_or(0);
        }
    }
    found.into_iter().map(|fiber| fiber & !1).collect()
}

#[test]
fn roots_of_domains_and_fibers_are_found() {
    let whole = program("heap_roots_5", Compiler::OCaml5, Variant::Plain);
    for (what, path) in [("whole", whole.clone()), ("stripped", stripped(&whole))] {
        let program = start(&path);
        let target = target(&program);
        let listing = (what == "stripped").then_some(&program.listing);
        let roots = roots::find(&target, &program.memory, listing);
        assert_same(&roots, &program.listing, what);
        assert_eq!(roots.gaps, [""; 0], "{what}");
        assert!(!roots.roots.iter().any(|root| root.place == RootHolder::Unknown), "{what}");
        // Each domain has its own thread, and two domains have another one.
        let domains: BTreeSet<_> = roots.threads.iter().map(|thread| thread.domain).collect();
        assert_eq!((domains, roots.threads.len()), ([0, 1, 2].into(), 5), "{what}");
        let main = functions(&roots, 0);
        assert!(main.contains("Heap_roots_5.within.(fun)"), "{what}: {main:?}");
        // It is not known which of a domain's two threads ran last.
        for domain in [1, 2] {
            let threads = (0..).zip(&roots.threads).filter(|(_, thread)| thread.domain == domain);
            let mut functions = threads.map(|(thread, _)| functions(&roots, thread));
            assert!(functions.any(|names| names.contains("Heap_roots_5.hold")), "{what}");
        }
        let count = |place: fn(&RootHolder) -> bool| {
            roots.roots.iter().filter(|root| place(&root.place)).count()
        };
        // Four fibers and the main one, whose handlers are null.
        let handlers = count(|place| matches!(place, RootHolder::Handler { thread: 0 }));
        assert_eq!(handlers, 15, "{what}");
        assert_eq!(count(|place| matches!(place, RootHolder::DomainLocal { .. })), 3, "{what}");
        // In the domain's state, and where it was saved when the thread blocked.
        assert_eq!(count(|place| matches!(place, RootHolder::LastException { .. })), 2, "{what}");
        assert_eq!(roots.finalisers.len(), 2, "{what}");

        let stacks = Stacks::new(&target, &program.memory);
        let fibers = suspended(&roots, &program.memory);
        assert_eq!(fibers.len(), 5, "{what}");
        for fiber in fibers {
            let scanned = stacks.scan_fiber(fiber);
            assert_eq!(scanned.gap, None, "{what}");
            let frames: Vec<_> = scanned.slots.iter().filter_map(|slot| slot.frame).collect();
            let names = frames.iter().flat_map(|frame| stacks.frame(*frame).locations);
            let names: BTreeSet<_> = names.map(|location| location.function).collect();
            assert!(names.contains("Heap_roots_5.performing"), "{what}: {names:?}");
            let handlers = scanned.slots.iter().filter(|slot| slot.frame.is_none());
            assert_eq!(handlers.count(), 3, "{what}");
        }
        assert_eq!(stacks.scan_fiber(0), Scanned::default());
        assert!(stacks.scan_fiber(8).gap.is_some());
    }
}

#[test]
fn without_symbols_and_listing_roots_are_found_through_code() {
    for (compiler, name) in [
        (Compiler::OCaml4, "heap_roots"),
        (Compiler::OCaml5, "heap_roots"),
        (Compiler::OCaml5, "heap_roots_5"),
    ] {
        let what = format!("{compiler:?} {name}");
        let whole = program(name, compiler, Variant::Plain);
        let program = start(&stripped(&whole));
        let target = target(&program);
        let roots = roots::find(&target, &program.memory, None);
        let states: BTreeSet<_> = program.listing.domains.iter().collect();
        let main = roots.threads.iter().filter(|thread| thread.is_active).count();
        assert_eq!(main, states.len(), "{what}: all domains");
        // Only OCaml 4 has roots that cannot be found this way.
        match compiler {
            Compiler::OCaml4 => {
                let (found, listed) = (found(&roots), listed(&program.listing));
                assert!(found.iter().all(|root| listed.get(root.0) == Some(root.1)), "{what}");
                assert_eq!(roots.gaps.len(), 1, "{what}: {:?}", roots.gaps);
                assert!(roots.gaps[0].starts_with("the sampler's entries"), "{what}");
                let sampled =
                    program.listing.lists.iter().filter(|l| l.list == roots::List::Memprof);
                let sampled: BTreeSet<_> = sampled.flat_map(|l| &l.slots).map(|s| s.slot).collect();
                assert!(
                    listed.keys().all(|s| found.contains_key(s) || sampled.contains(s)),
                    "{what}"
                );
            }
            Compiler::OCaml5 => {
                assert_eq!(roots.gaps, [""; 0], "{what}");
                assert_same(&roots, &program.listing, &what);
            }
        }
    }
}

/// The same for bytecode: the runtime also lists code pointers on the stack, which are not values, and a
/// single root for all modules.
fn check_bytecode(program: &Waiting, listing: Option<&Listing>, what: &str) {
    let target = target(program);
    let roots = roots::find(&target, &program.memory, listing);
    let word = |name: &str| program.memory.word(target.global(name).expect("it has a name"));
    let start = word("caml_start_code").expect("code");
    let code = start..start + word("caml_code_size").expect("its size");
    let mut listed = listed(&program.listing);
    listed.retain(|_, value| !code.contains(value));
    let mut found = found(&roots);
    let is_module = |root: &&roots::Root| matches!(root.place, RootHolder::Global { .. });
    let modules: BTreeSet<_> = roots.roots.iter().filter(is_module).map(|root| root.slot).collect();
    found.retain(|slot, _| !modules.contains(slot));
    assert_eq!(found, listed, "{what}");
    assert_eq!(roots.gaps, [""; 0], "{what}");
    assert!(!roots.roots.iter().any(|root| root.place == RootHolder::Unknown), "{what}");
    let modules = roots.roots.iter().filter_map(|root| match root.place {
        RootHolder::Global { module, .. } => roots.modules.get(module as usize),
        _ => None,
    });
    let modules: BTreeSet<_> = modules.map(|module| module.name.as_str()).collect();
    // Its own module is set only when it has run to its end.
    assert!(modules.iter().any(|name| is_hashtbl(name)), "{modules:?}");
    let functions = |thread: u32| {
        let frames = roots.roots.iter().filter_map(|root| match root.place {
            RootHolder::Interpreter { thread: of, frame, .. } if of == thread => {
                roots.frames.get(&frame)
            }
            _ => None,
        });
        let locations = frames.flat_map(|frame| &frame.locations);
        locations.map(|location| location.function.clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!(roots.threads.len(), 4, "{what}");
    for (thread, name) in [(0, "deep"), (1, "hold"), (2, "hold"), (3, "hold")] {
        let functions = functions(thread);
        // Without debug information functions have numbers.
        let name = if what == "complete" { "fun_" } else { name };
        let name = format!("Heap_roots.{name}");
        assert!(functions.iter().any(|f| f.starts_with(&name)), "{what}: {functions:?}");
    }
    let finalisers = |order| roots.finalisers.iter().filter(|f| f.order == order).count();
    assert_eq!((finalisers(Order::First), finalisers(Order::Last)), (101, 1), "{what}");
}

#[test]
fn roots_of_bytecode_programs_are_found() {
    let custom = program("heap_roots", Compiler::OCaml4, Variant::Custom);
    check_bytecode(&start(&custom), None, "custom");
    let complete = program("heap_roots", Compiler::OCaml4, Variant::Complete);
    check_bytecode(&start(&complete), None, "complete");
    // A runtime without symbols, and a bytecode file that it is given by a relative path.
    let ocamlc = Compiler::OCaml4.ocamlc();
    let files = "-I +unix -I +threads unix.cma threads.cma heap_roots_stubs.c heap_roots.ml";
    let folder = Recipe::new("heap_roots-apart")
        .source("heap_roots.ml")
        .source("heap_roots_stubs.c")
        .step(&ocamlc, &format!("-make-runtime {files} -o runtime"))
        .step(&ocamlc, &format!("-g -noautolink -use-runtime ./runtime {files} -o bytecode"))
        .build();
    let mut command = Command::new(stripped(&folder.join("runtime")));
    command.arg("bytecode").current_dir(&folder);
    let program = Waiting::start(&mut command);
    check_bytecode(&program, Some(&program.listing), "apart");
}

#[test]
fn roots_are_named_even_if_the_executable_is_gone() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let what = format!("{compiler:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("heap_roots");
        // Not copied by this process: a child of another thread could still have the copy open for writing
        // when we start it.
        let original = program("heap_roots", compiler, Variant::Plain);
        run(Command::new("cp").arg(original).arg(&path));
        let program = start(&path);
        // Another program takes its place.
        std::fs::remove_file(&path).expect("it may go while it runs");
        std::fs::copy("/bin/true", &path).expect("room");
        let target = Target::find(&program.memory, &Files::default()).expect("OCaml");
        assert!(!target.runtime_object().has_all_symbols, "{what}");
        let roots = roots::find(&target, &program.memory, Some(&program.listing));
        assert_same(&roots, &program.listing, &what);
        check_common(&roots, &what);
        // The kernel still has the file that runs.
        let target = Target::find(&program.memory, &Files::of_process(program.pid()));
        assert!(target.expect("OCaml").runtime_object().has_all_symbols, "{what}");
    }
}

#[test]
fn modules_and_frames_of_plugins_are_found() {
    const HOST: &str = "
external list_roots : 'a -> unit = \"heap_roots_list\"
let () = Dynlink.loadfile Sys.argv.(1)
let () = !Host_call.call list_roots; print_newline ()
";
    const PLUGIN: &str = "
let kept = List.init 10 string_of_int
let run list_roots =
  let mine = List.init 5 string_of_int in
  list_roots mine;
  print_string (String.concat \"\" mine)
let () = Host_call.call := run
";
    // What both know, since a plugin cannot refer to the program that loads it.
    const SHARED: &str = "let call = ref (fun (_ : string list -> unit) -> ())";
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let ocamlopt = compiler.ocamlopt();
        let link = "-g -I +dynlink dynlink.cmxa host_call.cmx heap_roots_stubs.c host.ml -o host";
        let folder = Recipe::new(format!("heap_roots-{compiler:?}-plugin"))
            .file("host.ml", HOST)
            .file("plugin.ml", PLUGIN)
            .file("host_call.ml", SHARED)
            .source("heap_roots_stubs.c")
            .step(&ocamlopt, "-g -c host_call.ml")
            .step(&ocamlopt, "-g -shared plugin.ml -o plugin.cmxs")
            .step(&ocamlopt, link)
            .build();
        let host = folder.join("host");
        for (what, path) in [("whole", host.clone()), ("stripped", stripped(&host))] {
            let what = format!("{compiler:?} {what}");
            let program = Waiting::start(Command::new(&path).arg(folder.join("plugin.cmxs")));
            let target = target(&program);
            let listing = what.ends_with("stripped").then_some(&program.listing);
            let roots = roots::find(&target, &program.memory, listing);
            assert_same(&roots, &program.listing, &what);
            assert!(!roots.roots.iter().any(|root| root.place == RootHolder::Unknown), "{what}");
            assert_eq!(roots.gaps, [""; 0], "{what}");
            let dynamic = roots.roots.iter().filter_map(|root| match root.place {
                RootHolder::DynamicGlobal { module, .. } => roots.modules.get(module as usize),
                _ => None,
            });
            let dynamic: BTreeSet<_> = dynamic.map(|module| module.name.as_str()).collect();
            assert_eq!(dynamic, ["Plugin"].into(), "{what}");
            let functions = functions(&roots, 0);
            assert!(functions.contains("Plugin.run"), "{what}: {functions:?}");
            let plugin = target.objects.iter().find(|object| object.path.ends_with("plugin.cmxs"));
            let range = &plugin.expect("it is loaded").range;
            let is_static = |space: &&roots::Space| {
                space.kind == roots::SpaceKind::Static && range.contains(&space.range.start)
            };
            assert_eq!(roots.spaces.iter().filter(is_static).count(), 1, "{what}");
        }
    }
}

/// Memory in which some words are damaged.
struct Damaged<'a> {
    of: &'a dyn Memory,
    seed: u64,
    /// One word in this many is damaged.
    rarity: u64,
}

impl Memory for Damaged<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        if !self.of.read(address, buffer) {
            return false;
        }
        // Memory that is not writable is as in the file.
        let regions = self.of.regions();
        let after = regions.partition_point(|region| region.range.start <= address);
        if !regions[after - 1].writable {
            return true;
        }
        let end = address + buffer.len() as u64;
        for word in address / 8..end.div_ceil(8) {
            let random = mix(word ^ self.seed);
            if !random.is_multiple_of(self.rarity) {
                continue;
            }
            // A random word, a pointer to the same page, a small number, or another.
            let at = 8 * word;
            let damaged = match random / self.rarity % 4 {
                0 => mix(random),
                1 => at & !0xfff,
                2 => random % 64,
                _ => at,
            };
            for (at, byte) in (at..).zip(damaged.to_le_bytes()) {
                if (address..end).contains(&at) {
                    buffer[(at - address) as usize] = byte;
                }
            }
        }
        true
    }

    fn regions(&self) -> &[bactrian_capture::memory::Region] {
        self.of.regions()
    }
}

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n >> 32
}

#[test]
fn finding_roots_in_damaged_memory_never_panics() {
    for (compiler, variant, name) in [
        (Compiler::OCaml4, Variant::Plain, "heap_roots"),
        (Compiler::OCaml5, Variant::Plain, "heap_roots_5"),
        (Compiler::OCaml4, Variant::Custom, "heap_roots"),
    ] {
        let program = start(&program(name, compiler, variant));
        let whole = target(&program);
        let mut gaps = 0;
        for seed in 0..if whole_table() { 10 } else { 5 } {
            let rarity = [2, 10, 100, 1000, 10_000][seed as usize % 5];
            let memory = Damaged { of: &program.memory, seed, rarity };
            // What is loaded may be read wrongly, too.
            Target::find(&memory, &Files::default()).ok();
            let listing = (seed % 2 == 0).then_some(&program.listing);
            let roots = roots::find(&whole, &memory, listing);
            gaps += roots.gaps.len();
            let stacks = Stacks::new(&whole, &memory);
            for root in roots.roots.iter().take(100) {
                stacks.scan_fiber(root.value);
            }
        }
        assert!(gaps > 0, "{compiler:?} {variant:?}");
    }
}
