//! The programs that are measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::Outcome;
use xtask::command::{output, root};

/// All programs.
pub struct Programs {
    /// `observe_bench` with the original, and with ours by both compilers.
    pub benches: [PathBuf; 3],
    /// A program that does nothing, without and with the library, by both compilers.
    pub linked: [[PathBuf; 2]; 2],
}

impl Programs {
    /// Compiles them into this folder.
    pub fn build(folder: &Path) -> Result<Programs, String> {
        let five = |name: &str| xtask::compilers::V5_3.program(name);
        let ours = [
            Ours::build(folder.join("ocaml4"), "ocamlc.opt".into(), "ocamlopt.opt".into())?,
            Ours::build(folder.join("ocaml5"), five("ocamlc")?, five("ocamlopt")?)?,
        ];
        let original = folder.join("original");
        copy(&original, &["observe_bench.ml"])?;
        let options = ["ocamlopt", "-w", "-58", "-thread", "-package", "unix,ocamlviz", "-linkpkg"];
        let mut compile = Command::new("ocamlfind");
        output(
            compile.args(options).args(["observe_bench.ml", "-o", "bench"]).current_dir(&original),
        )?;
        let [four, five] = ours;
        Ok(Programs {
            benches: [original.join("bench"), four.bench, five.bench],
            linked: [four.linked, five.linked],
        })
    }
}

struct Ours {
    bench: PathBuf,
    linked: [PathBuf; 2],
}

impl Ours {
    fn build(folder: PathBuf, ocamlc: PathBuf, ocamlopt: PathBuf) -> Result<Ours, String> {
        let library = folder.join("library");
        let assign = |name: &str, path: &Path| format!("{name}={}", path.display());
        let assigned = [("BUILD", &library), ("OCAMLC", &ocamlc), ("OCAMLOPT", &ocamlopt)];
        let mut make = Command::new("make");
        make.arg("-C")
            .arg(root().join("ocaml"))
            .args(assigned.map(|(name, path)| assign(name, path)));
        output(&mut make)?;
        copy(
            &folder,
            &["observe_names.ml", "observe_bench.ml", "observe_not.ml", "observe_linked.ml"],
        )?;
        let compile = |arguments: &str| {
            let mut command = Command::new(&ocamlopt);
            command
                .args(["-I", "+unix", "-I"])
                .arg(&library)
                .args(arguments.split(' '))
                .current_dir(&folder);
            output(&mut command)
        };
        compile("-c observe_names.ml")?;
        let libraries = "unix.cmxa bactrian.cmxa";
        compile(&format!(
            "-open Observe_names {libraries} observe_names.cmx observe_bench.ml -o bench"
        ))?;
        compile("unix.cmxa observe_not.ml -o not")?;
        compile(&format!("{libraries} observe_linked.ml -o linked"))?;
        Ok(Ours {
            bench: folder.join("bench"),
            linked: ["not", "linked"].map(|name| folder.join(name)),
        })
    }
}

fn copy(folder: &Path, names: &[&str]) -> Outcome {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(said)?;
    for name in names {
        fs::copy(root().join("programs").join(name), folder.join(name)).map_err(said)?;
    }
    Ok(())
}
