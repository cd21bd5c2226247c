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
}

pub const BOTH: [Compiler; 2] = [Compiler::OCaml4, Compiler::OCaml5];

impl Compiler {
    /// The command that compiles to native code.
    pub fn ocamlopt(self) -> PathBuf {
        match self {
            Compiler::OCaml4 => "ocamlopt.opt".into(),
            Compiler::OCaml5 => {
                let path = repository().join(".cache/ocaml5/bin/ocamlopt");
                assert!(path.exists(), "there is no OCaml 5 here: run cargo xtask ocaml5 first");
                path
            }
        }
    }

    fn check_version(self, ocamlopt: &Path) {
        let said = Command::new(ocamlopt).arg("-version").output();
        let said = said.expect("ocamlopt.opt is there: scripts/setup installs it");
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
        Variant::Plain => "-g",
        Variant::Debug => "-g -runtime-variant d",
        Variant::Static => "-g -ccopt -static",
    };
    let libraries = "-I +unix -I +threads unix.cmxa threads.cmxa";
    let (files, steps) = match name {
        // A host that loads a plugin, and what both share.
        "dynlink" => (
            ["hooks.ml", "plugin.ml", "host.ml"].map(|file| format!("dynlink/{file}")).to_vec(),
            vec![
                "-g -c hooks.ml".to_owned(),
                "-g -shared plugin.ml -o plugin.cmxs".to_owned(),
                format!("{options} -I +dynlink dynlink.cmxa hooks.cmx host.ml -o dynlink"),
            ],
        ),
        _ => {
            (vec![format!("{name}.ml")], vec![format!("{options} {libraries} {name}.ml -o {name}")])
        }
    };
    let sources = files.iter().map(|file| sources.join(file)).collect();
    build(&format!("{name}-{compiler:?}-{variant:?}"), name, compiler, sources, &steps)
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
    build("ocamlopt5", "ocamlopt5", Compiler::OCaml5, vec![main], &steps)
}

/// Compiles in a folder of its own, unless that folder is the outcome of the same steps on the same
/// sources.
fn build(
    folder: &str,
    program: &str,
    compiler: Compiler,
    sources: Vec<PathBuf>,
    steps: &[String],
) -> PathBuf {
    // Tests that run at once may want the same program.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let ocamlopt = compiler.ocamlopt();
    let folder = cache().join(folder);
    let mut recipe = format!("{}\n{}\n", ocamlopt.display(), steps.join("\n"));
    for source in &sources {
        recipe.push_str(&fs::read_to_string(source).expect("a source"));
    }
    let stamp = folder.join("made-by");
    if fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == recipe) {
        return folder.join(program);
    }
    compiler.check_version(&ocamlopt);
    // There may be none.
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder for a program");
    for source in &sources {
        let name = source.file_name().expect("a file");
        fs::copy(source, folder.join(name)).expect("room for a source");
    }
    for step in steps {
        let mut command = Command::new(&ocamlopt);
        let output = command.args(step.split(' ')).current_dir(&folder).output();
        let output = output.expect("the compiler starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler:?}: ocamlopt {step}\n{said}");
    }
    fs::write(&stamp, recipe).expect("room for a stamp");
    folder.join(program)
}
