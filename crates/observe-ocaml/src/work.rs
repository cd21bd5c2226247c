//! Gauges, histograms and spans, which count in our memory; the log; and the clients.
#![expect(unsafe_code, reason = "names and texts are pointers")]

use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

use bactrian_live::ObserverKind;
use bactrian_observe::cells::{CountCell, HistogramCell, SpanCell};
use bactrian_observe::{Handle, Origin, clock, server};

use crate::declare::remember;
use crate::texts::{Description, Text};

/// # Safety
/// The name is valid.
unsafe fn declare<T: 'static>(
    kind: ObserverKind,
    name: &Description,
    id: &mut u32,
    cell: impl Fn(&Handle) -> Option<&'static T>,
) -> *const T {
    // SAFETY: the caller's duty.
    let named = unsafe { name.name() };
    let handle = server().declare(kind, named, Origin::Cell);
    let cell = cell(&handle).map_or(ptr::null(), ptr::from_ref);
    *id = remember(kind, handle, false);
    cell
}

/// Declares a gauge and returns its address.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_gauge(
    name: &Description,
    id: &mut u32,
) -> *const CountCell {
    // SAFETY: the caller's duty.
    unsafe { declare(ObserverKind::Gauge, name, id, Handle::count_cell) }
}

/// Sets a gauge.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_gauge_set(gauge: &CountCell, number: f64) {
    gauge.set(number.to_bits());
}

/// Adds to a gauge.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_gauge_add(gauge: &CountCell, number: f64) {
    gauge.update_float(|before| before + number);
}

/// The value of a gauge.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_gauge_get(gauge: &CountCell) -> f64 {
    f64::from_bits(gauge.get())
}

/// Declares a histogram and returns its address.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_histogram(
    name: &Description,
    id: &mut u32,
) -> *const HistogramCell {
    // SAFETY: the caller's duty.
    unsafe { declare(ObserverKind::Histogram, name, id, Handle::histogram_cell) }
}

/// Adds a number to a histogram.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_histogram_record(histogram: &HistogramCell, number: u64) {
    histogram.record(number);
}

/// Declares a span and returns its address.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_span(
    name: &Description,
    id: &mut u32,
) -> *const SpanCell {
    // SAFETY: the caller's duty.
    unsafe { declare(ObserverKind::Span, name, id, Handle::span_cell) }
}

/// Begins an operation and returns its start time.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_span_begin(span: &SpanCell) -> u64 {
    span.begin()
}

/// Ends the operation that began at `begin`.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_span_end(span: &SpanCell, begin: u64) {
    span.end(begin);
}

/// Adds a line to the log.
///
/// # Safety
/// The text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_log(line: Text) {
    // SAFETY: the caller's duty.
    server().log(unsafe { line.as_bytes() });
}

/// Asks clients to stop and look at the next tick.
///
/// # Safety
/// The text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_marker(text: Text) {
    // SAFETY: the caller's duty.
    server().add_marker(&unsafe { text.as_text() });
}

/// The number of clients.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_clients() -> c_int {
    c_int::try_from(server().clients()).unwrap_or(c_int::MAX)
}

/// Blocks until this many clients are connected, or none for -1, for at most `milliseconds`. Returns whether
/// there is nothing more to wait for.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_wait(clients: c_int, milliseconds: u32) -> c_int {
    let longest = Duration::from_millis(milliseconds.into());
    let is_so = match usize::try_from(clients) {
        Ok(count) => server().wait_for_clients_for(count, longest),
        Err(_) => server().wait_for_no_clients(longest),
    };
    c_int::from(is_so)
}

/// Sends all current values to clients. Waits until they have been read, but not for long.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_show() {
    server().show_now();
}

/// The number of ticks so far.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_ticks() -> u64 {
    server().ticks()
}

/// Nanoseconds since the program's start.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_now() -> u64 {
    clock::now()
}
