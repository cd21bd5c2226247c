//! The helper that reads `.cmt` files (`ocaml/types`), compiled by both compilers: its output for
//! `programs/types_zoo`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use bactrian_fixtures::{BOTH, Compiler, Recipe, repository};
use bactrian_types::{
    Declaration, DeclarationKind, Layout, ModuleItem, Representation, Site, SiteKind, Table, Type,
    TypeId,
};

/// The helper, compiled by a compiler.
fn helper(compiler: Compiler) -> PathBuf {
    let name = "bactrian-cmt";
    let recipe = Recipe::new(format!("{name}-{compiler:?}")).input("ocaml/types");
    let script = repository().join("ocaml/types/build.sh");
    let arguments = [compiler.ocamlopt(), name.into()];
    recipe.step_of(script, arguments).build().join(name)
}

/// A folder with the zoo and its `.cmt` files.
fn zoo(compiler: Compiler) -> PathBuf {
    let files = ["types_zoo_store.mli", "types_zoo_store.ml", "types_zoo.ml"];
    let recipe = Recipe::new(format!("types_zoo-{compiler:?}")).source("heap_fixture.ml");
    let recipe =
        files.iter().fold(recipe, |recipe, file| recipe.source(&format!("types_zoo/{file}")));
    let arguments = format!("-g -bin-annot heap_fixture.ml {} -o types_zoo", files.join(" "));
    recipe.step(compiler.ocamlopt(), &arguments).build()
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

/// The helper's table of the zoo.
fn table(compiler: Compiler) -> Table {
    static MADE: [OnceLock<Table>; 2] = [const { OnceLock::new() }; 2];
    let make = || {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("zoo.types");
        let said = run(Command::new(helper(compiler)).arg("-o").arg(&output).arg(zoo(compiler)));
        assert!(said.starts_with("3 units") && said.ends_with("0 failures\n"), "{said}");
        Table::read(&fs::read(output).expect("a table")).expect("a table that can be read")
    };
    MADE[compiler as usize].get_or_init(make).clone()
}

/// A type in OCaml syntax.
fn show(table: &Table, id: TypeId) -> String {
    let all = |ids: &[TypeId], between| {
        ids.iter().map(|&id| show(table, id)).collect::<Vec<_>>().join(between)
    };
    match &table.types[id.index()] {
        Type::Variable(number) => format!("'{number}"),
        Type::Constructed { declaration, arguments } => {
            let name = &table.declarations[declaration.index()].name;
            match &arguments[..] {
                [] => name.to_string(),
                [one] => format!("{} {name}", show(table, *one)),
                several => format!("({}) {name}", all(several, ", ")),
            }
        }
        Type::Tuple(parts) => format!("({})", all(parts, " * ")),
        Type::Arrow { label, argument, result } => {
            format!("({label}{} -> {})", show(table, *argument), show(table, *result))
        }
        Type::Package { name, .. } => format!("(module {name})"),
        Type::Object(text) | Type::Opaque(text) => text.to_string(),
    }
}

fn declaration<'a>(table: &'a Table, name: &str) -> &'a Declaration {
    let mut found = table.declarations.iter().filter(|declaration| &*declaration.name == name);
    let first = found.next().unwrap_or_else(|| panic!("there is no {name}"));
    assert_eq!(found.next(), None, "{name} is declared once");
    first
}

