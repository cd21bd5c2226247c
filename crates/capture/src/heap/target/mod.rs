//! What is known about a program besides its memory: what is loaded where, with which symbols, and which
//! OCaml it is.
//!
//! Memory shows where objects are loaded: a file is mapped from its beginning, which is an ELF header.
//! Symbols come from the file if it is still the one that was loaded, according to its program headers and
//! its build id; otherwise from what the dynamic linker needs, and which therefore is in memory: all global
//! symbols. Those suffice for nearly everything. The runtime's own static variables have symbols only in an
//! executable that was not stripped. A stripped executable that exports nothing has no symbols at all; then
//! they are recovered from the library that it was linked from, if that is available ([`recovered`]).

mod bytecode;
mod code;
pub(super) mod debug_lines;
mod elf;
pub(crate) mod recovered;
mod symbols;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bactrian_ocaml::heap_layout::HeapLayout;
use bactrian_ocaml::sys_version::{self, Said};
use bactrian_ocaml::{Fingerprint, Runtime, RuntimeCode, Version, fingerprint, versions};

use crate::memory::Memory;
use crate::types::compiler_folders;

pub(crate) use symbols::Table;
pub use symbols::{Symbol, SymbolKind, Symbols};

/// A program, with everything needed to walk its heap.
#[derive(Debug)]
pub struct Target {
    /// The loaded objects, in order of addresses.
    pub objects: Vec<Object>,
    /// The OCaml version of its runtime.
    pub version: Version,
    /// Whether the runtime runs native code or bytecode.
    pub code: RuntimeCode,
    /// The layout of the runtime.
    pub runtime: &'static Runtime,
    /// The layout of roots and spaces.
    pub layout: &'static HeapLayout,
    /// Threads with their registers, if known: for stopped processes and core files.
    pub threads: Vec<Thread>,
    /// The contents of the file with the program's bytecode, if it is bytecode and the file is available.
    pub bytecode: Option<Vec<u8>>,
    /// The path of that file.
    pub bytecode_path: Option<PathBuf>,
    /// The index of the object that contains the runtime.
    runtime_object: usize,
}

/// An object loaded by the dynamic linker: the executable, a library or a plugin.
#[derive(Debug)]
pub struct Object {
    /// The path in the program's memory mappings.
    pub path: PathBuf,
    /// The file's path for us, if it is still the one that was loaded.
    pub file: Option<PathBuf>,
    /// The difference between addresses in memory and in the file.
    pub bias: u64,
    /// Its address range.
    pub range: Range<u64>,
    /// The template of its thread-local variables.
    pub tls: Option<Tls>,
    /// Its symbols.
    pub symbols: Symbols,
    /// Whether symbols of static variables are known, because the file is available and was not stripped.
    pub has_all_symbols: bool,
}

/// The template of thread-local variables (PT_TLS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub alignment: u64,
}

/// A thread whose registers are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's thread id.
    pub id: u32,
    /// The thread pointer (`fs_base`).
    pub thread_pointer: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// The instruction pointer.
    pub instruction: u64,
}

/// Where to find the files that were loaded.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// A prefix for paths in the program's memory mappings: `/proc/PID/root` for another process.
    pub root: Option<PathBuf>,
    /// Additional files to try: the executable that is given with a core, `/proc/PID/exe`.
    pub others: Vec<PathBuf>,
    /// The program's working directory, to which the path of its bytecode may be relative.
    pub folder: Option<PathBuf>,
}

/// Why a heap cannot be walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no OCaml runtime, or none that we recognise.
    NoRuntime,
    /// There is an OCaml runtime without symbols.
    Stripped,
    /// The OCaml version is unknown, or does not match the runtime.
    Version {
        /// The version that the program claims.
        said: Said,
        /// The version that the symbols of its runtime belong to.
        runtime: Version,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::NoRuntime => {
                f.write_str("there is no OCaml runtime in it, or none that is known")
            }
            Unknown::Stripped => {
                f.write_str("it is an OCaml program, but all symbols of its runtime were stripped")
            }
            Unknown::Version { said, runtime } => match Runtime::of(said.version) {
                Some(_) => write!(
                    f,
                    "it says that it is OCaml {}, but its runtime has the symbols of {runtime}: \
                     it is a modified OCaml, which is not supported",
                    said.text
                ),
                None => write!(
                    f,
                    "OCaml {} is not known to this version of Bactrian, which knows {}",
                    said.text,
                    versions(|_| true, "and")
                ),
            },
        }
    }
}

impl Unknown {
    /// Advice for the user.
    pub fn way_out(&self) -> String {
        match self {
            Unknown::Stripped => NAMES.to_owned(),
            Unknown::NoRuntime => "`bactrian doctor` says more about it".to_owned(),
            Unknown::Version { said, .. } if Runtime::of(said.version).is_none() => {
                "A newer Bactrian may know it".to_owned()
            }
            Unknown::Version { .. } => {
                format!("Compile it with OCaml {}", versions(|runtime| runtime.has_sampler, "or"))
            }
        }
    }
}

/// The version that a program claims. Needed because a newer OCaml also has all the symbols of the newest one
/// that we know.
fn said(memory: &dyn Memory, objects: &[Object]) -> Option<Said> {
    let address = |name: &str| {
        objects.iter().find_map(|object| object.symbols.find(name)).map(|symbol| symbol.address)
    };
    let place = sys_version::place(address)?;
    let mut data = vec![0; usize::try_from(place.end - place.start).ok()?];
    memory.read(place.start, &mut data).then_some(())?;
    sys_version::said(&data)
}

