//! What a program writes to be observed. Everything here is observed by the program's [`server()`].

mod numbers;
mod passages;
mod tag;
mod text;
mod values;
mod work;

pub use numbers::{Gauge, Histogram};
pub use passages::{Counter, Point};
pub use tag::Tag;
pub use text::{log_line, marker, wait_for_clients};
pub use values::{Table, Tree, Value};
pub use work::{RunningSpan, RunningTime, Span, Time};

/// What all observers can do.
macro_rules! observer {
    ($name:ident $(<$parameter:ident>)?) => {
        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// It is not observed any more; its last value stays to be seen.
            pub fn kill(&self) {
                self.handle.kill();
            }

            /// Changes the time between its values: milliseconds, 0 for that of the server.
            pub fn set_period(&self, milliseconds: u32) {
                self.handle.set_period(milliseconds);
            }

            /// Its number.
            pub fn id(&self) -> bactrian_live::ObserverId {
                self.handle.id()
            }
        }
    };
}
use observer;