/// A declaration as one line.
fn declared(table: &Table, name: &str) -> String {
    let fields = |fields: &[bactrian_types::Field]| {
        let field = |field: &bactrian_types::Field| {
            let is_mutable = if field.is_mutable { "mutable " } else { "" };
            format!("{is_mutable}{}:{}", field.name, show(table, field.of))
        };
        fields.iter().map(field).collect::<Vec<_>>().join("; ")
    };
    let representation = |representation: &Representation| match representation {
        Representation::Boxed => "",
        Representation::Unboxed => "unboxed ",
        Representation::Floats => "floats ",
    };
    match &declaration(table, name).kind {
        DeclarationKind::Alias(of) => show(table, *of),
        DeclarationKind::Record(how, all) => format!("{}{{{}}}", representation(how), fields(all)),
        DeclarationKind::Variant(how, constructors) => {
            let constructor = |c: &bactrian_types::Constructor| {
                let result = c.result.iter().map(|result| {
                    let result: Vec<_> = result.iter().map(|&id| show(table, id)).collect();
                    format!(" : {}", result.join(", "))
                });
                let result: String = result.collect();
                format!("{}/{}({}){result}", c.name, c.tag, fields(&c.arguments))
            };
            let all: Vec<_> = constructors.iter().map(constructor).collect();
            format!("{}{}", representation(how), all.join(" | "))
        }
        other => format!("{other:?}"),
    }
}

fn layout<'a>(table: &'a Table, unit: &str) -> &'a Layout {
    let unit = table.units.iter().find(|known| &*known.name == unit).expect("the unit");
    &table.layouts[unit.layout.expect("a layout").index()]
}

/// The fields of a module in order, as text.
fn fields(table: &Table, layout: &Layout) -> Vec<String> {
    let field = |field: &bactrian_types::ModuleField| match &field.item {
        ModuleItem::Value(of) => format!("{}: {}", field.name, show(table, *of)),
        ModuleItem::Extension(id) => {
            format!("{}: {}", field.name, table.extensions[id.index()].name)
        }
        ModuleItem::Module(_) => format!("{}: module", field.name),
        ModuleItem::Other(text) => format!("{}: {text}", field.name),
    };
    layout.fields.iter().map(field).collect()
}

#[test]
fn hidden_fields_come_after_public_ones() {
    for compiler in BOTH {
        let table = table(compiler);
        let layout = layout(&table, "Types_zoo_store");
        assert_eq!(layout.public, 6, "{compiler:?}");
        assert_eq!(
            fields(&table, layout),
            [
                "find: (Types_zoo_store.t -> (string -> int option))",
                "shared: Types_zoo_store.t",
                "boxed: string Types_zoo_store.box",
                "Inner: module",
                "Full: Types_zoo_store.Full",
                "count: (Types_zoo_store.t -> int)",
                "hidden: float list",
                "most: Types_zoo_store.key ref",
                "first: Types_zoo_store.Inner.secret",
                "unseen: Types_zoo_store.Inner.secret array",
                "last: Types_zoo_store.Inner.secret",
            ],
            "{compiler:?}"
        );
        let ModuleItem::Module(inner) = layout.fields[3].item else { panic!("a module") };
        assert_eq!(
            fields(&table, &table.layouts[inner.index()]),
            ["last: Types_zoo_store.Inner.secret", "first: Types_zoo_store.Inner.secret"],
        );
    }
}

#[test]
fn globals_have_the_types_of_the_source() {
    let expected = [
        "tree: string Types_zoo.tree",
        "wrapped: Types_zoo.wrapped",
        "term: (int * string) Types_zoo.term",
        "shape: Types_zoo.shape",
        "answer: [> `Yes of int * string ]",
        "counter: Types_zoo.counter",
        "greeter: < greet : string -> string >",
        "by_name: Types_zoo.point Map.Make(String).t",
        "by_number: string Types_zoo.Int_map.t",
        "name_set: Set.Make(String).t",
        "names: float Types_zoo.Names.t",
        "queue: string Types_zoo.Fast.t",
        "buffered_index: Types_zoo.Buffered_text.entry Map.Make(Int).t",
        "item: (module Types_zoo.Item)",
        "pair: (module Types_zoo.Item with type t = int * string)",
        "hashed: (string, Types_zoo.point list) Types_zoo.table",
        "waiting: (int * string) Queue.t",
        "written: Buffer.t",
        "suspended: int lazy_t",
        "floats: float array",
        "wide: (int64 * nativeint)",
        "Lost: Types_zoo.Lost",
        "counted: int list ref",
        "store: (Types_zoo_store.t * string Types_zoo_store.box * Types_zoo_store.Inner.secret)",
    ];
    for compiler in BOTH {
        let table = table(compiler);
        let fields = fields(&table, layout(&table, "Types_zoo"));
        for expected in expected {
            assert!(fields.iter().any(|field| field == expected), "{compiler:?}: {expected}");
        }
        // The second `numbers` shadows the first; fields of `Fast` belong to the unit, too; methods are called.
        let hidden = &fields[layout(&table, "Types_zoo").public as usize..];
        let names: Vec<_> = hidden.iter().filter_map(|field| field.split(':').next()).collect();
        assert_eq!(names, ["numbers", "made", "empty", "push", "method cache"], "{compiler:?}");
    }
}

