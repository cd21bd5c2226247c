//! What the OCaml library links with: [`bactrian_observe`] for C.
//!
//! For: the stubs in `ocaml/src`, and nobody else. `ocaml/src/bactrian_observe.h` says the same in C; both are changed
//! together.
//!
//! The caller owes: pointers that are valid for the time of a call, and cells and functions that are valid for ever.
//!
//! Promises: nothing here touches OCaml's heap, blocks for long (but for what is called waiting), or unwinds. Observers
//! are numbers; what is done to number 0, or to one that is not there, is ignored.
//!
//! Left out: when and how OCaml evaluates what it is asked for. That is in the stubs.

mod asked;
mod declare;
mod publish;
mod texts;
mod work;

pub use asked::{
    bactrian_observe_again, bactrian_observe_is_asked, bactrian_observe_is_stopped,
    bactrian_observe_next, bactrian_observe_spent, bactrian_observe_start,
};
pub use declare::{
    bactrian_observe_asked, bactrian_observe_asked_of_runtime, bactrian_observe_collected,
    bactrian_observe_count, bactrian_observe_kill, bactrian_observe_published,
    bactrian_observe_set_period, bactrian_observe_time,
};
pub use publish::{
    bactrian_observe_bool, bactrian_observe_failed, bactrian_observe_float, bactrian_observe_int,
    bactrian_observe_table, bactrian_observe_tag, bactrian_observe_text, bactrian_observe_tree,
    bactrian_observe_tree_child, bactrian_observe_tree_node, bactrian_observe_tree_publish,
};
pub use texts::{Description, Text};
pub use work::{
    bactrian_observe_clients, bactrian_observe_gauge, bactrian_observe_gauge_add,
    bactrian_observe_gauge_get, bactrian_observe_gauge_set, bactrian_observe_histogram,
    bactrian_observe_histogram_record, bactrian_observe_log, bactrian_observe_marker,
    bactrian_observe_now, bactrian_observe_show, bactrian_observe_span,
    bactrian_observe_span_begin, bactrian_observe_span_end, bactrian_observe_ticks,
    bactrian_observe_wait,
};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not close: what is behind it is whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
