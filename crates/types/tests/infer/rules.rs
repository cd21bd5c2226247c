//! What is concluded about a block, and what is not.

use bactrian_snapshot::{BlockId, Module, ModuleId, Pointer, Root, RootKind, tag};
use bactrian_types::{
    Builtin, Case, Category, Collection, DeclarationKind, Extension, ExtensionId, Layout, LayoutId,
    ModuleField, ModuleItem, Representation, SiteKind, Type, UnitFate,
};

use crate::world::{Int, To, World, constructor, name, named_fields};

#[test]
fn types_spread_from_globals_along_pointers() {
    let mut world = World::new();
    let texts = world.list(world.string);
    let person = world.record("Main.person", &[("name", world.string), ("friends", texts)]);
    let people = world.array(person);
    let text = world.text();
    let friends = world.cells(&[text, text]);
    let record = world.block(0, &[To(text), To(friends)]);
    let all = world.block(0, &[To(record), To(record)]);
    world.value("people", people, all);
    let typing = world.infer();
    assert_eq!(name(&typing, all), "Main.person array");
    assert_eq!(name(&typing, record), "Main.person");
    assert_eq!(name(&typing, friends), "string list");
    assert_eq!(name(&typing, text), "string");
    assert_eq!(typing.category(BlockId(text)), Category::Exact);
    assert_eq!(typing.origin(BlockId(text)), Some("global Main.people"));
    assert_eq!(typing.field_name(BlockId(record), 1), Some("friends"));
    assert_eq!(typing.constructor(BlockId(friends)), Some("::"));
    assert_eq!(typing.collection(typing.class_of(BlockId(friends))), Some(Collection::List));
    assert_eq!(typing.collection(typing.class_of(BlockId(all))), Some(Collection::Array));
    assert_eq!(typing.coverage().typed_words(), typing.coverage().words());
    assert_eq!(typing.units()[0].fate, UnitFate::Whole);
}

#[test]
fn abbreviations_are_expanded() {
    let mut world = World::new();
    let a = world.variable(0);
    let pair = world.of(Type::Tuple(vec![a, a]));
    let twice = world.declare("Main.twice", 1, DeclarationKind::Alias(pair));
    let of = world.named(twice, &[world.string]);
    let text = world.text();
    let block = world.block(0, &[To(text), To(text)]);
    world.value("pair", of, block);
    let typing = world.infer();
    assert_eq!(name(&typing, block), "string * string");
    assert_eq!(name(&typing, text), "string");
}

#[test]
fn cyclic_abbreviation_terminates() {
    let mut world = World::new();
    let next = bactrian_types::DeclarationId(world.table.declarations.len() as u32);
    let of = world.of(Type::Constructed { declaration: next, arguments: Vec::new() });
    let pair = world.of(Type::Tuple(vec![of, of]));
    world.declare("Main.endless", 0, DeclarationKind::Alias(pair));
    let block = world.block(0, &[Int(1), Int(2)]);
    world.value("endless", of, block);
    world.infer();
}

#[test]
fn a_type_that_does_not_fit_is_a_conflict() {
    let mut world = World::new();
    let triple = world.of(Type::Tuple(vec![world.int; 3]));
    let block = world.block(0, &[Int(1), Int(2)]);
    world.value("triple", triple, block);
    let typing = world.infer();
    assert_eq!(name(&typing, block), "block of tag 0");
    assert_eq!(typing.category(BlockId(block)), Category::Unknown);
    let [conflict] = typing.conflicts() else { panic!("{:?}", typing.conflicts()) };
    assert_eq!((conflict.kept.as_deref(), &*conflict.other), (None, "int * int * int"));
    assert_eq!(typing.reason(BlockId(block)), Some("a conflict"));
}

