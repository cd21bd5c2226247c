//! What the chores and the benches share: other programs, run from the root of the repository, and the OCaml compilers
//! that programs are compiled with.

#![expect(clippy::print_stdout, reason = "a chore reports to the person who runs it")]

pub mod command;
pub mod compilers;

/// Done, or what went wrong in words.
pub type Outcome = Result<(), String>;

/// For tasks that take no arguments.
///
/// # Errors
/// If there are some.
pub fn no_arguments(arguments: &[String]) -> Outcome {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("takes no arguments, and was given {first:?}")),
    }
}
