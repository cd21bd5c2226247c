//! Shared by the chores and the benchmarks: running other programs from the root of the repository, and the
//! OCaml compilers for test programs.

#![expect(clippy::print_stdout, reason = "a chore reports to the person who runs it")]

pub mod command;
pub mod compilers;

/// Success, or what went wrong as text.
pub type Outcome = Result<(), String>;

/// For tasks that take no arguments.
///
/// # Errors
/// If there are any.
pub fn no_arguments(arguments: &[String]) -> Outcome {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("takes no arguments, and was given {first:?}")),
    }
}