#[test]
fn declarations_say_how_values_look() {
    let expected = [
        ("Types_zoo.point", "{x:int; mutable y:string}"),
        ("Types_zoo.speeds", "floats {fast:float; mutable slow:float}"),
        (
            "Types_zoo.tree",
            "Leaf/0() | Node/0(left:'0 Types_zoo.tree; value:'0; right:'0 Types_zoo.tree) | \
             Pair/1(:'0; :'0 Types_zoo.tree)",
        ),
        ("Types_zoo.wrapped", "unboxed Wrapped/0(:Types_zoo.point)"),
        ("Types_zoo.alone", "unboxed {only:string list}"),
        (
            "Types_zoo.term",
            "Int/0(:int) : int | Text/1(:string) : string | \
             Both/2(:'0 Types_zoo.term; :'1 Types_zoo.term) : ('0 * '1) | \
             Choice/3(:bool Types_zoo.term; :'0 Types_zoo.term; :'0 Types_zoo.term) : '0 | Truth/0() : bool",
        ),
        ("Types_zoo.shown", "Shown/0(:'0; :('0 -> string)) : "),
        ("Types_zoo.Fast.t", "{front:'0 list; back:'0 list}"),
        ("Types_zoo.Buffered.entry", "{item:'0; rank:int}"),
        ("Types_zoo.Buffered_text.entry", "{item:Types_zoo.Buffered_text(argument).t; rank:int}"),
        ("Types_zoo.Even.t", "Zero/0() | After/0(:Types_zoo.Odd.t)"),
        ("Types_zoo.Local.t", "{inside:string}"),
        ("Types_zoo_store.t", "{mutable entries:(string * int) list; limit:int}"),
        ("Types_zoo_store.box", "Box/0(content:'0; label:string) | Empty/0()"),
        ("list", "[]/0() | ::/0(:'0; :'0 list)"),
        ("ref", "{mutable contents:'0}"),
        ("Map.Make(String).key", "String.t"),
        ("Types_zoo.Int_map(argument).t", "int"),
        (
            "Types_zoo.Int_map.t",
            "Empty/0() | Node/0(l:'0 Types_zoo.Int_map.t; v:Types_zoo.Int_map.key; d:'0; \
             r:'0 Types_zoo.Int_map.t; h:int)",
        ),
    ];
    for compiler in BOTH {
        let table = table(compiler);
        for (name, expected) in expected {
            assert_eq!(declared(&table, name), expected, "{compiler:?}: {name}");
        }
        for (name, generic) in [
            ("Types_zoo.Int_map.t", "Map.Make.t"),
            ("Map.Make(String).t", "Map.Make.t"),
            ("Types_zoo.Buffered_text.entry", "Types_zoo.Buffered.entry"),
        ] {
            let id = declaration(&table, name).generic.expect("what it is an instance of");
            assert_eq!(&*table.declarations[id.index()].name, generic, "{compiler:?}: {name}");
        }
        let not_found = table.extensions.iter().find(|known| &*known.name == "Not_found");
        assert!(not_found.is_some_and(|known| known.arguments.is_empty()));
        let DeclarationKind::Cases { cases, is_closed } =
            &declaration(&table, "[> `End | `More of int * 'self ]").kind
        else {
            panic!("cases")
        };
        // As computed by the runtime: caml_hash_variant.
        assert_eq!((cases[0].hash, &*cases[1].name, *is_closed), (3_455_931, "More", false));
    }
}

