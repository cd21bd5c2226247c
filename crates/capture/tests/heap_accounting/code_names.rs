//! Names of functions.

use std::collections::BTreeMap;

use bactrian_capture::heap::names::{CodeOrigin, Function, Names};
use bactrian_capture::heap::roots::Stacks;
use bactrian_capture::memory::Memory;
use bactrian_ocaml::bytecode::Program;
use bactrian_ocaml::symbol;

use bactrian_fixtures::{BOTH, Compiler, Variant, program, stripped};

use crate::programs::Waiting;

/// All functions of the module that are named, with their lines.
fn named(functions: impl Iterator<Item = Function>) -> BTreeMap<String, u32> {
    let of_module = functions.filter(|function| function.kind == CodeOrigin::OCaml);
    let of_module = of_module.filter(|function| function.name.starts_with("Heap_names"));
    of_module.map(|function| (function.name, function.line)).collect()
}

const LINES: [(&str, u32); 4] = [
    ("Heap_names.plain", 4),
    ("Heap_names.Inner.deep", 8),
    ("Heap_names.Inner.More.(+++)", 12),
    ("Heap_names.two", 16),
];

#[test]
fn native_functions_have_the_names_of_the_source() {
    for compiler in BOTH {
        let program = program("heap_names", compiler, Variant::Plain);
        for program in [program.clone(), stripped(&program)] {
            let program = Waiting::start(&program, &[]);
            let stacks = Stacks::new(&program.target, &program.memory);
            let names = Names::new(&program.target, &program.memory, &stacks);
            let symbols = &program.target.runtime_object().symbols;
            let of_module = symbols
                .all()
                .iter()
                .filter(|found| symbol::unit(symbols.name(found)) == Some("Heap_names"));
            let found = named(of_module.map(|found| names.function(found.address)));
            for (name, line) in LINES {
                assert_eq!(found.get(name), Some(&line), "{compiler:?}: {name} in {found:?}");
            }
            // It only makes tail calls, and so has no return address.
            let tail = symbols.all().iter().find(|found| symbols.name(found).contains("tail"));
            let tail = names.function(tail.expect("a function").address);
            assert_eq!((tail.file.as_deref(), tail.line), (Some("heap_names.ml"), 0));
            // An address in the middle of a function belongs to that function; C functions have their C
            // names, and code without a symbol has its address.
            let two = program.target.global("caml_alloc_string").expect("exported");
            let of_c = names.function(two + 1);
            assert_eq!(
                (of_c.kind, of_c.name.as_str(), of_c.line),
                (CodeOrigin::C, "caml_alloc_string", 0)
            );
            let stub = program.target.global("caml_curry2").expect("a function of two arguments");
            assert_eq!(names.function(stub).kind, CodeOrigin::Stub);
            let nothing = names.function(16);
            assert_eq!((nothing.kind, nothing.name.as_str()), (CodeOrigin::Unknown, "0x10"));
        }
    }
}

#[test]
fn bytecode_functions_have_the_names_of_the_source() {
    for variant in [Variant::Bytecode, Variant::Custom] {
        let program = Waiting::start(&program("heap_names", Compiler::OCaml4, variant), &[]);
        let target = &program.target;
        let stacks = Stacks::new(target, &program.memory);
        let names = Names::new(target, &program.memory, &stacks);
        let bytecode = Program::read(target.bytecode.as_ref().expect("its file")).expect("whole");
        let code =
            program.memory.word(target.global("caml_start_code").expect("exported")).expect("code");
        let starts =
            bytecode.functions.iter().map(|function| code + 4 * u64::from(function.start.0));
        let found = named(starts.map(|address| names.function(address)));
        for (name, line) in LINES {
            assert_eq!(found.get(name), Some(&line), "{name} in {found:?}");
        }
        let of_c = names.function(target.global("caml_alloc_string").expect("exported"));
        assert_eq!((of_c.kind, of_c.name.as_str()), (CodeOrigin::C, "caml_alloc_string"));
    }
}