#[test]
fn two_types_for_one_block_are_a_conflict_and_the_better_known_stays() {
    let mut world = World::new();
    let one = world.record("Main.one", &[("a", world.int)]);
    let other = world.record("Main.other", &[("a", world.int)]);
    let third = world.block(0, &[Int(1)]);
    let block = world.block(0, &[Int(1)]);
    world.value("one", one, block);
    world.value("third", one, third);
    world.value("again", other, third);
    world.site(3, SiteKind::Record, (0, 1), other, "");
    world.sample(3, block);
    let typing = world.infer();
    assert_eq!(typing.coverage().conflicts, 2);
    let of = |block| typing.conflicts().iter().find(|conflict| conflict.block == block);
    let conflict = of(BlockId(block)).expect("a conflict");
    assert_eq!(conflict.kept.as_deref(), Some("Main.one"));
    assert_eq!(conflict.other_origin, "sampled at main.ml:3");
    assert_eq!(typing.category(BlockId(block)), Category::Exact);
    // Between equal ranks, neither is believed.
    assert_eq!(typing.category(BlockId(third)), Category::Unknown);
}

#[test]
fn shared_constants_get_the_common_part_of_their_types() {
    let mut world = World::new();
    let colors = vec![constructor("Red", 0, &[]), constructor("Green", 1, &[])];
    let color =
        world.declare("Main.color", 0, DeclarationKind::Variant(Representation::Boxed, colors));
    let color = world.named(color, &[]);
    let (numbers, colors) = (world.list(world.int), world.list(color));
    let pair = world.of(Type::Tuple(vec![world.int, world.int]));
    let block = world.block(0, &[Int(1), Int(0)]);
    let two = world.block(0, &[Int(1), Int(5)]);
    world.value("numbers", numbers, block);
    world.value("colors", colors, block);
    world.value("pair", pair, two);
    world.value("list", numbers, two);
    let typing = world.infer_with(2);
    assert_eq!(typing.coverage().conflicts, 0);
    assert_eq!(name(&typing, block), "_ list");
    assert_eq!(name(&typing, two), "block of tag 0");
    assert_eq!(typing.reason(BlockId(two)), Some("constants that several types share"));
}

#[test]
fn gadt_constructors_determine_their_fields() {
    let mut world = World::new();
    let a = world.variable(0);
    let next = bactrian_types::DeclarationId(world.table.declarations.len() as u32);
    let inner = world.of(Type::Constructed { declaration: next, arguments: vec![a] });
    let lists = world.list(a);
    let mut text = constructor("Text", 0, &[("", world.string)]);
    text.result = Some(vec![world.string]);
    let mut many = constructor("Many", 1, &[("", inner)]);
    many.result = Some(vec![lists]);
    let kind = DeclarationKind::Variant(Representation::Boxed, vec![text, many]);
    let term = world.declare("Main.term", 1, kind);
    let some = world.variable(7);
    let texts = world.list(world.string);
    let of = world.named(term, &[texts]);
    let unknown = world.named(term, &[some]);
    let string = world.text();
    let leaf = world.block(0, &[To(string)]);
    let top = world.block(1, &[To(leaf)]);
    let sampled = world.block(1, &[To(leaf)]);
    world.value("term", of, top);
    world.site(9, SiteKind::Constructor, (1, 1), unknown, "Many");
    world.sample(9, sampled);
    let typing = world.infer();
    assert_eq!(name(&typing, top), "string list Main.term");
    assert_eq!(name(&typing, leaf), "string Main.term");
    assert_eq!(name(&typing, string), "string");
    assert_eq!(name(&typing, sampled), "string list Main.term");
    assert_eq!(typing.constructor(BlockId(sampled)), Some("Many"));
    assert_eq!(typing.coverage().conflicts, 0);
}

#[test]
fn lazy_values_are_suspended_forwarded_or_what_they_became() {
    let mut world = World::new();
    let texts = world.list(world.string);
    let of = world.lazy(texts);
    let lazies = world.array(of);
    let string = world.text();
    let closure = world.block(tag::CLOSURE, &[Int(0), Int(0)]);
    let suspended = world.block(tag::LAZY, &[To(closure)]);
    let cells = world.cells(&[string]);
    let forward = world.block(tag::FORWARD, &[To(cells)]);
    let became = world.cells(&[string, string]);
    let all = world.block(0, &[To(suspended), To(forward), To(became)]);
    world.value("lazies", lazies, all);
    let typing = world.infer();
    assert_eq!(name(&typing, suspended), "string list Lazy.t");
    assert_eq!(name(&typing, forward), "string list Lazy.t");
    assert_eq!(name(&typing, cells), "string list");
    assert_eq!(name(&typing, became), "string list");
    assert_eq!(name(&typing, closure), "closure");
}

