//! Types of natdynlink plugins, whose `.cmt` files are beside the plugin, not beside the program.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use bactrian_fixtures::BOTH;
use serde_json::Value;

use crate::truth::run;

const HOST: &str = "
let () = Dynlink.loadfile Sys.argv.(1)
";
const PLUGIN: &str = "
type entry = { key : int; text : string; next : entry option }
let table : (int, entry) Hashtbl.t = Hashtbl.create 16
let () =
  for key = 1 to 1000 do
    let next = Hashtbl.find_opt table (key - 1) in
    Hashtbl.replace table key { key; text = string_of_int key; next }
  done
";

/// PATH with a directory in front, so that the compiler there is found.
fn path_with(folder: Option<&Path>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folder.map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).expect("folders")
}

#[test]
fn types_of_plugins_are_found_where_they_were_loaded_from() {
    for compiler in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let [host, plugins] = ["host", "plugins"].map(|name| folder.path().join(name));
        let ocamlopt = compiler.ocamlopt();
        let compile = |place: &Path, file: &str, text: &str, arguments: &str| {
            fs::create_dir(place).expect("room");
            fs::write(place.join(file), text).expect("room");
            let mut command = Command::new(&ocamlopt);
            run(command.args(["-g", "-bin-annot"]).args(arguments.split(' ')).current_dir(place));
        };
        // With everything that the plugin may need of the standard library.
        compile(&host, "host.ml", HOST, "-linkall -I +dynlink dynlink.cmxa host.ml -o host");
        // After the program, as with real plugins.
        compile(&plugins, "plug.ml", PLUGIN, "-shared plug.ml -o plug.cmxs");
        let bactrian = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
            command.current_dir(folder.path());
            command.env("XDG_CACHE_HOME", folder.path().join("cache"));
            command.env("PATH", path_with(ocamlopt.parent()));
            command
        };
        let record = "record --snapshots exit --no-trace -o run -- host/host plugins/plug.cmxs";
        run(bactrian().args(record.split(' ')));
        let types = bactrian().args("heap types run.1.heap -n 0 --json".split(' ')).output();
        let output = types.expect("it starts");
        let what = format!("{compiler:?}: {}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).expect(&what);
        let rows = answer["result"]["rows"].as_array().expect("rows");
        let blocks = |name: &str| {
            let found = rows.iter().find(|row| row["name"] == name);
            found.and_then(|row| row["blocks"]["value"].as_f64()).unwrap_or(0.0)
        };
        assert_eq!(blocks("Plug.entry"), 1000.0, "{what} {:#}", answer["result"]["coverage"]);
        assert_eq!(blocks("(int, Plug.entry) Hashtbl.t"), 1.0, "{what}");
        // Dynlink itself has no .cmt files, so types are incomplete.
        let coverage = &answer["result"]["coverage"];
        assert!(!coverage.to_string().contains("Plug"), "{what} {coverage:#}");
    }
}