/// What gives names to a program that was stripped of them.
pub(crate) const NAMES: &str = "Do not strip it, keep its debug file beside it, or have the \
    ocamlopt that linked it in PATH";

impl std::error::Error for Unknown {}

impl Target {
    /// Examines what is loaded, and which OCaml it is.
    ///
    /// # Errors
    /// If there is no OCaml runtime, or none whose heap we can walk.
    pub fn find(memory: &dyn Memory, files: &Files) -> Result<Target, Unknown> {
        let mut objects = elf::objects(memory, files);
        let (runtime_object, found) = match runtime_among(&objects) {
            Some(found) => found,
            None => {
                let mut stripped =
                    objects.iter_mut().filter(|object| recovered::has_runtime(memory, object));
                let object = stripped.next().ok_or(Unknown::NoRuntime)?;
                let files = files.candidates(&object.path);
                object.symbols = recovered::symbols(memory, object, &files, compiler_folders())
                    .ok_or(Unknown::Stripped)?;
                object.has_all_symbols = true;
                runtime_among(&objects).ok_or(Unknown::Stripped)?
            }
        };
        let said = said(memory, &objects)
            .unwrap_or_else(|| Said { version: found.version, text: found.version.to_string() });
        let version = said.version;
        let unknown = Unknown::Version { said, runtime: found.version };
        let runtime = Runtime::of(version).filter(|_| version == found.version);
        let (runtime, layout) =
            runtime.and_then(|runtime| Some((runtime, runtime.heap.as_ref()?))).ok_or(unknown)?;
        let mut target = Target {
            objects,
            version: found.version,
            code: found.code,
            runtime,
            layout,
            threads: Vec::new(),
            bytecode: None,
            bytecode_path: None,
            runtime_object,
        };
        if found.code == RuntimeCode::Bytecode {
            (target.bytecode_path, target.bytecode) =
                bytecode::file(&target, memory, files).unzip();
        }
        Ok(target)
    }

    /// The object that contains the runtime.
    pub fn runtime_object(&self) -> &Object {
        // `find` has found it at this index.
        &self.objects[self.runtime_object]
    }

    /// The address of a global symbol of the runtime.
    pub fn global(&self, name: &str) -> Option<u64> {
        self.runtime_object().symbols.find(name).map(|symbol| symbol.address)
    }

    /// The address range of the running bytecode; empty for native code.
    pub fn interpreted(&self, memory: &dyn Memory) -> Range<u64> {
        let word = |name: &str| self.global(name).and_then(|at| memory.word(at)).unwrap_or(0);
        match self.code {
            RuntimeCode::Native => 0..0,
            RuntimeCode::Bytecode => {
                let start = word("caml_start_code");
                start..start.saturating_add(word("caml_code_size"))
            }
        }
    }

    /// The address of a static variable, in any object; `file` is its C file without extension. None if the
    /// executable was stripped, or is not available.
    pub fn local(&self, file: &str, name: &str) -> Option<u64> {
        let in_runtime = self.runtime_object().symbols.local(file, name);
        let anywhere = || self.objects.iter().find_map(|object| object.symbols.local(file, name));
        in_runtime.or_else(anywhere).map(|symbol| symbol.address)
    }

    /// The object that contains an address.
    pub fn object_at(&self, address: u64) -> Option<&Object> {
        let after = self.objects.partition_point(|object| object.range.start <= address);
        let object = self.objects.get(after.checked_sub(1)?)?;
        object.range.contains(&address).then_some(object)
    }

    /// The name of the function that contains an address.
    pub fn function_at(&self, address: u64) -> Option<&str> {
        let symbols = &self.object_at(address)?.symbols;
        symbols.function_at(address).map(|symbol| symbols.name(symbol))
    }

    /// The name of the data that contains an address, and the offset within it.
    pub fn data_at(&self, address: u64) -> Option<(&str, u64)> {
        let symbols = &self.object_at(address)?.symbols;
        let symbol = symbols.data_at(address)?;
        Some((symbols.name(symbol), address - symbol.address))
    }
}

/// The object with a runtime that is recognised by its symbols.
fn runtime_among(objects: &[Object]) -> Option<(usize, Fingerprint)> {
    objects.iter().enumerate().find_map(|(at, object)| {
        let has = |name: &str| object.symbols.find(name).is_some();
        fingerprint(has).map(|found| (at, found))
    })
}

impl Tls {
    /// The offset of the end of the variables, which is where the thread pointer points.
    pub fn end(&self) -> u64 {
        self.size.checked_next_multiple_of(self.alignment.max(1)).unwrap_or(self.size)
    }
}

impl Files {
    /// For a process, which may have another root directory.
    pub fn of_process(pid: u32) -> Files {
        let folder = Path::new("/proc").join(pid.to_string());
        Files {
            root: Some(folder.join("root")),
            others: vec![folder.join("exe")],
            folder: Some(folder.join("cwd")),
        }
    }

    /// With relative paths interpreted relative to this directory, as seen by the process.
    pub fn from_folder(mut self, folder: &Path) -> Files {
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        self.folder = Some(self.root.as_deref().unwrap_or(Path::new("/")).join(inside));
        self
    }

    /// Files that may be the object with this path, the likeliest first.
    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        match (path.strip_prefix("/"), &self.root, &self.folder) {
            (Ok(path), Some(root), _) => found.push(root.join(path)),
            (Err(_), _, Some(folder)) => found.push(folder.join(path)),
            _ => found.push(path.to_owned()),
        }
        found.extend(self.others.iter().cloned());
        found
    }
}
