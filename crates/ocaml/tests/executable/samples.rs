//! Executables of every kind, each as small as possible.

use crate::elf_file::ElfFile;

/// The exports of a native program's runtime, by version of OCaml.
pub const OF_4_13: &[&str] = &[
    "caml_start_program",
    "caml_frametable",
    "caml_globals",
    "caml_init_custom_major_ratio",
    "caml_sys_modify_argv",
    "Caml_state",
    "caml_memprof_start",
    "caml_memprof_minor_update",
    "caml_memprof_main_ctx",
    "caml_check_pending_actions",
    "caml_init_policy",
    "caml_do_exit",
];
pub const OF_5_3: &[&str] = &[
    "caml_start_program",
    "caml_frametable",
    "caml_globals",
    "caml_init_domains",
    "caml_state",
    "caml_plat_mem_map",
    "caml_minor_collections_count",
    "caml_memprof_new_domain",
    "caml_orphan_ephemerons",
    "caml_memprof_scan_roots",
    "caml_plat_latch_wait",
];

/// An OCaml string with its header.
pub fn string(text: &str) -> Vec<u8> {
    let words = text.len() / 8 + 1;
    let mut bytes = ((words as u64) << 10 | 3 << 8 | 252).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.resize(8 + words * 8 - 1, 0);
    bytes.push((words * 8 - 1 - text.len()) as u8);
    bytes
}

/// A table of two return addresses: of a call, and of an allocation, whose location may be known.
fn frametable(is_known: bool) -> Vec<u8> {
    let mut bytes = 2_u64.to_le_bytes().to_vec();
    let call = [16_u16 + 1, 1, 8, 0];
    bytes.extend(0x1000_u64.to_le_bytes());
    bytes.extend(call.map(u16::to_le_bytes).concat());
    bytes.extend([0; 8]);
    bytes.extend(0x1010_u64.to_le_bytes());
    bytes.extend([16 + if is_known { 3_u16 } else { 2 }, 0].map(u16::to_le_bytes).concat());
    bytes.extend([1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// A native program of one of two versions.
pub fn native(names: &[&str], separator: &str, version: &str) -> ElfFile {
    let unit = |unit: &str, name: &str| format!("caml{unit}{separator}{name}");
    let mut program = ElfFile::program()
        .exporting(names)
        .with(&unit("Stdlib__Sys", "data_begin"), &[string("Unix"), string(version)].concat())
        .with(&unit("Stdlib__Sys", "data_end"), &[])
        .with(&unit("Stdlib__List", "frametable"), &frametable(true))
        .with(&unit("Main", "frametable"), &frametable(false))
        .with("caml_system__frametable", &[0xff; 16]);
    program.imports.push("readlink".to_owned());
    program
}

/// The end of a bytecode file: sections and their table.
pub fn bytecode(magic: &str) -> Vec<u8> {
    let mut bytes = vec![0; 24];
    for (name, length) in [(b"CODE", 16_u32), (b"DBUG", 8)] {
        bytes.extend(name);
        bytes.extend(length.to_be_bytes());
    }
    bytes.extend(2_u32.to_be_bytes());
    bytes.extend(magic.as_bytes());
    bytes
}

/// A program with a runtime for bytecode of 4.13.
pub fn interpreter() -> ElfFile {
    let names: Vec<_> =
        OF_4_13.iter().copied().filter(|name| !name.ends_with("_program")).collect();
    ElfFile::program().exporting(&names).exporting(&["caml_prim_table"])
}

/// Marshalled data, after bytes that look like its beginning.
pub fn marshalled() -> Vec<u8> {
    let mut bytes = [0x8495_a6be_u32, 0].map(u32::to_be_bytes).concat();
    bytes.extend([0x8495_a6be_u32, 4, 1, 1, 1].map(u32::to_be_bytes).concat());
    bytes.extend([0x40; 4]);
    bytes
}

/// An empty program for a 32-bit machine.
pub fn narrow() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0".to_vec();
    bytes.resize(52, 0);
    bytes[40] = 52;
    bytes
}

/// Every kind, by name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let native_4 = native(OF_4_13, "__", "4.13.1");
    let mut not_stripped = native(OF_4_13, "__", "4.13.1");
    not_stripped.symbols = Some(std::mem::take(&mut not_stripped.exports));
    not_stripped.loader = None;
    not_stripped.kind = 2;
    let mut custom = interpreter();
    custom.tail = bytecode("Caml1999X030");
    vec![
        ("native_4", native_4.bytes()),
        ("native_5", native(OF_5_3, ".", "5.3.0+options").bytes()),
        ("static", not_stripped.bytes()),
        ("cut", native_4.bytes()[..1000].to_vec()),
        ("runtime", interpreter().bytes()),
        ("complete", interpreter().with("caml_data", &marshalled()).bytes()),
        ("custom", custom.bytes()),
        ("bytecode", [b"#!/usr/bin/ocamlrun\n".to_vec(), bytecode("Caml1999X035")].concat()),
        ("bare", bytecode("Caml1999X036")),
        ("script", b"#! /usr/bin/env  ocaml -I x\n".to_vec()),
        ("hidden", ElfFile::program().with("x", b"OCAMLRUNPARAM\0").bytes()),
        ("narrow", narrow()),
    ]
}