#[test]
fn unboxed_types_are_what_is_in_them() {
    let mut world = World::new();
    let texts = world.list(world.string);
    let fields = named_fields(&[("only", texts)]);
    let alone =
        world.declare("Main.alone", 0, DeclarationKind::Record(Representation::Unboxed, fields));
    let of = world.named(alone, &[]);
    let string = world.text();
    let cells = world.cells(&[string]);
    world.value("alone", of, cells);
    assert_eq!(name(&world.infer(), cells), "string list");
}

#[test]
fn polymorphic_variants_are_recognised_by_their_integer() {
    let mut world = World::new();
    let case = |name: &str, hash, of| Case { name: name.into(), hash, of };
    let cases = vec![
        case("Text", 100, Some(world.string)),
        case("Number", 200, Some(world.float)),
        case("End", 300, None),
    ];
    let kind = DeclarationKind::Cases { cases, is_closed: true };
    let of = world.declare("[ `End | `Number of float | `Text of string ]", 0, kind);
    let of = world.named(of, &[]);
    let all = world.array(of);
    let (string, float) = (world.text(), world.block(tag::DOUBLE, &[Int(0)]));
    let text = world.block(0, &[Int(100), To(string)]);
    let number = world.block(0, &[Int(200), To(float)]);
    let array = world.block(0, &[To(text), To(number), Int(300)]);
    world.value("all", all, array);
    let typing = world.infer();
    assert_eq!(typing.constructor(BlockId(text)), Some("`Text"));
    assert_eq!(typing.constructor(BlockId(number)), Some("`Number"));
    assert_eq!(name(&typing, string), "string");
    let class = &typing.classes()[typing.class_of(BlockId(text)).index()];
    assert_eq!(class.constants, [(300, "`End".into())]);
}

#[test]
fn exceptions_are_recognised_by_their_constructor() {
    let mut world = World::new();
    let exn = world.declare("exn", 0, DeclarationKind::Open);
    let of = world.named(exn, &[]);
    world.table.extensions.push(Extension {
        name: "Main.Lost".into(),
        extends: exn,
        result: Vec::new(),
        arguments: named_fields(&[("place", world.string)]),
    });
    let string = world.text();
    let called = world.text();
    let lost = world.block(tag::OBJECT, &[To(called), Int(5)]);
    let value = world.block(0, &[To(lost), To(string)]);
    world.value("last", of, value);
    world.global("Lost", ModuleItem::Extension(ExtensionId(0)), lost);
    let typing = world.infer();
    assert_eq!(name(&typing, value), "exn");
    assert_eq!(typing.constructor(BlockId(value)), Some("Main.Lost"));
    assert_eq!(typing.field_name(BlockId(value), 1), Some("place"));
    assert_eq!(name(&typing, string), "string");
    assert_eq!(name(&typing, lost), "extension constructor");
}

#[test]
fn modules_in_modules_have_fields() {
    let mut world = World::new();
    let string = world.string;
    let fields = vec![ModuleField { name: "title".into(), item: ModuleItem::Value(string) }];
    world.table.layouts.push(Layout { name: "Main.Inner".into(), fields, public: 1 });
    let text = world.text();
    let inner = world.block(0, &[To(text)]);
    world.global("Inner", ModuleItem::Module(LayoutId(1)), inner);
    let typing = world.infer();
    assert_eq!(name(&typing, inner), "module Main.Inner");
    assert_eq!(typing.field_name(BlockId(inner), 0), Some("title"));
    assert_eq!(name(&typing, text), "string");
}

