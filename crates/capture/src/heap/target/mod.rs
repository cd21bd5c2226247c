//! What is known of a program besides its memory: what is loaded where, under which names, and which OCaml it is.
//!
//! Memory says where objects are loaded: a file is mapped from its beginning, and what stands there is an ELF
//! header. Names come from the file if it is still the one that was loaded, which its program headers and its
//! build id tell; otherwise from what the dynamic linker needs and therefore is in memory: all global names.
//! Those suffice for nearly everything. The runtime's own static variables have names only in an executable that
//! was not stripped. One that exports nothing and was stripped has no names at all; then they are had from the library
//! that it was linked from, if that is at hand ([`recovered`]).

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
use bactrian_ocaml::{Code, Fingerprint, Runtime, Version, fingerprint, versions};

use crate::memory::Memory;
use crate::types::compiler_folders;

pub(crate) use symbols::Table;
pub use symbols::{Kind, Symbol, Symbols};

/// A program, as far as it must be known to walk its heap.
#[derive(Debug)]
pub struct Target {
    /// What is loaded, in the order of addresses.
    pub objects: Vec<Object>,
    /// The OCaml of its runtime.
    pub version: Version,
    /// What the runtime runs.
    pub code: Code,
    /// How the runtime is laid out.
    pub runtime: &'static Runtime,
    /// Where roots and spaces of the heap are.
    pub layout: &'static HeapLayout,
    /// Threads, where registers are known: of stopped processes and core files.
    pub threads: Vec<Thread>,
    /// The file with the program's bytecode, if that is what it is and the file is at hand.
    pub bytecode: Option<Vec<u8>>,
    /// Where that is.
    pub bytecode_path: Option<PathBuf>,
    /// Which object the runtime is in.
    runtime_object: usize,
}

/// An object that the dynamic linker loaded: the executable, a library, a plugin.
#[derive(Debug)]
pub struct Object {
    /// The file, as the program's memory calls it.
    pub path: PathBuf,
    /// Where we find it, if it is still the one that was loaded.
    pub file: Option<PathBuf>,
    /// How far it was moved from the addresses in the file.
    pub bias: u64,
    /// The addresses it takes.
    pub range: Range<u64>,
    /// The template of its threads' own variables.
    pub tls: Option<Tls>,
    /// Its names.
    pub symbols: Symbols,
    /// Whether names of static variables are known, because the file is at hand and was not stripped.
    pub has_all_symbols: bool,
}

/// The template of variables that each thread has its own of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// How many bytes.
    pub size: u64,
    /// How they are aligned.
    pub alignment: u64,
}

/// A thread whose registers are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's number of it.
    pub id: u32,
    /// The thread's own pointer (`fs_base`).
    pub thread_pointer: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// Where it is in the code.
    pub instruction: u64,
}

/// Where the files are that were loaded.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Put before paths that the program's memory has: `/proc/PID/root` for another process.
    pub root: Option<PathBuf>,
    /// Files to try besides: the executable that is given with a core, `/proc/PID/exe`.
    pub others: Vec<PathBuf>,
    /// The program's working folder, from which it may have been told its bytecode.
    pub folder: Option<PathBuf>,
}

