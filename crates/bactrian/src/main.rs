//! `bactrian`: see the library of this name.

use std::process::ExitCode;

fn main() -> ExitCode {
    bactrian::main()
}
