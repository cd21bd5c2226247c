//! Gauges, histograms and spans, which count in memory of ours; the log, and who watches.
#![expect(unsafe_code, reason = "names and texts are pointers")]

use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

use bactrian_live::Kind;
use bactrian_observe::cells::{CountCell, HistogramCell, SpanCell};
use bactrian_observe::{Handle, Origin, clock, server};

use crate::declare::remember;
use crate::texts::{Description, Text};

/// # Safety
/// The name is valid.
unsafe fn declare<T: 'static>(
    kind: Kind,
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

/// Declares a gauge, and says where it is.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_gauge(
    name: &Description,
    id: &mut u32,
) -> *const CountCell {
    // SAFETY: the caller's duty.
    unsafe { declare(Kind::Gauge, name, id, Handle::count_cell) }
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

/// What a gauge says.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_gauge_get(gauge: &CountCell) -> f64 {
    f64::from_bits(gauge.get())
}

/// Declares a histogram, and says where it is.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_histogram(
    name: &Description,
    id: &mut u32,
) -> *const HistogramCell {
    // SAFETY: the caller's duty.
    unsafe { declare(Kind::Histogram, name, id, Handle::histogram_cell) }
}

/// Takes a number into a histogram.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_histogram_record(histogram: &HistogramCell, number: u64) {
    histogram.record(number);
}

/// Declares a span, and says where it is.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_span(
    name: &Description,
    id: &mut u32,
) -> *const SpanCell {
    // SAFETY: the caller's duty.
    unsafe { declare(Kind::Span, name, id, Handle::span_cell) }
}

/// A piece of work begins. Says when.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_span_begin(span: &SpanCell) -> u64 {
    span.begin()
}

/// A piece of work ends that began then.
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

/// Asks whoever watches to stop and look, with the next tick.
///
/// # Safety
/// The text is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_marker(text: Text) {
    // SAFETY: the caller's duty.
    server().add_marker(&unsafe { text.as_text() });
}

/// How many clients watch.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_clients() -> c_int {
    c_int::try_from(server().clients()).unwrap_or(c_int::MAX)
}

/// Waits until so many clients watch, or none for -1, but no longer than this. Says whether there is nothing more to
/// wait for.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_wait(clients: c_int, milliseconds: u32) -> c_int {
    let longest = Duration::from_millis(milliseconds.into());
    let is_so = match usize::try_from(clients) {
        Ok(count) => server().wait_for_clients_for(count, longest),
        Err(_) => server().wait_for_no_clients(longest),
    };
    c_int::from(is_so)
}

/// Shows all values as they are now. Waits until they have been put down, but not for long.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_show() {
    server().show_now();
}

/// How many ticks there were.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_ticks() -> u64 {
    server().ticks()
}

/// Nanoseconds since the program's start.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_now() -> u64 {
    clock::now()
}
