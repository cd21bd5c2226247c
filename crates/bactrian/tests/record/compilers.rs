//! The two OCaml compilers, and the fixture programs compiled by them, once for all runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// An OCaml compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    OCaml4,
    OCaml5,
}

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Plain,
    /// With the runtime that checks itself.
    Debug,
    Static,
    /// Bytecode for a runtime that is there already.
    Bytecode,
    /// Bytecode in one file with its runtime.
    Custom,
    /// A program with its bytecode as data.
    Complete,
}

pub const BOTH: [Compiler; 2] = [Compiler::OCaml4, Compiler::OCaml5];

impl Compiler {
    /// The command that compiles to native code.
    pub fn ocamlopt(self) -> PathBuf {
        self.tool("ocamlopt.opt", "ocamlopt")
    }

    /// The command that compiles to bytecode.
    pub fn ocamlc(self) -> PathBuf {
        self.tool("ocamlc.opt", "ocamlc")
    }

    /// Where OCaml 5's library is: programs that are linked by us look for it where Debian would have put
    /// it.
    pub fn standard_library(self) -> PathBuf {
        let tool = self.ocamlopt();
        let prefix = tool.ancestors().nth(2).expect("a prefix");
        prefix.join("usr/lib/x86_64-linux-gnu/ocaml/5.3.0")
    }

    fn tool(self, ocaml4: &str, ocaml5: &str) -> PathBuf {
        match self {
            Compiler::OCaml4 => ocaml4.into(),
            Compiler::OCaml5 => {
                let path = repository().join(".cache/ocaml5/bin").join(ocaml5);
                assert!(path.exists(), "there is no OCaml 5 here: run cargo xtask ocaml5 first");
                path
            }
        }
    }

