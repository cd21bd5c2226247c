//! The contents of a table, independent of their encoding.

use std::sync::Arc;

use super::{DeclarationId, ExtensionId, LayoutId, TypeId, UnitId};

/// A text; equal texts are stored once.
pub type Text = Arc<str>;

/// What the compiler knew of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The compiler's version, such as `4.13.1`.
    pub compiler: Text,
    /// The compilation units that were read.
    pub units: Vec<Unit>,
    /// Types. The parts of a type have smaller numbers.
    pub types: Vec<Type>,
    /// Declarations of types. They may refer to each other in any order.
    pub declarations: Vec<Declaration>,
    /// Constructors of extensible types, including exceptions.
    pub extensions: Vec<Extension>,
    /// The contents of the blocks of modules.
    pub layouts: Vec<Layout>,
    /// Where allocations may happen, in order of file, line and columns.
    pub sites: Vec<Site>,
    /// Variables that may hold blocks, in order of unit and stamp.
    pub variables: Vec<Variable>,
    /// Functions that capture variables.
    pub functions: Vec<Function>,
    /// Files that could not be read.
    pub failures: Vec<Failure>,
}

/// A compilation unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its name in the linker, such as `Stdlib__Map`.
    pub name: Text,
    /// Its source file, as it was passed to the compiler.
    pub source: Text,
    /// The `.cmt` file it was read from.
    pub file: Text,
    /// The digest of its interface (`.cmi`), which a linked program contains as well.
    pub interface: Option<[u8; 16]>,
    /// The digest of its implementation (`.cmx`), if that file was beside the `.cmt` file.
    pub implementation: Option<[u8; 16]>,
    /// The contents of its module block.
    pub layout: Option<LayoutId>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A variable. In a declaration, numbers below its arity are its parameters. All other variables, in
    /// declarations and elsewhere, stand for some type, which is the same for each occurrence of the number in
    /// the same declaration, constructor, site or field.
    Variable(u32),
    /// A declared type with its arguments, one for each parameter.
    Constructed {
        /// The declaration.
        declaration: DeclarationId,
        /// Its arguments.
        arguments: Vec<TypeId>,
    },
    /// A tuple.
    Tuple(Vec<TypeId>),
    /// A function.
    Arrow {
        /// Its label, such as `~key` or `?key`; empty if there is none.
        label: Text,
        /// The type of its argument.
        argument: TypeId,
        /// The type of its result.
        result: TypeId,
    },
    /// A first-class module.
    Package {
        /// Its module type in OCaml syntax.
        name: Text,
        /// The contents of its block.
        layout: LayoutId,
    },
    /// An object, with its type in OCaml syntax.
    Object(Text),
    /// A type that is not analysed, in OCaml syntax.
    Opaque(Text),
}

/// The declaration of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name as users write it: `Ast.expr`, `Hashtbl.t`, `Map.Make(Text).t`; for polymorphic variants, the
    /// type itself.
    pub name: Text,
    /// The number of its parameters.
    pub arity: u32,
    /// The representation of its values.
    pub kind: DeclarationKind,
    /// If it comes from a functor application, the declaration in the functor's body. In that one, types from
    /// the functor's parameters are variables numbered from the arity on.
    pub generic: Option<DeclarationId>,
}

/// The representation of a declared type's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclarationKind {
    /// Unknown; the text gives the reason, unless the type is simply abstract.
    Abstract(Text),
    /// That of another type.
    Alias(TypeId),
    /// Records.
    Record(Representation, Vec<Field>),
    /// Variants. If unboxed, there is one constructor with one argument, which is the value.
    Variant(Representation, Vec<Constructor>),
    /// Polymorphic variants.
    Cases {
        /// The known cases.
        cases: Vec<Case>,
        /// Whether these are all cases.
        is_closed: bool,
    },
    /// An extensible type: blocks of tag 0 whose first field is the constructor.
    Open,
    /// A built-in type, which is not declared anywhere.
    Builtin(Builtin),
}

/// How records and variants are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// In blocks.
    Boxed,
    /// Unboxed: the only field is the value.
    Unboxed,
    /// As an array of floats.
    Floats,
}

/// A field of a record, or an argument of a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty for constructor arguments without names.
    pub name: Text,
    /// Whether it is mutable.
    pub is_mutable: bool,
    /// Its type.
    pub of: TypeId,
}

