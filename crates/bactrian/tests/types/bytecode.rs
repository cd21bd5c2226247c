//! Types in bytecode: hidden parts of modules are in closure environments, and values under initialisation
//! are on the stack. Both are known as well as in native code.

use bactrian_fixtures::{BOTH, Compiler};
use bactrian_types::Category;

use crate::told::{Found, Program};

/// Hides a table and a log of it.
const INTERFACE: &str = "
type t
val make : int -> t
val keep : string -> t -> unit
";
const STORE: &str = "
type t = { name : string; parts : part list; mutable next : t option }
and part = Small of int | Large of float * string
exception Full of t
let table : (string, t) Hashtbl.t = Hashtbl.create 16
let log : (int * string) list ref = ref []
let last : exn option ref = ref None
let part n i = if i mod 2 = 0 then Small i else Large (float n, string_of_int i)
let make n = { name = string_of_int n; parts = List.init 5 (part n); next = None }
let keep key t =
  last := Some (Full t);
  log := (Hashtbl.length table, key) :: !log;
  Hashtbl.replace table key t
";
/// Still under initialisation when the program ends. Its values are on the stack, and in a partially applied
/// function.
const MAIN: &str = "
module Names = Map.Make (String)
type job = { id : int; run : unit -> int }
let names = ref Names.empty
let jobs = Queue.create ()
let add id =
  let data = Array.init 3 (fun i -> (id, string_of_int i)) in
  names := Names.add (string_of_int id) [ id; id + 1 ] !names;
  Queue.add { id; run = (fun () -> Array.length data) } jobs
let () =
  for i = 1 to 1000 do Store.keep (string_of_int i) (Store.make i); add i done;
  let local = Array.init 500 (fun i -> `Local (i, string_of_int i)) in
  let finish () = ignore (Sys.opaque_identity local); exit 0 in
  if Queue.fold (fun sum job -> sum + job.run ()) 0 jobs > 0 then finish ();
  ignore (Sys.opaque_identity (local, names))
";

fn program(compiler: Compiler) -> Program {
    let sources = [("store.mli", INTERFACE), ("store.ml", STORE), ("main.ml", MAIN)];
    Program::new(compiler, &sources)
}

/// The fraction of bytes with known types.
fn share(found: &Found) -> f64 {
    let coverage = found.typing.coverage();
    coverage.typed_words() as f64 / coverage.words() as f64
}

#[test]
fn bytecode_has_as_many_types_as_native_code() {
    for compiler in BOTH {
        let native = program(compiler);
        native.native("store.mli store.ml main.ml -o program");
        let bytecode = program(compiler);
        bytecode.bytecode("-custom store.mli store.ml main.ml -o program");
        let [native, bytecode] = [native, bytecode].map(|program| program.found());
        let coverage = bytecode.typing.coverage();
        let what = format!("{compiler:?}: {:#?} {coverage:#?}", bytecode.types);
        assert!(share(&bytecode) > 0.95, "{}: {what}", share(&bytecode));
        assert!(share(&bytecode) > share(&native) - 0.02, "{}: {what}", share(&native));
        assert_eq!(coverage.conflicts, 0, "{:#?}", bytecode.typing.conflicts());
        assert_eq!(coverage.categories[Category::Sample as usize], (0, 0), "{what}");
        // Values known only to the store's functions, only to the stack, and only to a retained function.
        let expected = [
            ("Store.t", 1000),
            ("Store.part", 5000),
            ("(int * string) list", 1000),
            ("Main.job", 1000),
            ("int list Map.Make(String).t", 1000),
            ("(int * string) array", 1000),
            ("[> `Local of int * string ] array", 1),
        ];
        for (name, blocks) in expected {
            let found = bytecode.blocks(name);
            assert!((blocks..blocks + 10).contains(&found), "{found} of {name}: {what}");
        }
        assert!(bytecode.blocks("exn") > 0, "{what}");
    }
}
