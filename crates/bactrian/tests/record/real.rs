//! Third-party programs from Debian: the same results, observed and not.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use bactrian_fixtures::{Compiler, compiler_of_ocaml5, repository};

use crate::runs::{Place, Run, difference};
use crate::traces::{in_folder, info, is_clean};

const RATES: [&str; 2] = ["1e-4", "1e-2"];

/// Runs a program plain and observed; returns its output.
fn same(run: &Run) -> String {
    let place = Place::new();
    let plain = place.run(run);
    let said = String::from_utf8_lossy(&plain.stderr);
    assert_eq!(plain.end, "exit status 0", "{}: {said}", run.program.display());
    for rate in RATES {
        let outside = Place::new();
        let trace = outside.trace("trace.ctf");
        let observed = place.run(&run.observed(&["--rate", rate], &trace));
        let what = format!("{}, rate {rate}", run.program.display());
        assert_eq!(difference(&plain, &observed), "", "{what}");
        let traces = in_folder(&outside.traces());
        assert!(traces.contains(&trace), "{what}: no trace");
        for trace in traces {
            let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            let samples = info["result"]["sampled_allocations"].as_u64().unwrap_or(0);
            assert!(samples > 0, "{what}: no samples");
        }
    }
    String::from_utf8_lossy(&plain.stdout).into_owned()
}

/// Much OCaml to compile: types, functors, matches, closures.
fn write_large_source(folder: &Path) {
    let mut source = String::new();
    for n in 0..60 {
        // Writing to a string cannot fail.
        writeln!(
            source,
            "module M{n} = struct
  type t = A of int | B of string | C of t list | D of {{ left : t; right : t; n : float }}
  let rec size = function
    | A n -> n | B s -> String.length s | C l -> List.fold_left (fun a t -> a + size t) {n} l
    | D {{ left = A 0; _ }} -> 0 | D {{ left; right; n }} -> size left + size right + int_of_float n
  let rec map f = function
    | A n -> A (f n) | C l -> C (List.map (map f) l) | B _ as t -> t
    | D d -> D {{ d with left = map f d.left; right = map f d.right }}
  module Set = Set.Make (struct type nonrec t = t let compare = compare end)
  let table : (int, t) Hashtbl.t = Hashtbl.create {n}
  let show t = Printf.sprintf \"%d of %s at %h\" (size t) (String.make {n} 'x') (float_of_int {n})
  let collect l = Set.elements (List.fold_left (fun set t -> Set.add (map succ t) set) Set.empty l)
  class counter = object (self) val mutable n = {n} method next = n <- n + 1; n
    method many k = List.init k (fun _ -> self#next) end
end"
        )
        .ok();
    }
    fs::write(folder.join("large.ml"), source).expect("room for a source");
}

fn compile(compiler: impl Into<std::path::PathBuf>) -> Run {
    // Otherwise assembly goes through a file with a random name, which -g writes into the object file.
    let run = Run::new(compiler, &["-g", "-S", "-c", "large.ml"]);
    Run { prepare: write_large_source, ..run }
}

#[test]
fn the_compiler_of_ocaml4() {
    same(&compile("ocamlopt.opt"));
}

#[test]
fn the_compiler_of_ocaml5() {
    let library = Compiler::OCaml5.standard_library();
    same(&compile(compiler_of_ocaml5()).with("OCAMLLIB", library));
}

#[test]
fn ocamldep() {
    let folder = repository().join("programs");
    let mut run = Run::new("ocamldep.opt", &["-modules"]);
    for entry in fs::read_dir(folder).expect("the fixture programs").flatten() {
        let path = entry.path();
        // OCaml 4 cannot parse effect handlers.
        let is_new = fs::read_to_string(&path).is_ok_and(|text| text.contains("| effect "));
        if path.extension().is_some_and(|extension| extension == "ml") && !is_new {
            run.arguments.push(path.into());
        }
    }
    assert!(same(&run).contains("Gc"));
}

#[test]
fn unison() {
    fn two_folders(folder: &Path) {
        for name in ["one", "two"] {
            fs::create_dir_all(folder.join(name).join("common")).expect("a folder");
        }
        for n in 0..200 {
            let side = ["one", "two"][n % 2];
            let path = folder.join(format!("{side}/common/{n}.txt"));
            fs::write(path, format!("file {n}\n").repeat(n)).expect("room for a file");
        }
    }
    let words = "one two -batch -silent -ui text -logfile /dev/null";
    let run = Run::new("unison", &words.split(' ').collect::<Vec<_>>());
    // Its archive contains dates and inode numbers.
    let run = Run { prepare: two_folders, ignored: &["memory"], ..run };
    same(&run.with("UNISON", "memory"));
}

#[test]
fn why3() {
    fn theory(folder: &Path) {
        let text = "module Sum
  use int.Int
  use ref.Ref
  use list.List
  let rec function sum (l: list int) : int variant { l }
  = match l with Nil -> 0 | Cons x r -> x + sum r end
  let triangle (n: int) : int
    requires { n >= 0 } ensures { result * 2 = n * (n + 1) }
  = let s = ref 0 in
    for i = 0 to n do invariant { !s * 2 = i * (i - 1) } s := !s + i done;
    !s
end
";
        fs::write(folder.join("sum.mlw"), text).expect("room for a file");
    }
    // None of these needs a prover.
    for (words, expected) in [
        ("prove --type-only sum.mlw", ""),
        ("prove -a split_vc sum.mlw", "goal"),
        ("execute sum.mlw --use Sum triangle(1000)", "500500"),
        ("extract -D ocaml64 sum.mlw", "Z.add"),
    ] {
        let run = Run::new("why3", &words.split(' ').collect::<Vec<_>>());
        let said = same(&Run { prepare: theory, ..run });
        assert!(said.contains(expected), "why3 {words}: {said}");
    }
}

#[test]
fn haxe() {
    fn source(folder: &Path) {
        let text = "class Main {
  static function main() {
    var names = [for (i in 0...2000) i => 'name ' + i];
    var sum = 0;
    for (number => name in names) sum += number + name.length;
    var squares = [for (i in 0...5000) i * i];
    squares.sort((x, y) -> y - x);
    trace(sum + ' ' + squares[0]);
  }
}
";
        fs::write(folder.join("Main.hx"), text).expect("room for a file");
    }
    for (words, expected) in [
        ("--version", ""),
        ("--main Main --interp", "24990001"),
        ("--main Main --js main.js", ""),
        ("--main Main --neko main.n", ""),
    ] {
        let run = Run::new("haxe", &words.split(' ').collect::<Vec<_>>());
        let said = same(&Run { prepare: source, ..run });
        assert!(said.contains(expected), "haxe {words}: {said}");
    }
}
