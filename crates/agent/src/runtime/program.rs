//! The OCaml program around us: its runtime's entry points, found by name, and what its version implies.

use core::ffi::c_char;
use core::ops::ControlFlow;

use bactrian_agent_abi::control::PAUSE_HOOKS;
use bactrian_agent_os::loaded::{self, Object};
use bactrian_agent_os::sys;
use bactrian_ocaml::sys_version::{self, Said};
use bactrian_ocaml::{
    InterpreterLayout, LocationLayout, Runtime, RuntimeCode, StackLayout, Version, value,
};

use super::collector::Collector;
use super::frames::Finder;
use super::interpreter::{CodeTable, Interpreter};

/// The OCaml runtime of the program.
pub struct Program {
    pub version: Version,
    pub runtime: &'static Runtime,
    /// The variable with the pointer to the domain state: its address, or in OCaml 5, where it is
    /// thread-local, its offset from the thread pointer. The pointer is null before start-up.
    state: usize,
    pub code: ProgramCode,
    /// None in versions of OCaml without Gc.Memprof: those have these functions, but they raise an exception.
    pub sampler: Option<Sampler>,
    /// `caml_register_global_root` and `caml_remove_global_root`.
    pub register_root: extern "C" fn(place: *mut usize),
    pub remove_root: extern "C" fn(place: *mut usize),
    /// `caml_runtime_parameters`: returns a string with everything that `OCAMLRUNPARAM` can set.
    runtime_parameters: Option<extern "C" fn(unit: usize) -> usize>,
    /// `caml_callback_exn`: calls an OCaml function, and returns its exception, if any.
    pub callback: Option<extern "C" fn(closure: usize, argument: usize) -> usize>,
    debuginfo_extract: extern "C" fn(slot: usize) -> usize,
    debuginfo_next: extern "C" fn(info: usize) -> usize,
    debuginfo_location: extern "C" fn(info: usize, location: *mut RawLocation),
    /// What it takes to collect the stacks of samples ourselves.
    pub collection: Option<Collection>,
    /// What it takes to snapshot the heap.
    pub collector: Option<Collector>,
    /// The addresses of OCaml 4's hooks around minor collections and slices of major ones, in the order of
    /// [`PAUSE_HOOKS`].
    pub pause_hooks: Option<[usize; PAUSE_HOOKS.len()]>,
    /// `caml_enter_blocking_section_hook`: called when OCaml is left for a system call.
    pub blocking_hook: Option<usize>,
}

/// The runtime's sampler.
pub struct Sampler {
    /// `caml_memprof_start`.
    pub start: extern "C" fn(rate: usize, depth: usize, tracker: usize) -> usize,
    /// `caml_memprof_stop`.
    pub stop: extern "C" fn(unit: usize) -> usize,
    /// `caml_memprof_is_sampling`, since 5.5: `fn(unit) -> bool`.
    pub is_sampling: Option<usize>,
    /// `caml_memprof_handle_postponed_exn` of OCaml 4: runs the callbacks of all pending samples.
    pub tell: Option<extern "C" fn() -> usize>,
}

impl Sampler {
    fn of(object: &Object) -> Option<Sampler> {
        let find = |name| object.find(name);
        // SAFETY: these functions have these types in every version of the table of runtimes that has a
        // sampler.
        unsafe {
            Some(Sampler {
                start: loaded::function(find("caml_memprof_start")?),
                stop: loaded::function(find("caml_memprof_stop")?),
                is_sampling: find("caml_memprof_is_sampling"),
                tell: find("caml_memprof_handle_postponed_exn")
                    .map(|function| loaded::function(function)),
            })
        }
    }
}

/// The number of domains that are recorded; OCaml 5 allows 128 unless told otherwise.
pub const DOMAINS: usize = 1024;

/// The kind of the program's code, and how it calls C.
pub enum ProgramCode {
    Native {
        /// `caml_c_call`.
        c_call: usize,
    },
    Bytecode(Interpreter),
}

