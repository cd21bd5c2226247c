//! Publishing of values from OCaml.
#![expect(unsafe_code, reason = "texts and trees are pointers")]

use std::ffi::c_int;

use bactrian_live::{Node, ObserverKind, Table, Tree, Value};

use crate::declare::entries;
use crate::lock;
use crate::texts::Text;

fn publish(id: u32, value: impl FnOnce(ObserverKind) -> Value) {
    if let Some(entry) = lock(entries()).get(&id) {
        entry.handle.publish(value(entry.kind));
    }
}

/// Publishes an integer.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_int(id: u32, number: i64) {
    publish(id, |kind| match kind {
        ObserverKind::Counter | ObserverKind::Point => {
            Value::Count(u64::try_from(number).unwrap_or(0))
        }
        _ => Value::Int(number),
    });
}

/// Publishes a floating-point number.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_float(id: u32, number: f64) {
    publish(id, |_| Value::Float(number));
}

/// Publishes a boolean.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_bool(id: u32, truth: c_int) {
    publish(id, |_| Value::Bool(truth != 0));
}

/// Publishes a string.
///
/// # Safety
/// The text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_text(id: u32, text: Text) {
    // SAFETY: the caller's duty.
    let text = unsafe { text.as_text() };
    publish(id, |_| Value::Text(text.into_owned()));
}

/// Publishes the number and the bytes of live tagged values; a negative number is not observed.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_tag(id: u32, count: i64, bytes: i64) {
    let [count, bytes] = [count, bytes].map(|number| u64::try_from(number).ok());
    publish(id, |_| Value::Tag { count, bytes });
}

/// Publishes the statistics of a hash table.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_table(
    id: u32,
    buckets: u64,
    bindings: u64,
    empty: u64,
    longest: u64,
) {
    publish(id, |_| Value::Table(Table { buckets, bindings, empty, longest }));
}

/// Publishes that the value could not be evaluated, with the reason.
///
/// # Safety
/// The text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_failed(id: u32, why: Text) {
    // SAFETY: the caller's duty.
    let why = unsafe { why.as_text() };
    publish(id, |_| Value::Failed(why.into_owned()));
}

/// Creates a tree without nodes.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_tree() -> *mut Tree {
    Box::into_raw(Box::default())
}

/// Adds a node.
///
/// # Safety
/// The tree was made by [`bactrian_observe_tree`] and not published; the text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_tree_node(tree: &mut Tree, label: Text) {
    // SAFETY: the caller's duty.
    let label = unsafe { label.as_text() }.into_owned();
    tree.nodes.push(Node { label, children: Vec::new() });
}

/// Adds a child to an existing node.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_tree_child(tree: &mut Tree, parent: u32, child: u32) {
    if let Some(node) = tree.nodes.get_mut(parent as usize) {
        node.children.push(child);
    }
}

/// Publishes a tree and frees it.
///
/// # Safety
/// The tree was made by [`bactrian_observe_tree`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_tree_publish(id: u32, tree: *mut Tree) {
    // SAFETY: the caller's duty.
    let tree = unsafe { Box::from_raw(tree) };
    publish(id, |_| Value::Tree(*tree));
}
