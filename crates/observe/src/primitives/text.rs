//! Log lines and markers.

use std::fmt;

use crate::server::server;

/// Adds a line to the log that clients see. Takes the same arguments as `format!`.
///
/// ```
/// bactrian_observe::log!("{} of {}", 3, 10);
/// ```
#[macro_export]
macro_rules! log {
    ($($arguments:tt)*) => {
        $crate::log_line(::core::format_args!($($arguments)*))
    };
}

/// Adds a line to the log; called through [`log!`](crate::log!).
pub fn log_line(line: fmt::Arguments<'_>) {
    server().log_format(line);
}

/// Asks clients to stop here and look.
pub fn marker(text: &str) {
    server().marker(text);
}

/// Blocks until `count` clients are connected.
pub fn wait_for_clients(count: usize) {
    server().wait_for_clients(count);
}
