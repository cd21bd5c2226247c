//! A table with something of every kind. The fuzz seeds are made from it, too.

use bactrian_types::{
    Builtin, Captured, Case, Constructor, Declaration, DeclarationId, DeclarationKind, Extension,
    ExtensionId, Failure, Field, Function, Layout, LayoutId, Lines, ModuleField, ModuleItem,
    Representation, Site, SiteKind, Table, Type, TypeId, Unit, UnitId, Variable,
};

fn field(name: &str, of: u32) -> Field {
    Field { name: name.into(), is_mutable: name == "mutable", of: TypeId(of) }
}

fn declaration(name: &str, arity: u32, kind: DeclarationKind) -> Declaration {
    Declaration { name: name.into(), arity, kind, generic: None }
}

/// A table with something of every kind.
pub fn everything() -> Table {
    let constructor = |name: &str, arguments, result| Constructor {
        name: name.into(),
        tag: 0,
        arguments,
        result,
    };
    let constructed = |declaration, arguments| Type::Constructed {
        declaration: DeclarationId(declaration),
        arguments,
    };
    Table {
        compiler: "4.13.1".into(),
        units: vec![Unit {
            name: "Dune__exe__Main".into(),
            source: "bin/main.ml".into(),
            file: "main.cmt".into(),
            interface: Some([7; 16]),
            implementation: None,
            layout: Some(LayoutId(0)),
        }],
        types: vec![
            Type::Variable(0),
            constructed(0, vec![]),
            constructed(1, vec![TypeId(0)]),
            Type::Tuple(vec![TypeId(1), TypeId(2)]),
            Type::Arrow { label: "~key".into(), argument: TypeId(1), result: TypeId(3) },
            Type::Package { name: "Main.S".into(), layout: LayoutId(0) },
            Type::Object("< m : int >".into()),
            Type::Opaque("?".into()),
        ],
        declarations: vec![
            declaration("int", 0, DeclarationKind::Builtin(Builtin::Immediate)),
            declaration(
                "list",
                1,
                DeclarationKind::Variant(
                    Representation::Boxed,
                    vec![
                        constructor("[]", vec![], None),
                        constructor("::", vec![field("", 0), field("", 2)], None),
                    ],
                ),
            ),
            declaration(
                "Main.t",
                0,
                DeclarationKind::Record(Representation::Floats, vec![field("mutable", 1)]),
            ),
            declaration("Main.u", 0, DeclarationKind::Abstract("no .cmt".into())),
            declaration("Main.a", 0, DeclarationKind::Alias(TypeId(3))),
            declaration("exn", 0, DeclarationKind::Open),
            declaration(
                "[ `A of int ]",
                0,
                DeclarationKind::Cases {
                    cases: vec![Case { name: "A".into(), hash: -65, of: Some(TypeId(1)) }],
                    is_closed: true,
                },
            ),
            Declaration {
                generic: Some(DeclarationId(1)),
                ..declaration(
                    "Main.g",
                    1,
                    DeclarationKind::Variant(
                        Representation::Unboxed,
                        vec![constructor("G", vec![field("", 0)], Some(vec![TypeId(1)]))],
                    ),
                )
            },
        ],
        extensions: vec![Extension {
            name: "Main.Error".into(),
            extends: DeclarationId(5),
            result: vec![],
            arguments: vec![field("", 1)],
        }],
        layouts: vec![Layout {
            name: "Main".into(),
            fields: vec![
                ModuleField { name: "x".into(), item: ModuleItem::Value(TypeId(3)) },
                ModuleField { name: "Error".into(), item: ModuleItem::Extension(ExtensionId(0)) },
                ModuleField { name: "M".into(), item: ModuleItem::Module(LayoutId(0)) },
                ModuleField { name: "F".into(), item: ModuleItem::Other("functor".into()) },
            ],
            public: 2,
        }],
        sites: vec![Site {
            unit: UnitId(0),
            file: "bin/main.ml".into(),
            line: 12,
            start: 4,
            end: 300,
            kind: SiteKind::Constructor,
            tag: Some(0),
            words: Some(2),
            of: TypeId(2),
            name: "::".into(),
        }],
        variables: vec![Variable {
            scope: Some(Lines { file: "m.ml".into(), first: 3, last: 9, of_parameter: true }),
            unit: UnitId(0),
            stamp: 300,
            name: "kept".into(),
            item: ModuleItem::Value(TypeId(2)),
        }],
        functions: vec![Function {
            unit: UnitId(0),
            file: "m.ml".into(),
            first: 3,
            last: 4,
            captured: vec![
                Captured { name: "x".into(), of: Some(TypeId(0)) },
                Captured { name: "n".into(), of: None },
            ],
        }],
        failures: vec![Failure { file: "other.cmt".into(), reason: "it is cut".into() }],
    }
}