/// The line of the zoo with this text, and its sites.
fn sites<'a>(table: &'a Table, text: &str) -> (String, Vec<&'a Site>) {
    let source =
        fs::read_to_string(repository().join("programs/types_zoo/types_zoo.ml")).expect("the zoo");
    let mut lines = source.lines().zip(1..);
    let (line, number) = lines.find(|(line, _)| line.contains(text)).expect("the line");
    let is_there = |site: &&Site| &*site.file == "types_zoo.ml" && site.line == number;
    (line.to_owned(), table.sites.iter().filter(is_there).collect())
}

#[test]
fn sites_say_what_is_allocated() {
    use SiteKind::*;
    let tree = "string Types_zoo.tree";
    let expected = [
        (
            "let point =",
            Record,
            Some(0),
            Some(2),
            "Types_zoo.point",
            "{ x = opaque 1; y = \"one\" }",
        ),
        (
            "let moved =",
            Record,
            Some(0),
            Some(2),
            "Types_zoo.point",
            "{ point with y = opaque \"two\" }",
        ),
        (
            "let speeds =",
            Record,
            Some(254),
            Some(2),
            "Types_zoo.speeds",
            "{ fast = opaque 1.5; slow = 2.5 }",
        ),
        ("let tree =", Constructor, Some(1), Some(2), tree, "Pair (opaque \"a\", Leaf)"),
        (
            "let wrapped =",
            Record,
            Some(0),
            Some(2),
            "Types_zoo.point",
            "{ x = opaque 3; y = \"three\" }",
        ),
        ("let term =", Constructor, Some(0), Some(1), "int Types_zoo.term", "Int (opaque 1)"),
        (
            "let answer =",
            Case,
            Some(0),
            Some(2),
            "[> `Yes of int * string ]",
            "(`Yes (opaque 1, \"one\"))",
        ),
        (
            "let suspended =",
            Lazy,
            Some(246),
            Some(1),
            "int lazy_t",
            "(opaque 1 + List.length colors)",
        ),
        ("let wide =", Primitive, Some(255), Some(2), "int64", "Int64.of_int (opaque 1)"),
        ("let boxed =", Array, None, Some(2), "int32 array", "[| Int32.of_int (opaque 1); 2l |]"),
        ("let counted =", Record, Some(0), Some(1), "int list ref", "ref (opaque [ 1 ])"),
        (
            "let add_to first =",
            Closure,
            Some(247),
            None,
            "(int -> int)",
            "fun second -> first + second",
        ),
        (
            "let partial =",
            Partial,
            Some(247),
            None,
            "(int list -> int list)",
            "List.map (fun n -> n + opaque 1)",
        ),
        (
            "let errors =",
            Extension,
            Some(0),
            Some(3),
            "exn",
            "{ where = opaque \"here\"; when_ = 1 }",
        ),
        (
            "let make ranks",
            Record,
            Some(0),
            Some(2),
            "Types_zoo.Buffered.entry",
            "{ item = Item.zero; rank }",
        ),
    ];
    for compiler in BOTH {
        let table = table(compiler);
        for (text, kind, tag, words, of, expression) in expected {
            let (line, there) = sites(&table, text);
            let fits = |site: &&Site| {
                (site.kind, site.tag, site.words) == (kind, tag, words)
                    && show(&table, site.of) == of
                    && line.get(site.start as usize..site.end as usize) == Some(expression)
            };
            assert!(there.iter().any(fits), "{compiler:?}: {expression} in {there:?}");
        }
    }
}

