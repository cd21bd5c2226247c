//! The OCaml program around us: its runtime's entry points, found by name, and what its version implies.

use core::ffi::c_char;
use core::ops::ControlFlow;

use bactrian_ocaml::{LocationLayout, Runtime, Version};

use crate::loaded::{self, Object};

/// A program's OCaml runtime.
pub struct Program {
    pub version: Version,
    pub runtime: &'static Runtime,
    /// Where the pointer to the (main thread's) domain state is; null in there before start-up.
    state: usize,
    /// `caml_c_call`, by which OCaml calls C.
    pub c_call: usize,
    pub memprof_start: extern "C" fn(rate: usize, depth: usize, tracker: usize) -> usize,
    pub memprof_stop: extern "C" fn(unit: usize) -> usize,
    debuginfo_extract: extern "C" fn(slot: usize) -> usize,
    debuginfo_next: extern "C" fn(info: usize) -> usize,
    debuginfo_location: extern "C" fn(info: usize, location: *mut RawLocation),
    /// `caml_enter_blocking_section_hook`: called when OCaml is left for a system call.
    pub blocking_hook: Option<usize>,
}

/// The runtime's record of a location, the longer of its two forms.
#[repr(C)]
#[derive(Default)]
struct RawLocation {
    valid: i32,
    is_raise: i32,
    file: usize,
    function: usize,
    numbers: [i32; 8],
}

/// A source location as the runtime tells it. Names live as long as the program.
pub struct DebugLocation {
    pub file: &'static [u8],
    pub function: &'static [u8],
    pub line: u32,
    pub start_char: u32,
    pub end_char: u32,
}

impl Program {
    /// Looks for an OCaml runtime among what is loaded.
    pub fn find() -> Option<Program> {
        let mut program = None;
        loaded::each(|object| {
            program = Program::of(object);
            if program.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        program
    }

    fn of(object: &Object) -> Option<Program> {
        object.find("caml_memprof_start")?;
        object.find("caml_start_program")?;
        let version = if object.find("caml_domain_spawn").is_some() {
            Version::new(5, 3)
        } else {
            Version::new(4, 13)
        };
        let find = |name| object.find(name);
        // SAFETY: these functions have these types in every version of the table of runtimes.
        unsafe {
            Some(Program {
                version,
                runtime: Runtime::of(version)?,
                state: find("caml_state").or_else(|| find("Caml_state"))?,
                c_call: find("caml_c_call")?,
                memprof_start: core::mem::transmute(find("caml_memprof_start")?),
                memprof_stop: core::mem::transmute(find("caml_memprof_stop")?),
                debuginfo_extract: core::mem::transmute(find("caml_debuginfo_extract")?),
                debuginfo_next: core::mem::transmute(find("caml_debuginfo_next")?),
                debuginfo_location: core::mem::transmute(find("caml_debuginfo_location")?),
                blocking_hook: find("caml_enter_blocking_section_hook"),
            })
        }
    }

    /// Whether the runtime is initialised, asked on the main thread.
    pub fn is_ready(&self) -> bool {
        // SAFETY: a variable of the program, this thread's own if it is thread-local.
        unsafe { *(self.state as *const usize) != 0 }
    }

    /// The number of the domain whose state this is.
    ///
    /// # Safety
    /// `state` points to a domain state.
    #[inline]
    pub unsafe fn domain(&self, state: *const usize) -> usize {
        // SAFETY: by the caller and the table of runtimes. The field is an int.
        self.runtime.domain_id.map_or(0, |at| unsafe { *state.add(at) as u32 as usize })
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
                    crate::sys::text(address as *const c_char).unwrap_or_default()
                };
                let [line, first, second, third, ..] = raw.numbers;
                // On several lines, the characters of the last line say little: an end before the
                // start would only confuse.
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