    fn check_version(self, tool: &Path) {
        let said = Command::new(tool).arg("-version").output();
        let said = said.expect("OCaml is there: scripts/setup installs it");
        let version = String::from_utf8(said.stdout).expect("UTF-8");
        let expected = if self == Compiler::OCaml4 { "4." } else { "5." };
        assert!(version.starts_with(expected), "{self:?} is {version}");
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A folder for what tests leave from run to run.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("record")
}

/// The path of a fixture program, compiled if it was not, or has changed since.
pub fn program(name: &str, compiler: Compiler, variant: Variant) -> PathBuf {
    let sources = repository().join("programs");
    let options = match variant {
        // OCaml 5's own runtime is not where it would be looked for.
        Variant::Bytecode if compiler == Compiler::OCaml5 => {
            format!("-g -noautolink -use-runtime {}", runtime_of_ocaml5().display())
        }
        Variant::Plain | Variant::Bytecode => "-g".to_owned(),
        Variant::Debug => "-g -runtime-variant d".to_owned(),
        Variant::Static => "-g -ccopt -static".to_owned(),
        Variant::Custom => "-g -custom".to_owned(),
        Variant::Complete => "-g -output-complete-exe".to_owned(),
    };
    let is_bytecode = matches!(variant, Variant::Bytecode | Variant::Custom | Variant::Complete);
    let [library, unit] = if is_bytecode { ["cma", "cmo"] } else { ["cmxa", "cmx"] };
    let libraries = format!("-I +unix -I +threads unix.{library} threads.{library}");
    let (files, steps) = match name {
        // A host that loads a plugin, and what both share.
        "dynlink" => (
            ["hooks.ml", "plugin.ml", "host.ml"].map(|file| format!("dynlink/{file}")).to_vec(),
            vec![
                "-g -c hooks.ml".to_owned(),
                match is_bytecode {
                    // The host asks for it by this name.
                    true => "-g -a plugin.ml -o plugin.cmxs".to_owned(),
                    false => "-g -shared plugin.ml -o plugin.cmxs".to_owned(),
                },
                format!("{options} -I +dynlink dynlink.{library} hooks.{unit} host.ml -o dynlink"),
            ],
        ),
        "c_handler" => (
            vec!["c_handler.ml".to_owned(), "c_handler_stubs.c".to_owned()],
            vec![format!("{options} c_handler.ml c_handler_stubs.c -o c_handler")],
        ),
        // It chooses when a snapshot is taken.
        "heap_called" => {
            let library_folder = ocaml_library(compiler);
            let folder = library_folder.display();
            let search = if is_bytecode { format!("-dllpath {folder} ") } else { String::new() };
            (
                ["heap_fixture.ml", "heap_called.ml"].map(str::to_owned).to_vec(),
                vec![format!(
                    "{options} {search}-I {folder} bactrian.{library} heap_fixture.ml {name}.ml -o {name}"
                )],
            )
        }
        _ if name.starts_with("heap_") => (
            vec!["heap_fixture.ml".to_owned(), format!("{name}.ml")],
            vec![format!("{options} {libraries} heap_fixture.ml {name}.ml -o {name}")],
        ),
        _ => {
            (vec![format!("{name}.ml")], vec![format!("{options} {libraries} {name}.ml -o {name}")])
        }
    };
    let sources = files.iter().map(|file| sources.join(file)).collect();
    let tool = if is_bytecode { compiler.ocamlc() } else { compiler.ocamlopt() };
    build(&format!("{name}-{compiler:?}-{variant:?}"), name, compiler, &tool, sources, &steps)
}

/// A folder with the library of `ocaml/`, built without dune.
pub fn ocaml_library(compiler: Compiler) -> PathBuf {
    static DONE: Mutex<Vec<Compiler>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = cache().join(format!("library-{compiler:?}"));
    // Once in each run of the tests: make does not know what others left there.
    if done.contains(&compiler) {
        return folder;
    }
    let assign = |name: &str, path: &Path| format!("{name}={}", path.display());
    let output = Command::new("make")
        .arg("-C")
        .arg(repository().join("ocaml"))
        .arg(assign("BUILD", &folder))
        .arg(assign("OCAMLC", &compiler.ocamlc()))
        .arg(assign("OCAMLOPT", &compiler.ocamlopt()))
        .output()
        .expect("make starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    done.push(compiler);
    folder
}

/// OCaml 5's runtime for bytecode, linked so that it runs on this machine as any program does.
fn runtime_of_ocaml5() -> PathBuf {
    let libraries = "-I +unix -I +threads unix.cma threads.cma";
    let steps = [format!("-make-runtime {libraries} -o ocamlrun5")];
    let compiler = Compiler::OCaml5;
    build("ocamlrun5", "ocamlrun5", compiler, &compiler.ocamlc(), Vec::new(), &steps)
}

/// OCaml 5's toplevel, with the library that threads are in.
pub fn toplevel_of_ocaml5() -> PathBuf {
    let libraries = "-I +unix -I +threads -I +compiler-libs unix.cma threads.cma \
                     ocamlcommon.cma ocamlbytecomp.cma ocamltoplevel.cma topstart.cmo";
    let runtime = runtime_of_ocaml5();
    let options = format!("-g -linkall -noautolink -use-runtime {}", runtime.display());
    let steps = [format!("{options} {libraries} -o ocaml5")];
    let compiler = Compiler::OCaml5;
    build("ocaml5", "ocaml5", compiler, &compiler.ocamlc(), Vec::new(), &steps)
}

/// OCaml 5's compiler to bytecode, in bytecode.
pub fn compiler_of_ocaml5_in_bytecode() -> PathBuf {
    let libraries = "-I +compiler-libs ocamlcommon.cma ocamlbytecomp.cma main.cmo";
    let options = format!("-g -noautolink -use-runtime {}", runtime_of_ocaml5().display());
    let steps = [format!("{options} {libraries} -o ocamlc5")];
    let compiler = Compiler::OCaml5;
    build("ocamlc5", "ocamlc5", compiler, &compiler.ocamlc(), Vec::new(), &steps)
}

/// A C library of `programs/`, to be loaded into programs.
pub fn library(name: &str) -> PathBuf {
    let source = repository().join("programs").join(format!("{name}.c"));
    let steps = [format!("-shared -fPIC -nostdlib {name}.c -o {name}.so")];
    // The machine's own C compiler: what needs no libc suits every program.
    build(name, &format!("{name}.so"), Compiler::OCaml4, Path::new("cc"), vec![source], &steps)
}

/// OCaml 5's compiler as a program to observe: linked from its libraries, so that it runs on this machine
/// as any program does.
pub fn compiler_of_ocaml5() -> PathBuf {
    let main = cache().join("ocamlopt5.ml");
    fs::create_dir_all(cache()).expect("a folder for programs");
    let text = "let () = exit (Optmaindriver.main Sys.argv Format.err_formatter)\n";
    fs::write(&main, text).expect("a file in it");
    let libraries = "-I +compiler-libs ocamlcommon.cmxa ocamloptcomp.cmxa";
    let steps = [format!("-g {libraries} ocamlopt5.ml -o ocamlopt5")];
    let compiler = Compiler::OCaml5;
    build("ocamlopt5", "ocamlopt5", compiler, &compiler.ocamlopt(), vec![main], &steps)
}

/// Compiles in a folder of its own, unless that folder is the outcome of the same steps on the same
/// sources.
fn build(
    folder: &str,
    program: &str,
    compiler: Compiler,
    tool: &Path,
    sources: Vec<PathBuf>,
    steps: &[String],
) -> PathBuf {
    // Tests that run at once may want the same program.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = cache().join(folder);
    let mut recipe = format!("{}\n{}\n", tool.display(), steps.join("\n"));
    for source in &sources {
        recipe.push_str(&fs::read_to_string(source).expect("a source"));
    }
    let stamp = folder.join("made-by");
    if fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == recipe) {
        return folder.join(program);
    }
    if tool != Path::new("cc") {
        compiler.check_version(tool);
    }
    // There may be none.
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder for a program");
    for source in &sources {
        let name = source.file_name().expect("a file");
        fs::copy(source, folder.join(name)).expect("room for a source");
    }
    for step in steps {
        let mut command = Command::new(tool);
        let output = command.args(step.split(' ')).current_dir(&folder).output();
        let output = output.expect("the compiler starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler:?}: {} {step}\n{said}", tool.display());
    }
    fs::write(&stamp, recipe).expect("room for a stamp");
    folder.join(program)
}
