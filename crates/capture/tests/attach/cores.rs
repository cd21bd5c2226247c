//! Core files must give the same roots as the process that they come from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_capture::heap::roots::{self, RootHolder};
use bactrian_capture::heap::target::{Files, Target};
use bactrian_capture::memory::{Bytes, Core, Memory, ProcessMemory};

use bactrian_fixtures::{Compiler, Variant, until_it_reads};

use crate::running::Running;
use crate::{core_file, programs};

/// The slots of roots, and their values.
fn found(memory: &dyn Memory, target: &Target) -> BTreeSet<(u64, u64)> {
    let found = roots::find(target, memory, None);
    let is_named = |place: RootHolder| place != RootHolder::Unknown;
    found
        .roots
        .iter()
        .filter(|root| is_named(root.place))
        .map(|root| (root.slot, root.value))
        .collect()
}

fn of_core(core: &Path, executable: &Path) -> (Core, BTreeSet<(u64, u64)>) {
    let core = Core::open(core, executable).unwrap_or_else(|error| panic!("{error}"));
    assert!(!core.threads().is_empty());
    let mut target = Target::find(&core, &core.files()).expect("OCaml");
    target.threads = core.threads().to_vec();
    let found = found(&core, &target);
    (core, found)
}

/// Makes the kernel dump core, if it writes core files to the current directory.
fn kernel_core(running: &mut Running, folder: &Path) -> Option<PathBuf> {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").ok()?;
    if pattern.trim() != "core" {
        eprintln!("not tried: cores of the kernel, which go to {pattern}");
        return None;
    }
    let pid = running.pid();
    let mut limit = Command::new("prlimit");
    let status =
        limit.args(["--core=unlimited:unlimited", "--pid"]).arg(pid.to_string()).status().ok()?;
    let folder_of_program = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    assert!(status.success());
    running.abort();
    let names = [format!("core.{pid}"), "core".to_owned()];
    let made = names.iter().map(|name| folder_of_program.join(name)).find(|path| path.exists())?;
    let kept = folder.join("kernel.core");
    fs::rename(made, &kept).ok()?;
    Some(kept)
}

fn gcore(pid: u32, folder: &Path) -> Option<PathBuf> {
    let made =
        Command::new("gcore").arg("-o").arg(folder.join("gcore")).arg(pid.to_string()).output();
    let Ok(output) = made else {
        eprintln!("not tried: gcore is not there");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.join(format!("gcore.{pid}")))
}

fn check(name: &str, source: &str, compiler: Compiler, variant: Variant) {
    let folder = tempfile::tempdir().expect("room");
    let mut running = Running::start_in(name, source, compiler, variant, folder.path());
    until_it_reads(running.pid());
    let memory = ProcessMemory::open(running.pid()).expect("its memory");
    let target = Target::find(&memory, &Files::of_process(running.pid())).expect("OCaml");
    let live = found(&memory, &target);
    // Bytecode is run by a separate executable.
    let executable = fs::read_link(format!("/proc/{}/exe", running.pid())).expect("it runs");
    assert!(live.len() > 10, "{}", live.len());
    let mut cores = Vec::from_iter(gcore(running.pid(), folder.path()));
    cores.extend(kernel_core(&mut running, folder.path()));
    assert!(!cores.is_empty(), "neither gcore nor the kernel made a core");
    for core in cores {
        let (read, roots) = of_core(&core, &executable);
        assert_eq!(read.gaps(), Vec::<String>::new(), "{}", core.display());
        if variant != Variant::Stripped || compiler == Compiler::OCaml4 {
            let missing: Vec<_> = live.difference(&roots).take(5).collect();
            assert!(missing.is_empty(), "{}: {missing:x?}", core.display());
        }
        cut(&core, &executable, folder.path());
        let error = Core::open(&core, Path::new("/bin/sh")).expect_err("another program");
        assert!(error.to_string().contains("it is not the program of this core"), "{error}");
    }
}