/// The runtime's function that collects stacks for its sampler, and what it takes to do its work.
pub struct Collection {
    /// `caml_collect_current_callstack` of OCaml 4, `caml_get_callstack` of OCaml 5.
    pub function: usize,
    pub frames: Frames,
    /// The runtime's realloc, for memory that the runtime will free.
    pub resize: extern "C" fn(block: *mut usize, bytes: usize) -> *mut usize,
}

/// How to find frames on a stack.
#[derive(Clone, Copy)]
pub enum Frames {
    Native(Finder, StackLayout),
    Bytecode(CodeTable, InterpreterLayout),
}

impl Collection {
    fn of(object: &Object, code: RuntimeCode, runtime: &Runtime) -> Option<Collection> {
        let find = |name| object.find(name);
        let function = match find("caml_get_callstack") {
            Some(function) => function,
            None => find("caml_collect_current_callstack")?,
        };
        let frames = match code {
            RuntimeCode::Native => Frames::Native(finder(object)?, runtime.stack),
            RuntimeCode::Bytecode => {
                Frames::Bytecode(CodeTable::of(object)?, runtime.interpreter_layout()?)
            }
        };
        // SAFETY: it has this type in every version of the table of runtimes.
        let resize = unsafe { loaded::function(find("caml_stat_resize_noexc")?) };
        Some(Collection { function, frames, resize })
    }
}

/// The version that the program's Sys module contains.
fn said(object: &Object) -> Option<Said> {
    let place = sys_version::place(|name| object.find(name).map(|address| address as u64))?;
    let (start, length) = (place.start as usize, (place.end - place.start) as usize);
    // SAFETY: the data of a module, which lies between these symbols.
    sys_version::said(unsafe { core::slice::from_raw_parts(start as *const u8, length) })
}

/// How to find the frame descriptors of native code.
fn finder(object: &Object) -> Option<Finder> {
    let find = |name| object.find(name);
    if let Some(tables) = find("caml_get_frame_descrs") {
        let descriptor = find("caml_find_frame_descr")?;
        // SAFETY: functions of these types in every version of the table of runtimes.
        return Some(unsafe {
            Finder::Functions {
                tables: loaded::function(tables),
                find: loaded::function(descriptor),
            }
        });
    }
    Some(Finder::Table {
        table: find("caml_frame_descriptors")? as *const _,
        mask: find("caml_frame_descriptors_mask")? as *const usize,
    })
}

/// The hooks around pauses, in the order of [`PAUSE_HOOKS`], if there is only one domain.
fn pause_hooks(object: &Object, version: Version) -> Option<[usize; PAUSE_HOOKS.len()]> {
    if Runtime::of(version)?.domain_id.is_some() {
        return None;
    }
    let mut variables = [0; PAUSE_HOOKS.len()];
    for (variable, name) in variables.iter_mut().zip(PAUSE_HOOKS) {
        *variable = object.find(name)?;
    }
    Some(variables)
}

/// The runtime's record of a location, in the longer of its two forms.
#[repr(C)]
#[derive(Default)]
struct RawLocation {
    valid: i32,
    is_raise: i32,
    file: usize,
    function: usize,
    numbers: [i32; 8],
}

/// A source location as reported by the runtime. Its strings live as long as the program.
pub struct DebugLocation {
    pub file: &'static [u8],
    pub function: &'static [u8],
    pub line: u32,
    pub start_char: u32,
    pub end_char: u32,
}

