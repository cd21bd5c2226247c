//! Which code is not the user's, by its names: primitives in C and the standard library.

/// Where primitives in C are said to be.
const IN_C: &str = "<C>";

/// Whether a function is library code.
pub fn is_library(function: &str, file: &str) -> bool {
    file == IN_C || function.starts_with("caml_") || is_library_module(module_of(function))
}

/// Whether a module is the standard library's: `Stdlib__List`, `CamlinternalFormat`.
fn is_library_module(module: &str) -> bool {
    module == "Stdlib" || module.starts_with("Stdlib__") || module.starts_with("Camlinternal")
}

fn module_of(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_code_is_told_by_its_names() {
        for function in ["Stdlib__List.map", "Stdlib.(^)", "Stdlib", "CamlinternalLazy.force"] {
            assert!(is_library(function, "x.ml"), "{function}");
        }
        assert!(is_library("caml_alloc_string", "") && is_library("unix_read", "<C>"));
        for function in ["Main.load", "Stdlibs.map", "Camlp4.run", "My.Stdlib.map"] {
            assert!(!is_library(function, "main.ml"), "{function}");
        }
    }
}