/// A truncated core file is read as far as it goes, and reports the truncation.
fn cut(core: &Path, executable: &Path, folder: &Path) {
    let length = fs::metadata(core).expect("there").len();
    let shorter = folder.join("cut.core");
    fs::copy(core, &shorter).expect("room");
    let file = fs::OpenOptions::new().write(true).open(&shorter).expect("ours");
    for part in [9, 5, 2, 1, 0] {
        file.set_len(length * part / 10).expect("shorter");
        match Core::open(&shorter, executable) {
            Ok(read) => {
                let gaps = read.gaps().join("\n");
                assert!(gaps.contains("the core file is truncated"), "{part}: {gaps}");
                if let Ok(target) = Target::find(&read, &read.files()) {
                    let _ = found(&read, &target);
                }
            }
            Err(error) => assert_eq!(part, 0, "{error}"),
        }
    }
}

#[test]
fn cores_have_the_roots_of_their_process() {
    check("core_reading", programs::READING, Compiler::OCaml4, Variant::Plain);
    check("core_reading", programs::READING, Compiler::OCaml4, Variant::Stripped);
    check("core_reading", programs::READING, Compiler::OCaml5, Variant::Plain);
    check("core_reading", programs::READING, Compiler::OCaml5, Variant::Stripped);
    check("core_reading", programs::READING, Compiler::OCaml4, Variant::Bytecode);
}

#[test]
fn files_that_are_not_cores_are_refused() {
    for (path, part) in
        [("/bin/sh", "not a core file"), ("/nowhere", "No such file"), ("/", "not a file")]
    {
        let error = Core::open(Path::new(path), Path::new("/bin/sh")).expect_err("no core");
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn nowhere(_: &Path) -> Option<Box<dyn Bytes>> {
    None
}

#[test]
fn pages_that_were_not_dumped_come_from_the_executable() {
    let (core, executable) = (Box::new(core_file::core()), Box::new(core_file::executable()));
    let core = Core::read(core, executable, &nowhere).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    assert_eq!(core.gaps(), Vec::<String>::new());
    let thread = core.threads().first().expect("one");
    assert_eq!((thread.id, thread.instruction, thread.stack_pointer), (77, 116, 119));
    assert_eq!(thread.thread_pointer, 121);
    assert_eq!((core.pid(), core.cut()), (Some(76), None));
    assert_eq!(core.word(core_file::HEAP), Some(0x1111_1111_1111_1111));
    assert_eq!(core.word(core_file::BASE + 4096), Some(0xc3c3_c3c3_c3c3_c3c3));
    // Across the border of both.
    assert_eq!(core.word(core_file::BASE + 4092), Some(0xc3c3_c3c3_0000_0000));
    assert_eq!(core.word(core_file::HEAP + 4090), None);
    let mut other = core_file::executable();
    other[100] ^= 1;
    let wrong = Core::read(Box::new(core_file::core()), Box::new(other), &nowhere);
    assert!(wrong.expect_err("another program").is_executable);
}

/// Whatever bytes a core file contains, reading it terminates.
#[test]
fn damaged_cores_never_panic() {
    let sound = core_file::core();
    // Only headers and notes are interpreted.
    let telling = sound.len() - 2 * 4096;
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut readable = 0;
    for _ in 0..10_000 {
        let mut bytes = sound.clone();
        for _ in 0..=random(4) {
            let at = random(telling.min(900));
            bytes[at] = match random(3) {
                0 => 0xff,
                1 => 0,
                _ => random(256) as u8,
            };
        }
        if random(4) == 0 {
            bytes.truncate(random(sound.len()));
        }
        let find = |_: &Path| -> Option<Box<dyn Bytes>> { Some(Box::new(core_file::executable())) };
        let read = Core::read(Box::new(bytes), Box::new(core_file::executable()), &find);
        let Ok(core) = read else { continue };
        readable += 1;
        assert!(core.regions().is_sorted_by_key(|region| region.range.start));
        for region in core.regions() {
            let _ = (core.word(region.range.start), core.word(region.range.end.wrapping_sub(4)));
        }
    }
    assert!(readable > 1000, "{readable}");
}
