//! Unknown types are reported, never guessed: programs whose `.cmt` files are stale or missing, that were
//! stripped, are bytecode or packed, or that cast values to wrong types.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use bactrian_fixtures::{BOTH, Compiler};
use bactrian_snapshot::Snapshot;
use bactrian_types::{Table, Typing, UnitFate};
use tempfile::TempDir;

/// Gives consecutively written files different modification times.
const MOMENT: Duration = Duration::from_millis(30);

/// A store that hides its contents, and its user.
const INTERFACE: &str = "
type t
val make : int -> t
val size : unit -> int
";
const STORE: &str = "
type t = { name : string; age : int }
let table : t list ref = ref []
let make age = let it = { name = string_of_int age; age } in table := it :: !table; it
let size () = List.length !table
";
/// The same interface, but records have another layout.
const CHANGED: &str = "
type t = { name : string; pair : int * int }
let pairs : (int * int) list ref = ref []
let make age = let pair = (age, age) in pairs := pair :: !pairs; { name = string_of_int age; pair }
let size () = List.length !pairs
";
const MAIN: &str = "
type kept = { first : Store.t; number : int }
let kept = List.init 1000 (fun number -> { first = Store.make number; number })
let () = print_int (Store.size ()); ignore (Sys.opaque_identity kept)
";

/// A program in its own directory.
pub struct Program {
    compiler: Compiler,
    folder: TempDir,
}

/// The types found in its heap.
pub struct Found {
    pub table: Table,
    pub typing: Typing,
    /// The number of blocks of each type.
    pub types: BTreeMap<String, usize>,
}

impl Program {
    /// Compiled here, not as a fixture: tests change its files between steps.
    pub fn new(compiler: Compiler, sources: &[(&str, &str)]) -> Program {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Program { compiler, folder };
        sources.iter().for_each(|(file, text)| program.write(file, text));
        program
    }

    /// The store and its user, linked.
    fn store(compiler: Compiler) -> Program {
        let sources = [("store.mli", INTERFACE), ("store.ml", STORE), ("main.ml", MAIN)];
        let program = Program::new(compiler, &sources);
        program.native("store.mli store.ml main.ml -o program");
        std::thread::sleep(MOMENT);
        program
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.path().join(file), text).expect("room");
    }

    fn run(&self, command: &mut Command) {
        let output = command.current_dir(self.folder.path()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
    }

    pub fn native(&self, arguments: &str) {
        let mut command = Command::new(self.compiler.ocamlopt());
        self.run(command.args(["-g", "-bin-annot"]).args(arguments.split(' ')));
    }

    pub fn bytecode(&self, arguments: &str) {
        let mut command = Command::new(self.compiler.ocamlc());
        self.run(command.args(["-g", "-bin-annot"]).args(arguments.split(' ')));
    }

    /// Runs it, makes a table from the directory, and infers the types of its heap.
    pub fn found(&self) -> Found {
        let bactrian = || Command::new(env!("CARGO_BIN_EXE_bactrian"));
        let record = "record --snapshots exit --no-trace -o p.ctf -- ./program";
        self.run(bactrian().args(record.split(' ')));
        let build = "types build . -o p.types --compiler".split(' ');
        self.run(bactrian().args(build).arg(self.compiler.ocamlopt()));
        let table = fs::read(self.folder.path().join("p.types")).expect("a table");
        let table = Table::read(&table).expect("it can be read");
        let snapshot = Snapshot::open(&self.folder.path().join("p.1.heap")).expect("a snapshot");
        let typing = Typing::infer(&table, &snapshot, &mut |_| {});
        let mut types = BTreeMap::new();
        for index in 0..snapshot.groups().len() {
            for block in snapshot.group(index).expect("it is sound").blocks() {
                let class = typing.class(typing.class_of(block.id)).expect("a class");
                if class.is_type {
                    *types.entry(class.name.clone()).or_default() += 1;
                }
            }
        }
        Found { table, typing, types }
    }
}

impl Found {
    pub fn blocks(&self, name: &str) -> usize {
        self.types.get(name).copied().unwrap_or(0)
    }

    fn fate(&self, module: &str) -> Option<UnitFate> {
        let unit = self.typing.units().iter().find(|unit| unit.name == module);
        unit.map(|unit| unit.fate)
    }

    fn reason(&self, text: &str) -> bool {
        self.typing.coverage().reasons.iter().any(|reason| reason.text == text)
    }
}

/// Checks that the user's types are known, and nothing that the store hides.
fn knows_the_user_only(what: &str, found: &Found) {
    assert_eq!(found.fate("Main"), Some(UnitFate::Whole), "{what}");
    assert_eq!(found.blocks("Main.kept"), 1000, "{what}: {:?}", found.types);
    assert_eq!(found.blocks("Store.t"), 1000, "{what}: {:?}", found.types);
    assert_eq!(found.blocks("int * int"), 0, "{what}: {:?}", found.types);
    assert_eq!(found.blocks("Store.t list"), 0, "{what}: {:?}", found.types);
    assert_eq!(found.typing.coverage().conflicts, 0, "{what}: {:?}", found.typing.conflicts());
}