impl Program {
    /// Finds the OCaml runtime among the loaded objects.
    pub fn find() -> Option<Program> {
        let mut program = None;
        loaded::each(|object| {
            program = Program::of(object);
            if program.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        program
    }

    fn of(object: &Object) -> Option<Program> {
        let found = bactrian_ocaml::fingerprint(|name| object.find(name).is_some())?;
        let version = found.version;
        // A newer OCaml also has all the symbols of the newest one that we know.
        if said(object).is_some_and(|said| said.version != version) {
            return None;
        }
        let runtime = Runtime::of(version)?;
        let find = |name| object.find(name);
        // SAFETY: these functions have these types in every version of the table of runtimes.
        unsafe {
            Some(Program {
                version,
                runtime,
                state: match find("caml_state") {
                    Some(own) => own.wrapping_sub(sys::thread_pointer()),
                    None => find("Caml_state")?,
                },
                code: match found.code {
                    RuntimeCode::Native => ProgramCode::Native { c_call: find("caml_c_call")? },
                    RuntimeCode::Bytecode => ProgramCode::Bytecode(Interpreter::of(object)?),
                },
                sampler: match runtime.has_sampler {
                    true => Some(Sampler::of(object)?),
                    false => None,
                },
                register_root: loaded::function(find("caml_register_global_root")?),
                remove_root: loaded::function(find("caml_remove_global_root")?),
                runtime_parameters: find("caml_runtime_parameters")
                    .map(|function| loaded::function(function)),
                callback: find("caml_callback_exn").map(|function| loaded::function(function)),
                debuginfo_extract: loaded::function(find("caml_debuginfo_extract")?),
                debuginfo_next: loaded::function(find("caml_debuginfo_next")?),
                debuginfo_location: loaded::function(find("caml_debuginfo_location")?),
                collection: match runtime.has_sampler {
                    true => Collection::of(object, found.code, runtime),
                    false => None,
                },
                collector: Collector::of(object, version),
                pause_hooks: pause_hooks(object, version),
                blocking_hook: find("caml_enter_blocking_section_hook"),
            })
        }
    }

    /// The state of the domain that runs on this thread; null before start-up, and in threads that do not run
    /// OCaml code.
    #[inline]
    pub fn state(&self) -> *const usize {
        let own = if self.runtime.domain_id.is_some() { sys::thread_pointer() } else { 0 };
        // SAFETY: a variable of the program, this thread's own if it is thread-local.
        unsafe { *(own.wrapping_add(self.state) as *const *const usize) }
    }

    /// Makes this thread run the domain with this state, in OCaml 5.
    ///
    /// # Safety
    /// Only in a frozen copy, where OCaml code never runs again.
    pub unsafe fn become_domain(&self, state: *const usize) {
        if self.runtime.domain_id.is_some() {
            let own = sys::thread_pointer().wrapping_add(self.state) as *mut *const usize;
            // SAFETY: this thread's own variable.
            unsafe { *own = state };
        }
    }

    /// Calls `f` with the runtime's parameters, or with None if the runtime does not report them. It reports
    /// them in a string in the minor heap, which is deallocated again: the program finds its heap and its
    /// counters as they would be without us.
    ///
    /// # Safety
    /// The runtime is initialised, no OCaml code runs yet, no sampler is running, and `f` does not call the runtime.
    pub unsafe fn with_parameters(&self, f: impl FnOnce(Option<&[u8]>)) {
        /// An upper bound for the length of the string, in words.
        const MOST: usize = 64;
        let (Some(parameters), Some(layout)) = (self.runtime_parameters, self.runtime.heap) else {
            return f(None);
        };
        // SAFETY: by the caller and the table of layouts. The minor heap is used from its end downwards, and
        // there is nothing below what is in use. A block has its header before it; the last byte of a string
        // is the number of padding bytes before it.
        unsafe {
            let state = self.state().cast_mut();
            let young = state.add(layout.state.young_pointer).cast::<*mut usize>();
            let before = *young;
            if (before as usize) < *state.add(layout.state.young_start) + size_of::<[usize; MOST]>()
            {
                return f(None);
            }
            let unused = before.sub(MOST).cast::<[usize; MOST]>();
            let contents = *unused;
            let string = parameters(value::UNIT) as *const usize;
            let words = value::header_words(*string.sub(1));
            let bytes =
                core::slice::from_raw_parts(string.cast::<u8>(), words * size_of::<usize>());
            let padding = bytes.last().copied().unwrap_or(0);
            f(bytes.get(..bytes.len().saturating_sub(1 + usize::from(padding))));
            // Only if nothing but the string was allocated, just there.
            if words < MOST && string.add(words) == before && string.sub(1) == *young {
                // The debug runtime checks the contents of unused memory.
                *unused = contents;
                *young = before;
            }
        }
    }

    /// What the trace records for a slot of a callstack: an instruction of the program's bytecode, or an
    /// address.
    #[inline]
    pub fn frame_code(&self, slot: usize) -> u64 {
        if let ProgramCode::Bytecode(interpreter) = &self.code {
            let (start, size) = interpreter.code();
            let offset = slot.wrapping_sub(start);
            if offset <= size {
                return bactrian_trace::bytecode_code(offset as u64 / 4);
            }
        }
        slot as u64
    }

    /// Whether the program is bytecode.
    #[inline]
    pub fn is_bytecode(&self) -> bool {
        matches!(self.code, ProgramCode::Bytecode(_))
    }

    /// The interpreter, if the program is bytecode.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        match &self.code {
            ProgramCode::Native { .. } => None,
            ProgramCode::Bytecode(interpreter) => Some(interpreter),
        }
    }

