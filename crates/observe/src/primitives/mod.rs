//! The primitives that programs use. All are registered with the program's [`server()`].

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

/// The methods of all observers.
macro_rules! observer {
    ($name:ident $(<$parameter:ident>)?) => {
        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// Stops observing it; clients still see its last value.
            pub fn kill(&self) {
                self.handle.kill();
            }

            /// Sets the milliseconds between values; 0 means the server's period.
            pub fn set_period(&self, milliseconds: u32) {
                self.handle.set_period(milliseconds);
            }

            /// Its id.
            pub fn id(&self) -> bactrian_live::ObserverId {
                self.handle.id()
            }
        }
    };
}
use observer;
