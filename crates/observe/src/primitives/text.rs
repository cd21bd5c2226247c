//! What a program says to whoever watches.

use std::fmt;

use crate::server::server;

/// Adds a line to the log that clients see. Takes what `format!` takes.
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

/// Adds a line to the log; [`log!`](crate::log!) is how to call it.
pub fn log_line(line: fmt::Arguments<'_>) {
    server().log_format(line);
}

/// Asks whoever watches to stop here and look.
pub fn marker(text: &str) {
    server().marker(text);
}

/// Waits until so many clients watch.
pub fn wait_for_clients(count: usize) {
    server().wait_for_clients(count);
}