    /// The number of the domain with this state.
    ///
    /// # Safety
    /// `state` points to a domain state.
    #[inline]
    pub unsafe fn domain(&self, state: *const usize) -> usize {
        // SAFETY: by the caller and the table of runtimes. The field is an int.
        self.runtime.domain_id.map_or(0, |at| unsafe { *state.add(at) as u32 as usize })
    }

    /// The sampler's configuration of a domain (OCaml 5): a block with the fields of
    /// `heap_layout::configuration`. None if it never had a sampler, or the layout is not known.
    ///
    /// # Safety
    /// `state` points to the state of this thread's domain, and this thread may run OCaml code.
    pub unsafe fn sampler_configuration(&self, state: *const usize) -> Option<*const usize> {
        let heap = self.runtime.heap.as_ref()?;
        let (word, domain) = (heap.state.memprof?, heap.memprof.as_ref()?.domain.as_ref()?);
        // SAFETY: by the caller and the table of runtimes.
        let configuration = unsafe {
            let sampler = *state.add(word) as *const usize;
            if sampler.is_null() {
                return None;
            }
            *sampler.add(domain.table + domain.configuration)
        };
        value::is_block(configuration).then_some(configuration as *const usize)
    }

    /// Calls `each` with the locations of a slot of a callstack, innermost first.
    ///
    /// # Safety
    /// The slot is the runtime's, or at least points into a loaded object.
    pub unsafe fn locations(&self, slot: usize, mut each: impl FnMut(DebugLocation)) {
        let mut info = (self.debuginfo_extract)(slot);
        while info != 0 {
            let mut raw = RawLocation::default();
            (self.debuginfo_location)(info, &mut raw);
            if raw.valid != 0 {
                // SAFETY: the runtime's names are static strings.
                let name = |address: usize| unsafe {
                    sys::text(address as *const c_char).unwrap_or_default()
                };
                let [line, first, second, third, ..] = raw.numbers;
                // For a range of several lines, the end column is on the last line and says little: an end
                // before the start would only confuse.
                let end = match self.runtime.location {
                    LocationLayout::OneLine => second,
                    LocationLayout::TwoLines if second == line => third,
                    LocationLayout::TwoLines => raw.numbers[4],
                };
                let positive = |n: i32| u32::try_from(n).unwrap_or(u32::MAX);
                each(DebugLocation {
                    file: name(raw.file),
                    function: name(raw.function),
                    line: positive(line),
                    start_char: positive(first),
                    end_char: positive(end),
                });
            }
            info = (self.debuginfo_next)(info);
        }
    }
}
