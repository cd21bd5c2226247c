//! The addresses that are needed to bring a process to a safe point.

use bactrian_ocaml::{Polling, RuntimeCode, StackLayout};

use super::refusal::{Cause, Refusal};
use super::safe_point::{ENTRIES, Offsets, Places, State};
use crate::heap::target::Target;

impl Places {
    /// Finds them in a known program.
    pub(super) fn of(target: &Target) -> Result<Places, Refusal> {
        let unknown = |what: &str| {
            let reason = format!("its OCaml runtime has no symbol {what}");
            Refusal::new(Cause::Unknown, reason, "Do not strip it")
        };
        let bytes = |word: usize| 8 * word as u64;
        let (state, young_limit, young_alloc_end, action_pending) = match target.runtime.polling {
            Polling::ToEnd { limit, end, .. } => {
                let state = target.global("Caml_state").ok_or_else(|| unknown("Caml_state"))?;
                (State::Global(state), limit, Some(end), None)
            }
            Polling::ToHighest { limit, pending, .. } => {
                let state = thread_offset(target).ok_or_else(|| unknown("caml_state"))?;
                (State::PerThread(state), limit, None, Some(pending))
            }
        };
        let last_call = match target.runtime.stack {
            StackLayout::System { bottom, return_address, .. }
                if target.code == RuntimeCode::Native =>
            {
                Some((bytes(bottom), bytes(return_address)))
            }
            _ => None,
        };
        let entries: Vec<_> = ENTRIES.iter().filter_map(|name| target.global(name)).collect();
        if entries.is_empty() {
            return Err(unknown(ENTRIES[0]));
        }
        Ok(Places {
            state,
            entries,
            something_to_do: target.global("caml_something_to_do"),
            offsets: Offsets {
                young_limit: bytes(young_limit),
                young_alloc_end: young_alloc_end.map(bytes),
                action_pending: action_pending.map(bytes),
                last_call,
            },
        })
    }
}

/// The offset of `caml_state` from the thread pointer: an executable's thread-local variables are right below
/// it.
pub(super) fn thread_offset(target: &Target) -> Option<i64> {
    let object = target.runtime_object();
    let tls = object.tls?;
    let variable = object.symbols.find("caml_state")?.address;
    Some(variable.cast_signed().wrapping_sub(tls.end().cast_signed()))
}