#[test]
fn stale_cmt_is_not_used() {
    for compiler in BOTH {
        let what = format!("{compiler:?}");
        let program = Program::store(compiler);
        let found = program.found();
        assert_eq!(found.fate("Store"), Some(UnitFate::Whole), "{what}");
        assert_eq!(found.blocks("Store.t list"), 1000, "{what}: {:?}", found.types);
        assert_eq!(found.table.failures, [], "{what}");

        // Only the .cmt is new, as after ocamlc or dune build @check.
        program.write("store.ml", CHANGED);
        program.bytecode("-c store.ml");
        let found = program.found();
        knows_the_user_only(&what, &found);
        assert_eq!(found.fate("Store"), Some(UnitFate::Unchecked), "{what}");
        assert!(found.reason("no digest to check the .cmt file of Store"), "{what}");
        let failure =
            found.table.failures.iter().find(|failure| failure.file.ends_with("store.cmt"));
        let reason = &*failure.expect("it is told").reason;
        assert!(reason.ends_with("changed after store.cmx was made"), "{what}: {reason}");

        // Both are new, but the program was not linked again.
        program.native("-c store.ml");
        let found = program.found();
        knows_the_user_only(&what, &found);
        assert_eq!(found.fate("Store"), Some(UnitFate::Stale), "{what}");
        assert!(found.reason("the .cmt file of Store is of another build"), "{what}");
    }
}

#[test]
fn newer_cmt_of_the_same_source_is_used() {
    let program = Program::store(Compiler::OCaml4);
    program.bytecode("-c store.ml");
    let found = program.found();
    assert_eq!(found.fate("Store"), Some(UnitFate::Whole));
    assert_eq!(found.blocks("Store.t list"), 1000);
}

#[test]
fn missing_cmt_is_reported() {
    for compiler in BOTH {
        let what = format!("{compiler:?}");
        let program = Program::store(compiler);
        fs::remove_file(program.folder.path().join("store.cmt")).expect("it is there");
        let found = program.found();
        knows_the_user_only(&what, &found);
        assert_eq!(found.fate("Store"), Some(UnitFate::Missing), "{what}");
        assert!(found.reason("no .cmt file of Store"), "{what}");
    }
}

#[test]
fn a_stripped_program_keeps_its_digests() {
    for compiler in BOTH {
        let what = format!("{compiler:?}");
        let program = Program::store(compiler);
        program.run(Command::new("strip").arg("program"));
        let found = program.found();
        assert_eq!(found.fate("Store"), Some(UnitFate::Whole), "{what}");
        assert_eq!(found.blocks("Store.t"), 1000, "{what}: {:?}", found.types);
        assert_eq!(found.blocks("Main.kept"), 1000, "{what}: {:?}", found.types);
        // Digests are data of the program and survive stripping, so a stale .cmt is detected here, too.
        program.write("store.ml", CHANGED);
        program.native("-c store.ml");
        let found = program.found();
        knows_the_user_only(&what, &found);
        assert_eq!(found.fate("Store"), Some(UnitFate::Stale), "{what}");
    }
}

#[test]
fn bytecode_without_debug_information_has_interface_types_only() {
    let sources = [("store.mli", INTERFACE), ("store.ml", STORE), ("main.ml", MAIN)];
    for compiler in BOTH {
        let program = Program::new(compiler, &sources);
        let mut command = Command::new(compiler.ocamlc());
        let arguments = "-bin-annot -custom store.mli store.ml main.ml -o program";
        program.run(command.args(arguments.split(' ')));
        let found = program.found();
        let what = format!("{compiler:?}: {:?}", found.types);
        assert_eq!(found.fate("Main"), Some(UnitFate::Whole));
        assert_eq!(found.fate("Store"), Some(UnitFate::Public));
        assert_eq!(found.blocks("Main.kept"), 1000, "{what}");
        assert_eq!(found.blocks("Store.t"), 1000, "{what}");
        assert_eq!(found.typing.coverage().conflicts, 0, "{:?}", found.typing.conflicts());
        // The store's own list is in no field of its block.
        assert_eq!(found.blocks("Store.t list"), 0, "{what}");
    }
}

#[test]
fn stale_cmt_of_bytecode_is_not_used() {
    let sources = [("store.mli", INTERFACE), ("store.ml", STORE), ("main.ml", MAIN)];
    for compiler in BOTH {
        let program = Program::new(compiler, &sources);
        program.bytecode("-custom store.mli store.ml main.ml -o program");
        std::thread::sleep(MOMENT);
        // The interface is the same. Bytecode digests cover only interfaces, but the names and numbers of
        // variables differ.
        program.write("store.ml", CHANGED);
        program.bytecode("-c store.ml");
        let found = program.found();
        let what = format!("{compiler:?}: {:?}", found.types);
        assert_eq!(found.blocks("int * int"), 0, "{what}");
        assert_eq!(found.blocks("(int * int) list"), 0, "{what}");
    }
}

