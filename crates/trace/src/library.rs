//! Tells by name which code is not the user's: C primitives and the standard library.

/// The file name given to C primitives.
const IN_C: &str = "<C>";
/// Modules of libraries that come with the compiler and are not wrapped.
const WITH_THE_COMPILER: [&str; 10] = [
    "Condition",
    "Dynlink",
    "Event",
    "Mutex",
    "Semaphore",
    "Str",
    "Thread",
    "Unix",
    "UnixLabels",
    "Runtime_events",
];

/// Where code comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The program itself, as far as names tell: it may be a library that is not wrapped.
    #[default]
    Program,
    /// A library wrapped as dune does it (`Yojson__Safe`), or one that comes with the compiler.
    Library,
    /// The standard library.
    Stdlib,
    /// C primitives.
    C,
}

/// The origin of a function, by its names.
pub fn origin_of(function: &str, file: &str) -> Origin {
    let module = module_of(function);
    let is_stdlib =
        module == "Stdlib" || module.starts_with("Stdlib__") || module.starts_with("Camlinternal");
    let is_wrapped = module.contains("__") && !module.starts_with("Dune__exe__");
    if file == IN_C || function.starts_with("caml_") {
        Origin::C
    } else if is_stdlib {
        Origin::Stdlib
    } else if is_wrapped || WITH_THE_COMPILER.contains(&module) {
        Origin::Library
    } else {
        Origin::Program
    }
}

/// Whether a function is library code that is attributed to its callers: C primitives and the standard library.
pub fn is_library(function: &str, file: &str) -> bool {
    matches!(origin_of(function, file), Origin::Stdlib | Origin::C)
}

fn module_of(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_code_is_recognised_by_name() {
        for function in ["Stdlib__List.map", "Stdlib.(^)", "Stdlib", "CamlinternalLazy.force"] {
            assert!(is_library(function, "x.ml"), "{function}");
        }
        assert!(is_library("caml_alloc_string", "") && is_library("unix_read", "<C>"));
        for function in ["Main.load", "Stdlibs.map", "Camlp4.run", "My.Stdlib.map"] {
            assert!(!is_library(function, "main.ml"), "{function}");
        }
    }

    #[test]
    fn libraries_are_distinguished_from_the_program() {
        let of = |function: &str| origin_of(function, "x.ml");
        assert_eq!(of("Yojson__Safe.from_string"), Origin::Library);
        assert_eq!(of("Unix.read"), Origin::Library);
        for own in ["Dune__exe__Cache.add", "Cache.add", "Cache.Unix.read"] {
            assert_eq!(of(own), Origin::Program, "{own}");
        }
        assert_eq!(of("Stdlib__List.map"), Origin::Stdlib);
        assert_eq!(origin_of("unix_read", "<C>"), Origin::C);
    }
}