#[test]
fn a_damaged_file_does_not_stop_the_rest() {
    for compiler in BOTH {
        let table_of_all = table(compiler);
        let work = tempfile::tempdir().expect("a folder");
        let folder = work.path().join("damaged");
        fs::create_dir(&folder).expect("a folder");
        let zoo = zoo(compiler);
        let whole = fs::read(zoo.join("types_zoo.cmt")).expect("a file");
        fs::write(folder.join("cut.cmt"), &whole[..whole.len() / 2]).expect("room");
        fs::write(folder.join("empty.cmt"), "").expect("room");
        let mut other = whole.clone();
        other[9..12].copy_from_slice(b"001");
        fs::write(folder.join("other.cmt"), other).expect("room");
        // An undamaged file, but its interface was recompiled.
        fs::copy(zoo.join("heap_fixture.cmt"), folder.join("x.cmt")).expect("room");
        fs::copy(zoo.join("types_zoo.cmi"), folder.join("x.cmi")).expect("room");
        let output = work.path().join("damaged.types");
        run(Command::new(helper(compiler)).arg("-o").arg(&output).args([
            &folder,
            &zoo,
            &folder.join("missing.cmt"),
        ]));
        let table = Table::read(&fs::read(output).expect("a table")).expect("a whole table");
        let failed: Vec<_> = table
            .failures
            .iter()
            .map(|failure| failure.file.rsplit('/').next().unwrap_or_default().to_owned())
            .collect();
        let expected = ["missing.cmt", "cut.cmt", "empty.cmt", "other.cmt", "x.cmi"];
        assert_eq!(failed, expected, "{compiler:?}");
        let other_version = &*table.failures[3].reason;
        assert_eq!(other_version, "it was written by another version of the compiler");
        let unfit = table.units.iter().find(|unit| unit.file.ends_with("x.cmt"));
        assert!(unfit.is_some_and(|unit| unit.layout.is_none()), "{compiler:?}");
        assert_eq!(table.sites.len(), table_of_all.sites.len());
    }
}

#[test]
fn units_of_the_same_name_are_distinguished_in_dunes_folders() {
    for compiler in BOTH {
        let work = tempfile::tempdir().expect("a folder");
        let root = work.path().join("same");
        for (folder, fields) in [("a", "{ a : int }"), ("b", "{ b : string; c : float }")] {
            // As dune does it: .cmt and .cmi in one folder, .cmx in another.
            let [objects, native] =
                ["byte", "native"].map(|kind| root.join(folder).join(".main.eobjs").join(kind));
            for folder in [&objects, &native] {
                fs::create_dir_all(folder).expect("a folder");
            }
            fs::write(objects.join("shape.ml"), format!("type t = {fields}")).expect("room");
            fs::write(objects.join("main.ml"), "let all : Shape.t list = []").expect("room");
            run(Command::new(compiler.ocamlopt())
                .args(["-bin-annot", "-c", "shape.ml", "main.ml"])
                .current_dir(&objects));
            fs::rename(objects.join("main.cmx"), native.join("main.cmx")).expect("room");
            // The installed files are another copy.
            let installed = root.join(folder).join("install");
            fs::create_dir_all(&installed).expect("a folder");
            fs::copy(objects.join("main.cmt"), installed.join("main.cmt")).expect("room");
        }
        let output = work.path().join("same.types");
        run(Command::new(helper(compiler)).arg("-o").arg(&output).arg(&root));
        let table = Table::read(&fs::read(output).expect("a table")).expect("a whole table");
        let mains: Vec<_> = table.units.iter().filter(|unit| &*unit.name == "Main").collect();
        assert_eq!(mains.len(), 2, "{compiler:?}");
        let sizes = mains.iter().map(|unit| {
            assert!(unit.interface.is_some() && unit.implementation.is_some());
            let layout = &table.layouts[unit.layout.expect("a layout").index()];
            let ModuleItem::Value(list) = layout.fields[0].item else { panic!("a value") };
            let Type::Constructed { arguments, .. } = &table.types[list.index()] else {
                panic!("a list")
            };
            let Type::Constructed { declaration, .. } = table.types[arguments[0].index()] else {
                panic!("a declared type")
            };
            let DeclarationKind::Record(_, fields) = &table.declarations[declaration.index()].kind
            else {
                panic!("a record")
            };
            fields.len()
        });
        assert_eq!(sizes.collect::<Vec<_>>(), [1, 2], "{compiler:?}");
    }
}