#[test]
fn a_unit_of_another_build_is_not_used() {
    let mut world = World::new();
    let text = world.text();
    let block = world.cells(&[text]);
    let texts = world.list(world.string);
    world.value("texts", texts, block);
    world.table.units[0].interface = Some([8; 16]);
    let typing = world.infer();
    assert_eq!(typing.units()[0].fate, UnitFate::Stale);
    assert_eq!(name(&typing, block), "block of tag 0");
    assert_eq!(typing.reason(BlockId(block)), Some("the .cmt file of Main is of another build"));
    world.table.units[0].interface = None;
    assert_eq!(world.infer().units()[0].fate, UnitFate::Unchecked);
    world.table.units.clear();
    assert_eq!(world.infer().units()[0].fate, UnitFate::Missing);
}

#[test]
fn flambda_value_gets_the_standing_of_its_module() {
    let mut world = World::new();
    let text = world.text();
    let block = world.cells(&[text]);
    let name = world.tables.names.add("Main.table");
    let part = Module::named(name);
    world.tables.modules.push(part);
    let kind = RootKind::Global { module: ModuleId(1), field: 0 };
    world.tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    let typing = world.infer();
    assert_eq!(typing.units()[1].fate, UnitFate::Public);
    assert_eq!(typing.reason(BlockId(block)), Some("hidden values of Main.table"));
    world.table.units[0].interface = Some([8; 16]);
    assert_eq!(world.infer().units()[1].fate, UnitFate::Stale);
}

#[test]
fn module_with_other_fields_gives_them_no_types() {
    let mut world = World::new();
    let text = world.text();
    let block = world.cells(&[text]);
    let texts = world.list(world.string);
    world.value("texts", texts, block);
    world.tables.modules[0].fields = Some(5);
    let typing = world.infer();
    assert_eq!(typing.units()[0].fate, UnitFate::SitesOnly);
    assert_eq!(name(&typing, block), "block of tag 0");
}

#[test]
fn samples_type_stack_blocks_and_elements_type_lists() {
    let mut world = World::new();
    let person = world.record("Main.person", &[("name", world.string), ("age", world.int)]);
    let a = world.variable(0);
    let of = world.list(a);
    let text = world.text();
    let one = world.block(0, &[To(text), Int(1)]);
    let other = world.block(0, &[To(text), Int(1)]);
    let cells = world.cells(&[one, other]);
    world.stack(cells);
    world.site(1, SiteKind::Record, (0, 2), person, "");
    world.site(2, SiteKind::Constructor, (0, 2), of, "::");
    world.sample(1, one);
    world.sample(2, cells);
    let typing = world.infer();
    assert_eq!(name(&typing, cells), "Main.person list");
    assert_eq!(typing.category(BlockId(cells)), Category::Sample);
    assert_eq!(name(&typing, other), "Main.person");
    assert_eq!(typing.category(BlockId(other)), Category::Inference);
    assert_eq!(typing.origin(BlockId(one)), Some("sampled at main.ml:1"));
}

#[test]
fn disagreeing_elements_give_no_conclusion() {
    let mut world = World::new();
    let person = world.record("Main.person", &[("name", world.string), ("age", world.int)]);
    let a = world.variable(0);
    let of = world.list(a);
    let text = world.text();
    let one = world.block(0, &[To(text), Int(1)]);
    let other = world.block(3, &[Int(1)]);
    let cells = world.cells(&[one, other]);
    world.stack(cells);
    world.site(1, SiteKind::Record, (0, 2), person, "");
    world.site(2, SiteKind::Constructor, (0, 2), of, "::");
    world.sample(1, one);
    world.sample(2, cells);
    let typing = world.infer();
    assert_eq!(name(&typing, cells), "'a list");
    assert_eq!(name(&typing, other), "block of tag 3");
    assert_eq!(typing.coverage().conflicts, 0);
    assert!(typing.coverage().polymorphic.0 > 0);
}

#[test]
fn possible_lazy_values_do_not_bind_variables() {
    let mut world = World::new();
    let person = world.record("Main.person", &[("name", world.string), ("age", world.int)]);
    world.lazy(person);
    let a = world.variable(0);
    let of = world.list(a);
    let text = world.text();
    let one = world.block(0, &[To(text), Int(1)]);
    let cells = world.cells(&[one]);
    world.stack(cells);
    world.site(1, SiteKind::Record, (0, 2), person, "");
    world.site(2, SiteKind::Constructor, (0, 2), of, "::");
    world.sample(1, one);
    world.sample(2, cells);
    assert_eq!(name(&world.infer(), cells), "'a list");
}

