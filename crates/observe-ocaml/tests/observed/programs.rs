//! Programs that use the OCaml library, compiled by both compilers.

use std::path::PathBuf;

use bactrian_fixtures::{Compiler, Recipe, Variant, ocaml_library, ppx};

/// A program in the directory `programs`. Bytecode loads the stubs as a shared library, unless it is a custom
/// executable.
pub fn program(name: &str, compiler: Compiler, variant: Variant) -> PathBuf {
    let library = ocaml_library(compiler);
    let library = library.display().to_string();
    let tool = variant.tool(compiler);
    let source = format!("{name}.ml");
    let mut recipe =
        Recipe::new(format!("{name}-{compiler:?}-{variant:?}-observed")).source(&source);
    let mut arguments = vec!["-g", "-I", "+unix", "-I", "+threads", "-I", &library];
    match variant {
        Variant::Bytecode => arguments.extend(["-dllpath", &library]),
        Variant::Custom => arguments.push("-custom"),
        _ => {}
    }
    let is_for_ocamlviz = matches!(name, "observe_compat" | "observe_moments");
    if is_for_ocamlviz {
        // Programs written for Ocamlviz find our modules under Ocamlviz's names.
        let names = "observe_names.ml";
        recipe = recipe.source(names).step(&tool, &format!("-I {library} -c {names}"));
        arguments.extend(["-open", "Observe_names"]);
    }
    let rewrite = (name == "observe_ppx").then(|| format!("{} --as-ppx", ppx().display()));
    arguments.extend(rewrite.iter().flat_map(|command| ["-ppx", command]));
    let libraries = ["unix", "threads", "bactrian"].map(|library| variant.library(library));
    let has_threads = name.contains("threads");
    let linked = libraries.iter().filter(|file| has_threads || !file.starts_with("threads"));
    arguments.extend(linked.map(String::as_str));
    if is_for_ocamlviz {
        arguments.push("observe_names.cmx");
    }
    arguments.extend([&*source, "-o", name]);
    recipe.step_of(tool, arguments).build().join(name)
}