const ERRORS: &str = "
let errors = List.init 300 (fun n -> match n mod 3 with
  | 0 -> Failure (string_of_int n)
  | 1 -> Match_failure (string_of_int n, n, n)
  | _ -> Invalid_argument (string_of_int n))
let () = ignore (Sys.opaque_identity errors)
";

#[test]
fn predefined_exceptions_have_types() {
    let bytecode = [(Compiler::OCaml4, true)];
    for (compiler, is_bytecode) in
        BOTH.map(|compiler| (compiler, false)).into_iter().chain(bytecode)
    {
        let program = Program::new(compiler, &[("errors.ml", ERRORS)]);
        let arguments = "errors.ml -o program";
        if is_bytecode {
            program.bytecode(&format!("-custom {arguments}"))
        } else {
            program.native(arguments)
        }
        let found = program.found();
        let what = format!("{compiler:?} {is_bytecode} {:?}", found.types);
        assert!(found.blocks("exn") >= 300, "{what}");
        // Match_failure contains a tuple.
        assert!(found.blocks("string * int * int") >= 100, "{what}");
        assert_eq!(found.typing.coverage().conflicts, 0, "{what}");
    }
}

const READ: &str = "
type point = { x : float; name : string }
type wrong = { a : int list; b : (int * int) array }
let points = List.init 500 (fun n -> { x = float_of_int n; name = string_of_int n })
let text = Sys.opaque_identity (Marshal.to_string points [])
let right : point list = Marshal.from_string text 0
let lie : wrong list = Marshal.from_string text 0
let () = ignore (Sys.opaque_identity (points, right, lie))
";

#[test]
fn values_unmarshalled_at_a_wrong_type_are_conflicts() {
    for compiler in BOTH {
        let program = Program::new(compiler, &[("read.ml", READ)]);
        program.native("read.ml -o program");
        let found = program.found();
        let what = format!("{compiler:?} {:?} {:#?}", found.types, found.typing.conflicts());
        assert_eq!(found.blocks("Read.point"), 1000, "{what}");
        assert_eq!(found.blocks("Read.point list"), 1000, "{what}");
        // A record of two words may have the claimed type, but a float and a string cannot have the claimed
        // field types.
        assert_eq!(found.blocks("int list"), 0, "{what}");
        assert_eq!(found.blocks("(int * int) array"), 0, "{what}");
        assert_eq!(found.typing.coverage().conflicts, 1000, "{what}");
        let conflict = &found.typing.conflicts()[0];
        assert_eq!(conflict.kept, None, "{what}");
        assert_eq!(conflict.other_origin, "global Read.lie", "{what}");
    }
}

const MAGIC: &str = "
type one = { a : string; b : string }
type two = { c : string; d : string; e : int }
let ones = List.init 500 (fun n -> { a = string_of_int n; b = \"\" })
let as_two : two list = Obj.magic ones
let hidden : Obj.t list = List.map Obj.repr (List.init 500 (fun n -> { a = string_of_int n; b = \"b\" }))
let () = ignore (Sys.opaque_identity (ones, as_two, hidden))
";

#[test]
fn casts_are_conflicts_or_unknown() {
    for compiler in BOTH {
        let program = Program::new(compiler, &[("magic.ml", MAGIC)]);
        program.native("magic.ml -o program");
        let found = program.found();
        let what = format!("{compiler:?} {:?}", found.types);
        assert_eq!(found.blocks("Magic.two"), 0, "{what}");
        assert_eq!(found.blocks("Magic.two list"), 0, "{what}");
        assert_eq!(found.blocks("Magic.one list"), 500, "{what}");
        assert!(found.typing.coverage().conflicts > 0, "{what}");
        let conflict = &found.typing.conflicts()[0];
        assert!(conflict.other.starts_with("Magic."), "{what} {conflict:?}");
    }
}

#[test]
fn packed_units_are_reported() {
    for compiler in BOTH {
        let sources =
            [("store.ml", STORE), ("main.ml", "let kept = List.init 1000 Pack.Store.make")];
        let program = Program::new(compiler, &sources);
        program.native("-for-pack Pack -c store.ml");
        program.native("-pack store.cmx -o pack.cmx");
        program.native("pack.cmx main.ml -o program");
        let found = program.found();
        let what = format!("{compiler:?} {:?} {:?}", found.typing.units(), found.types);
        assert_eq!(found.typing.coverage().conflicts, 0, "{what}");
        assert_eq!(found.fate("Pack"), Some(UnitFate::Missing), "{what}");
        assert!(found.reason("no .cmt file of Pack"), "{what}");
    }
}