#[test]
fn headers_bind_variables_at_the_end() {
    let mut world = World::new();
    let a = world.variable(0);
    let of = world.list(a);
    let (text, float) = (world.text(), world.block(tag::DOUBLE, &[Int(0)]));
    let texts = world.cells(&[text, text]);
    let floats = world.cells(&[float]);
    world.stack(texts);
    world.stack(floats);
    world.site(2, SiteKind::Constructor, (0, 2), of, "::");
    world.sample(2, texts);
    world.sample(2, floats);
    let typing = world.infer();
    assert_eq!(name(&typing, texts), "(string or bytes) list");
    assert_eq!(name(&typing, floats), "float list");
}

#[test]
fn sites_with_several_types_give_no_conclusion() {
    let mut world = World::new();
    let one = world.record("Main.one", &[("a", world.int)]);
    let other = world.record("Main.other", &[("a", world.int)]);
    let block = world.block(0, &[Int(1)]);
    world.stack(block);
    world.site(1, SiteKind::Record, (0, 1), one, "");
    world.site(1, SiteKind::Record, (0, 1), other, "");
    world.site(1, SiteKind::Record, (0, 2), world.int, "");
    world.sample(1, block);
    let typing = world.infer();
    assert_eq!(typing.category(BlockId(block)), Category::Unknown);
    assert_eq!(typing.reason(BlockId(block)), Some("held by stacks only"));
}

#[test]
fn primitives_count_only_if_they_return_what_they_allocate() {
    let mut world = World::new();
    let texts = world.array(world.string);
    let text = world.text();
    let made = world.block(0, &[To(text)]);
    let inner = world.block(0, &[To(text)]);
    world.stack(made);
    world.stack(inner);
    world.site(1, SiteKind::Primitive, (0, 1), texts, "caml_make_vect");
    world.site(2, SiteKind::Primitive, (0, 1), texts, "caml_input_value");
    world.sample(1, made);
    world.sample(2, inner);
    let typing = world.infer();
    assert_eq!(name(&typing, made), "string array");
    assert_eq!(typing.category(BlockId(inner)), Category::Unknown);
}

#[test]
fn functor_instances_are_distinguished_and_refine_their_body() {
    let mut world = World::new();
    let a = world.variable(0);
    let key = world.variable(1);
    let fields = named_fields(&[("key", key), ("data", a)]);
    let generic =
        world.declare("Map.Make(Ord).t", 1, DeclarationKind::Record(Representation::Boxed, fields));
    let instance = |world: &mut World, name: &str, key| {
        let fields = named_fields(&[("key", key), ("data", a)]);
        let id = world.declare(name, 1, DeclarationKind::Record(Representation::Boxed, fields));
        world.table.declarations[id.index()].generic = Some(generic);
        id
    };
    let (string, float, int) = (world.string, world.float, world.int);
    let by_text = instance(&mut world, "Map.Make(String).t", string);
    let by_float = instance(&mut world, "Map.Make(Float).t", float);
    let by_text = world.named(by_text, &[int]);
    let by_float = world.named(by_float, &[int]);
    let any = world.named(generic, &[a]);
    let text = world.text();
    let one = world.block(0, &[To(text), Int(1)]);
    let both = world.block(0, &[To(text), Int(1)]);
    world.value("one", by_text, one);
    world.value("both", by_text, both);
    world.value("again", by_float, both);
    world.site(1, SiteKind::Record, (0, 2), any, "");
    world.sample(1, one);
    let typing = world.infer();
    assert_eq!(name(&typing, one), "int Map.Make(String).t");
    assert_eq!(typing.collection(typing.class_of(BlockId(one))), Some(Collection::Map));
    assert_eq!(typing.coverage().conflicts, 1);
    assert_eq!(name(&typing, text), "string");
}

