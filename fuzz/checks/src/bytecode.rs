//! The promises of the bytecode reader, checked on arbitrary bytes.

use bactrian_ocaml::OcamlError;
use bactrian_ocaml::bytecode::{Pc, Program};

/// Longer names are cut if they have to be copied.
const LONGEST_MADE_UP: usize = 1024;

/// Reads `bytes` and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    let program = match Program::read(bytes) {
        Ok(program) => program,
        Err(OcamlError::Marshalled { offset, .. } | OcamlError::Damaged { offset, .. }) => {
            // An ELF file may contain arbitrary offsets.
            let is_elf = bytes.starts_with(b"\x7fELF");
            assert!(is_elf || offset <= bytes.len() as u64, "at {offset} of {}", bytes.len());
            return;
        }
        Err(OcamlError::NotExecutable | OcamlError::NoBytecode(_)) => return,
    };
    let mut next = Pc(0);
    for instruction in program.instructions() {
        assert_eq!(instruction.at, next);
        next = instruction.end();
        assert_eq!(program.instruction(instruction.at), Some(instruction));
        assert_eq!(program.before(next), Some(instruction));
        assert!(instruction.targets().all(|target| target <= program.code.end()));
        assert!(!program.show(&instruction).is_empty());
        assert!(program.function_at(instruction.at).is_some());
        if let Some(place) = program.place(&instruction) {
            assert!(place.location.file.len() <= bytes.len());
        }
    }
    assert_eq!(next, program.code.end());
    let mut next = Pc(0);
    for function in &program.functions {
        assert_eq!(function.start, next);
        next = function.end;
        assert!(function.name.len() <= bytes.len().max(LONGEST_MADE_UP));
    }
    assert_eq!(next, program.code.end());
    if let Some(debug) = &program.debug {
        assert!(debug.events().is_sorted_by_key(|event| event.at));
        // An event is a block with a dozen fields, an element of a list.
        assert!(debug.events().len() <= bytes.len());
    }
    let starts = program.functions.iter().map(|function| function.start);
    let ends = program.instructions().map(|instruction| instruction.end());
    if let Ok(found) = program.variables(starts, ends) {
        let all = found.environments.values().chain(found.stacks.values());
        assert!(all.map(Vec::len).sum::<usize>() <= bytes.len());
    }
}