/// Why a heap cannot be walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no OCaml runtime, or none that is known.
    NoRuntime,
    /// There is an OCaml runtime whose names are gone.
    Stripped,
    /// The version of OCaml is not known here, or is not what the runtime is of.
    Version {
        /// What the program says it is.
        said: Said,
        /// What the names of its runtime are of.
        runtime: Version,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::NoRuntime => {
                f.write_str("no OCaml runtime is to be seen in it, or none that is known")
            }
            Unknown::Stripped => {
                f.write_str("it is OCaml, but all names of its runtime were stripped")
            }
            Unknown::Version { said, runtime } => match Runtime::of(said.version) {
                Some(_) => write!(
                    f,
                    "it says that it is OCaml {}, but its runtime has the symbols of {runtime}: a changed OCaml, of which nothing is known",
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
    /// What helps.
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

/// What a program says its version is. A newer OCaml has all names of the newest that is known, too.
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
pub(crate) const NAMES: &str = "Do not strip it, keep its debug file beside it, or have on the PATH the ocamlopt that it was linked by";

impl std::error::Error for Unknown {}

impl Target {
    /// Looks at what is loaded, and which OCaml it is.
    ///
    /// # Errors
    /// If there is no OCaml, or none whose heap can be walked.
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
        if found.code == Code::Bytecode {
            (target.bytecode_path, target.bytecode) =
                bytecode::file(&target, memory, files).unzip();
        }
        Ok(target)
    }

    /// The object that the runtime is in.
    pub fn runtime_object(&self) -> &Object {
        // It was found there.
        &self.objects[self.runtime_object]
    }

    /// The address of a variable or function of the runtime that has a global name.
    pub fn global(&self, name: &str) -> Option<u64> {
        self.runtime_object().symbols.find(name).map(|symbol| symbol.address)
    }

    /// Addresses of the bytecode that runs; empty if native code does.
    pub fn interpreted(&self, memory: &dyn Memory) -> Range<u64> {
        let word = |name: &str| self.global(name).and_then(|at| memory.word(at)).unwrap_or(0);
        match self.code {
            Code::Native => 0..0,
            Code::Bytecode => {
                let start = word("caml_start_code");
                start..start.saturating_add(word("caml_code_size"))
            }
        }
    }

    /// The address of a static variable, in any object; `file` is the C file it is in, without its ending. None if the executable was
    /// stripped, or is not at hand.
    pub fn local(&self, file: &str, name: &str) -> Option<u64> {
        let in_runtime = self.runtime_object().symbols.local(file, name);
        let anywhere = || self.objects.iter().find_map(|object| object.symbols.local(file, name));
        in_runtime.or_else(anywhere).map(|symbol| symbol.address)
    }

    /// The object that an address is in.
    pub fn object_at(&self, address: u64) -> Option<&Object> {
        let after = self.objects.partition_point(|object| object.range.start <= address);
        let object = self.objects.get(after.checked_sub(1)?)?;
        object.range.contains(&address).then_some(object)
    }

    /// The name of the function that an address is in.
    pub fn function_at(&self, address: u64) -> Option<&str> {
        let symbols = &self.object_at(address)?.symbols;
        symbols.function_at(address).map(|symbol| symbols.name(symbol))
    }

    /// The name of what is kept at an address, and how far into it that is.
    pub fn data_at(&self, address: u64) -> Option<(&str, u64)> {
        let symbols = &self.object_at(address)?.symbols;
        let symbol = symbols.data_at(address)?;
        Some((symbols.name(symbol), address - symbol.address))
    }
}

/// The object with a runtime that is known by its names.
fn runtime_among(objects: &[Object]) -> Option<(usize, Fingerprint)> {
    objects.iter().enumerate().find_map(|(at, object)| {
        let has = |name: &str| object.symbols.find(name).is_some();
        fingerprint(has).map(|found| (at, found))
    })
}

impl Tls {
    /// Where the variables end, counted from their beginning; there is the thread's pointer.
    pub fn end(&self) -> u64 {
        self.size.checked_next_multiple_of(self.alignment.max(1)).unwrap_or(self.size)
    }
}

impl Files {
    /// Of this machine, or of a process with another root.
    pub fn of_process(pid: u32) -> Files {
        let folder = Path::new("/proc").join(pid.to_string());
        Files {
            root: Some(folder.join("root")),
            others: vec![folder.join("exe")],
            folder: Some(folder.join("cwd")),
        }
    }

    /// With relative paths from this folder, as the process would call it.
    pub fn from_folder(mut self, folder: &Path) -> Files {
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        self.folder = Some(self.root.as_deref().unwrap_or(Path::new("/")).join(inside));
        self
    }

    /// Files that an object of this path may be, the likeliest first.
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