#[test]
fn custom_blocks_are_recognised_by_their_identifier() {
    let mut world = World::new();
    let boxed = world.declare("int32", 0, DeclarationKind::Builtin(Builtin::Int32));
    let of = world.named(boxed, &[]);
    let right = world.block(tag::CUSTOM, &[Int(0)]);
    let wrong = world.block(tag::CUSTOM, &[Int(0), Int(0)]);
    let other = world.block(tag::CUSTOM, &[Int(0), Int(0), Int(0)]);
    let alone = world.block(tag::CUSTOM, &[Int(0)]);
    world.value("right", of, right);
    world.value("wrong", of, wrong);
    world.stack(alone);
    let typing = world.infer();
    assert_eq!(name(&typing, right), "int32");
    assert_eq!(name(&typing, alone), "int32");
    assert_eq!(typing.category(BlockId(alone)), Category::Exact);
    assert_eq!(typing.coverage().conflicts, 1);
    assert_eq!(name(&typing, other), "custom block _bigarr02");
    assert_eq!(typing.category(BlockId(other)), Category::TagOnly);
}

#[test]
fn types_are_printed_in_ocaml_syntax() {
    let mut world = World::new();
    let arrow = |world: &mut World, label: &str, argument, result| {
        world.of(Type::Arrow { label: label.into(), argument, result })
    };
    let (int, string) = (world.int, world.string);
    let simple = arrow(&mut world, "", int, string);
    let higher = arrow(&mut world, "~f", simple, simple);
    let pair = world.of(Type::Tuple(vec![int, higher]));
    let pairs = world.list(pair);
    let taking = arrow(&mut world, "?many", pair, pairs);
    let closure = world.block(tag::CLOSURE, &[Int(0), Int(0)]);
    world.value("f", taking, closure);
    assert_eq!(
        name(&world.infer(), closure),
        "?many:int * (f:(int -> string) -> int -> string) -> \
         (int * (f:(int -> string) -> int -> string)) list"
    );
}

/// A person held only by the stack, with an address that was sampled, and other declarations.
fn person_on_stack(others: impl FnOnce(&mut World, bactrian_types::TypeId)) -> (World, u32) {
    let mut world = World::new();
    let address = world.record("Main.address", &[("street", world.string), ("number", world.int)]);
    world.record("Main.person", &[("name", world.string), ("home", address), ("age", world.int)]);
    others(&mut world, address);
    let text = world.text();
    let home = world.block(0, &[To(text), Int(1)]);
    let person = world.block(0, &[To(text), To(home), Int(1)]);
    world.stack(person);
    world.site(1, SiteKind::Record, (0, 2), address, "");
    world.sample(1, home);
    (world, person)
}

#[test]
fn elimination_finds_the_only_possible_type() {
    let (mut world, person) = person_on_stack(|_, _| {});
    let typing = world.infer();
    assert_eq!(name(&typing, person), "Main.person");
    assert_eq!(typing.category(BlockId(person)), Category::Inference);
    assert_eq!(typing.origin(BlockId(person)), Some("nothing else has such fields"));
}

#[test]
fn elimination_gives_up_on_two_possible_types() {
    let unknown = |others: fn(&mut World, bactrian_types::TypeId)| {
        let (mut world, person) = person_on_stack(others);
        let typing = world.infer();
        assert_eq!(
            typing.category(BlockId(person)),
            Category::Unknown,
            "{}",
            name(&typing, person)
        );
    };
    // A tuple with the same parts, known or not.
    unknown(|world, address| {
        world.of(Type::Tuple(vec![world.string, address, world.int]));
    });
    unknown(|world, address| {
        let a = world.variable(0);
        world.of(Type::Tuple(vec![a, address, a]));
    });
    // A type about which nothing is known.
    unknown(|world, _| {
        let a = world.variable(0);
        let fields = named_fields(&[("x", a), ("y", a), ("z", world.int)]);
        world.declare("Main.other", 1, DeclarationKind::Record(Representation::Boxed, fields));
        let b = world.variable(1);
        let fields = named_fields(&[("x", a), ("y", b), ("z", world.int)]);
        world.declare("Main.another", 2, DeclarationKind::Record(Representation::Boxed, fields));
    });
    // A module that the table does not know may have declared anything.
    unknown(|world, _| {
        let name = world.tables.names.add("Other");
        world.tables.modules.push(Module::named(name));
    });
}
