//! The promises of the reader of executables, checked on arbitrary bytes.

use bactrian_ocaml::Executable;
use bactrian_ocaml::executable::{DebugSymbols, ExecutableKind, Form, Identity};

/// A table of return addresses contains at least its length, and its module has a symbol of this size.
const SHORTEST_MODULE: usize = 24;

/// Reads `bytes` and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    if let Some(Identity { build_id, .. }) = Identity::read(bytes) {
        // A file may be its own debug file.
        let symbols = DebugSymbols::read(bytes, build_id);
        let read = Executable::read_with(bytes, symbols);
        assert_eq!(read.is_ok(), Executable::read(bytes).is_ok());
    }
    let Ok(executable) = Executable::read(bytes) else { return };
    let debug_info = executable.debug_info();
    let Executable { form, ocaml } = executable;
    if let Some(debug_info) = &debug_info {
        let modules = debug_info.with + debug_info.without.len();
        assert!(modules * SHORTEST_MODULE <= bytes.len(), "{modules} modules");
        assert!(debug_info.without.is_sorted(), "{:?}", debug_info.without);
    }
    if let Some(ocaml) = ocaml {
        if let Some(said) = &ocaml.said {
            assert_eq!(ocaml.version(), Some(said.version));
            assert!(said.text.chars().all(|c| c.is_ascii_graphic()), "{:?}", said.text);
        }
        let is_bytecode = matches!(ocaml.kind, ExecutableKind::Bytecode | ExecutableKind::Custom);
        assert_eq!(is_bytecode, ocaml.bytecode.is_some(), "{:?}", ocaml.kind);
    }
    if let Form::Elf(elf) = form {
        assert!(!elf.exports("") && !elf.imports(""), "something without a name");
        assert!(!elf.exports("caml_start_program") || elf.defines("caml_start_program"));
    }
}
