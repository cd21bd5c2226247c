//! Executables of every kind are identified, and damage at worst makes them unreadable.

mod elf_file;
mod samples;

use bactrian_ocaml::executable::{Executable, ExecutableKind, Form, Machine, Purpose};
use bactrian_ocaml::{OcamlError, RuntimeCode, Version};

use crate::elf_file::ElfFile;
use crate::samples::{OF_4_13, OF_5_3, all, native};

fn sample(name: &str) -> Vec<u8> {
    let found = all().into_iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("no sample {name}")).1
}

fn kind(bytes: &[u8]) -> Option<ExecutableKind> {
    Executable::read(bytes).expect("it is whole").ocaml.map(|ocaml| ocaml.kind)
}

#[test]
fn executable_kinds_are_identified() {
    for (name, expected) in [
        ("native_4", Some(ExecutableKind::Native)),
        ("native_5", Some(ExecutableKind::Native)),
        ("static", Some(ExecutableKind::Native)),
        ("runtime", Some(ExecutableKind::Runtime)),
        ("complete", Some(ExecutableKind::Complete)),
        ("custom", Some(ExecutableKind::Custom)),
        ("bytecode", Some(ExecutableKind::Bytecode)),
        ("bare", Some(ExecutableKind::Bytecode)),
        ("script", None),
        ("hidden", Some(ExecutableKind::Unknown)),
        ("narrow", None),
    ] {
        assert_eq!(kind(&sample(name)), expected, "{name}");
    }
    assert!(matches!(
        Executable::read(&sample("cut")),
        Err(OcamlError::Damaged { offset: 1000, .. })
    ));
    assert_eq!(Executable::read(b"let x = 1").err(), Some(OcamlError::NotExecutable));
    let shared = ElfFile::program().exporting(&["caml_frametable", "caml_globals"]).bytes();
    assert_eq!(kind(&shared), Some(ExecutableKind::NativeWithoutRuntime));
}

#[test]
fn versions_come_from_the_program_and_from_its_runtime() {
    for (name, said, told) in [
        ("native_4", "4.13.1", Version::new(4, 13)),
        ("static", "4.13.1", Version::new(4, 13)),
        ("native_5", "5.3.0+options", Version::new(5, 3)),
    ] {
        let bytes = sample(name);
        let ocaml = Executable::read(&bytes).expect("it is whole").ocaml.expect("OCaml");
        assert_eq!(ocaml.said.map(|said| said.text).as_deref(), Some(said), "{name}");
        let fingerprint = ocaml.fingerprint.expect("a known runtime");
        assert_eq!((fingerprint.version, fingerprint.code), (told, RuntimeCode::Native), "{name}");
    }
    // Half of a version's markers is not enough.
    let cut: Vec<_> =
        OF_5_3.iter().copied().filter(|name| *name != "caml_plat_latch_wait").collect();
    let bytes = native(&cut, ".", "5.3.0").bytes();
    let ocaml = Executable::read(&bytes).expect("it is whole").ocaml.expect("OCaml");
    assert_eq!((ocaml.fingerprint, ocaml.version()), (None, Some(Version::new(5, 3))));
    let bytes = sample("bare");
    let ocaml = Executable::read(&bytes).expect("it is whole").ocaml.expect("OCaml");
    assert_eq!(ocaml.version(), Some(Version::new(5, 4)));
}

#[test]
fn debug_info_is_known_by_module() {
    for name in ["native_4", "native_5", "static"] {
        let bytes = sample(name);
        let debug_info =
            Executable::read(&bytes).expect("it is whole").debug_info().expect("tables");
        assert_eq!((debug_info.with, debug_info.without.as_slice()), (1, &["Main".to_owned()][..]));
    }
}

#[test]
fn headers_say_how_a_program_is_loaded() {
    let bytes = sample("native_4");
    let Form::Elf(elf) = Executable::read(&bytes).expect("it is whole").form else { panic!("ELF") };
    assert_eq!((elf.bits, elf.machine, elf.purpose), (64, Machine::X86_64, Purpose::Program));
    assert!(elf.is_relocatable && elf.is_stripped && !elf.has_dwarf);
    assert_eq!(elf.loader.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
    assert_eq!(elf.libraries, ["libc.so.6"]);
    assert!(elf.exports("caml_memprof_start") && !elf.exports("readlink"));
    assert!(elf.imports("readlink") && !elf.imports("caml_memprof_start"));

    let bytes = sample("static");
    let Form::Elf(elf) = Executable::read(&bytes).expect("it is whole").form else { panic!("ELF") };
    assert!(elf.loader.is_none() && !elf.is_stripped);
    assert!(elf.defines("caml_memprof_start") && !elf.exports("caml_memprof_start"));
    assert_eq!(elf.purpose, Purpose::Program);

    // A file that can be loaded anywhere and requests no dynamic linker is a library.
    let bytes = ElfFile { loader: None, ..ElfFile::program() }.bytes();
    let Form::Elf(elf) = Executable::read(&bytes).expect("it is whole").form else { panic!("ELF") };
    assert_eq!(elf.purpose, Purpose::Library);

    let bytes = sample("narrow");
    let Form::Elf(elf) = Executable::read(&bytes).expect("it is whole").form else { panic!("ELF") };
    assert_eq!((elf.bits, elf.machine, elf.purpose), (32, Machine::X86, Purpose::Program));
}

#[test]
fn no_damage_makes_a_reader_panic() {
    for (name, bytes) in all() {
        for end in 0..bytes.len() {
            let _ = Executable::read(&bytes[..end]);
        }
        // Whatever a byte is, the file is read or rejected.
        let mut bytes = bytes;
        for at in 0..bytes.len() {
            let was = bytes[at];
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                bytes[at] = value;
                if let Ok(executable) = Executable::read(&bytes) {
                    let with = executable.debug_info().map(|found| found.with);
                    assert!(with.unwrap_or(0) < 10, "{name}: byte {at} as {value}");
                }
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn overlapping_frame_tables_cost_linear_time() {
    // Each name is a table that begins in the middle of one that continues to the end of the file.
    let mut file = ElfFile::program().exporting(OF_4_13);
    let entry = [0_u8; 8].into_iter().chain([16, 0, 0, 0, 0, 0, 0, 0]);
    let mut table = u64::MAX.to_le_bytes().to_vec();
    table.extend(entry.cycle().take(1 << 20));
    for number in 0..20_000 {
        file.exports.push((format!("camlA{number}__frametable"), 0));
    }
    file.data = table;
    let bytes = file.bytes();
    assert_eq!(Executable::read(&bytes).expect("it is whole").debug_info(), None);
}