/// A constructor of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// Its name.
    pub name: Text,
    /// Its tag among those with arguments, or its number among those without.
    pub tag: u32,
    /// Its arguments.
    pub arguments: Vec<Field>,
    /// For constructors with an explicit result type (GADTs): the arguments of that type, one for each
    /// parameter of the declaration. All variables are then the constructor's own.
    pub result: Option<Vec<TypeId>>,
}

/// A case of a polymorphic variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name, without the backquote.
    pub name: Text,
    /// The integer that represents it.
    pub hash: i32,
    /// The type of its argument, if it has one.
    pub of: Option<TypeId>,
}

/// A built-in type, which is not declared anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `int`, `char` and everything else that is never a block.
    Immediate,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `float`
    Float,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `nativeint`
    Nativeint,
    /// `'a array`
    Array,
    /// `floatarray`
    Floatarray,
    /// `'a lazy_t`
    Lazy,
}

/// A constructor of an extensible type. Its values are blocks of tag 0 with the constructor itself followed by
/// the arguments; without arguments, the constructor itself is the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name in OCaml syntax, such as `Unix.Unix_error`.
    pub name: Text,
    /// The type that it extends.
    pub extends: DeclarationId,
    /// The arguments of that type.
    pub result: Vec<TypeId>,
    /// The arguments of the constructor.
    pub arguments: Vec<Field>,
}

/// The contents of a module's block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The module, in OCaml syntax.
    pub name: Text,
    /// Its fields, in order.
    pub fields: Vec<ModuleField>,
    /// How many of them, from the first, are public. The others exist only in native code without flambda.
    pub public: u32,
}

/// A field of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleField {
    /// Its name.
    pub name: Text,
    /// What it is.
    pub item: ModuleItem,
}

/// What a field of a module is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleItem {
    /// A value of this type.
    Value(TypeId),
    /// A constructor of an extensible type.
    Extension(ExtensionId),
    /// A module.
    Module(LayoutId),
    /// Something else: `functor`, `class`, or why it is unknown.
    Other(Text),
}

/// A source location where an allocation may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The unit that contains it.
    pub unit: UnitId,
    /// The file, as it was passed to the compiler.
    pub file: Text,
    /// The line, from 1.
    pub line: u32,
    /// The column at which the expression begins, from 0.
    pub start: u32,
    /// The column at which it ends, counted from the start of the same line even if it ends on another.
    pub end: u32,
    /// What is allocated.
    pub kind: SiteKind,
    /// The tag of the block, if there is only one possible tag.
    pub tag: Option<u8>,
    /// The size of the block in words without its header, if it is known.
    pub words: Option<u32>,
    /// The type of the block.
    pub of: TypeId,
    /// The name of the constructor or the primitive.
    pub name: Text,
}

/// What is allocated at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteKind {
    /// A constructor with arguments.
    Constructor,
    /// A record, or a modified copy of one (`{ r with .. }`).
    Record,
    /// A tuple.
    Tuple,
    /// An array literal.
    Array,
    /// A polymorphic variant with an argument.
    Case,
    /// A constructor of an extensible type, with arguments.
    Extension,
    /// A function.
    Closure,
    /// A lazy value.
    Lazy,
    /// An object.
    Object,
    /// The block of a module, or of a functor.
    Module,
    /// The result of a primitive. The type is that of the result, which may not be the only block that it
    /// allocates.
    Primitive,
    /// A partial application.
    Partial,
    /// Another expression, which allocates if something inlined or boxed in it does. If a call allocates a
    /// closure, that is not the call's result but an intermediate partial application.
    Other,
}

/// A source variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The unit that contains it.
    pub unit: UnitId,
    /// A stamp that is unique in the unit; debug information of bytecode contains it as well.
    pub stamp: u32,
    /// Its name.
    pub name: Text,
    /// What it is.
    pub item: ModuleItem,
    /// Where it is in scope. None if that is the rest of its module, whose block holds it.
    pub scope: Option<Lines>,
}

/// The lines of the source in which a variable is in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The file.
    pub file: Text,
    /// The first line.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// Whether these are the lines of a function whose parameter it is.
    pub of_parameter: bool,
}

/// A function of the source, with its captured variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The unit that contains it.
    pub unit: UnitId,
    /// The file.
    pub file: Text,
    /// Its first line.
    pub first: u32,
    /// Its last one.
    pub last: u32,
    /// The captured variables, in the order of the environment.
    pub captured: Vec<Captured>,
}

/// A captured variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Its name.
    pub name: Text,
    /// Its type, if it is useful: none for integers and modules.
    pub of: Option<TypeId>,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file.
    pub file: Text,
    /// Why not.
    pub reason: Text,
}
