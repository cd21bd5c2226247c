//! The static library that the OCaml library links: [`bactrian_observe`] with a C interface.
//!
//! Only for the stubs in `ocaml/src`. `ocaml/src/bactrian_observe.h` declares the same in C; change both
//! together.
//!
//! The caller must pass pointers that are valid during the call, and cells and functions that are valid
//! forever.
//!
//! Guarantees: nothing here touches the OCaml heap, blocks for long (except functions that wait by name), or
//! unwinds. Observers are ids; operations on id 0, or on an unknown id, are ignored.
//!
//! Not part of this crate: when and how OCaml evaluates the values it is asked for. The stubs do that.

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

/// Locks, ignoring poisoning: the data behind these locks is consistent at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
