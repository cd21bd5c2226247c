//! What a table says, apart from how it is written down.

use std::sync::Arc;

use super::{DeclarationId, ExtensionId, LayoutId, TypeId, UnitId};

/// A text; those that are equal are kept once.
pub type Text = Arc<str>;

/// What the compiler knew of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The compiler's version, as `4.13.1`.
    pub compiler: Text,
    /// Compilation units that were read.
    pub units: Vec<Unit>,
    /// Types. Those that a type is made of have smaller numbers.
    pub types: Vec<Type>,
    /// Declarations of types. They may refer to each other in any order.
    pub declarations: Vec<Declaration>,
    /// Constructors of extensible types, exceptions among them.
    pub extensions: Vec<Extension>,
    /// What is in the blocks of modules.
    pub layouts: Vec<Layout>,
    /// Where something may be allocated, in order of file, line and characters.
    pub sites: Vec<Site>,
    /// Variables that may hold blocks, in order of unit and stamp.
    pub variables: Vec<Variable>,
    /// Functions that capture something.
    pub functions: Vec<Function>,
    /// Files that could not be read.
    pub failures: Vec<Failure>,
}

/// A compilation unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its name as the linker knows it, as `Stdlib__Map`.
    pub name: Text,
    /// Its source file, as the compiler was given it.
    pub source: Text,
    /// The `.cmt` file it was read from.
    pub file: Text,
    /// The digest of its interface (`.cmi`), which a linked program repeats.
    pub interface: Option<[u8; 16]>,
    /// The digest of its implementation (`.cmx`), if that file stood beside it.
    pub implementation: Option<[u8; 16]>,
    /// What is in its module block.
    pub layout: Option<LayoutId>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A variable. In a declaration, those below its arity are its parameters; all others, and all in other places,
    /// stand for some type that is the same wherever the number comes again in the same declaration, constructor,
    /// site or field.
    Variable(u32),
    /// A declared type with its arguments, as many as it has parameters.
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
        /// Its label, as `~key` or `?key`; empty if there is none.
        label: Text,
        /// What it is given.
        argument: TypeId,
        /// What it returns.
        result: TypeId,
    },
    /// A module as a value.
    Package {
        /// Its module type as a person writes it.
        name: Text,
        /// What is in its block.
        layout: LayoutId,
    },
    /// An object, as a person writes its type.
    Object(Text),
    /// A type that is not followed, as a person writes it.
    Opaque(Text),
}

/// The declaration of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// What it is called by a person who uses it: `Ast.expr`, `Hashtbl.t`, `Map.Make(Text).t`; for polymorphic
    /// variants, the type itself.
    pub name: Text,
    /// How many parameters it has.
    pub arity: u32,
    /// How its values look.
    pub kind: Kind,
    /// If it comes from a functor that was applied: the declaration in the functor's body. There, what comes from the
    /// functor's parameters are variables at and above the arity.
    pub generic: Option<DeclarationId>,
}

/// How values of a declared type look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is not known; the text says why, if there is a reason other than that it is abstract.
    Abstract(Text),
    /// As those of another type.
    Alias(TypeId),
    /// Records.
    Record(Representation, Vec<Field>),
    /// Variants. If unboxed, there is one constructor with one argument, which is the value.
    Variant(Representation, Vec<Constructor>),
    /// Polymorphic variants. If not closed, there may be cases that are not listed.
    Cases {
        /// What is known of them.
        cases: Vec<Case>,
        /// Whether these are all.
        is_closed: bool,
    },
    /// An extensible type: blocks of tag 0 whose first field is the constructor.
    Open,
    /// A type of the language that is not declared anywhere.
    Builtin(Builtin),
}

/// How records and variants are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// In blocks.
    Boxed,
    /// Not at all: the one field is the value.
    Unboxed,
    /// As an array of floats.
    Floats,
}

/// A field of a record, or an argument of a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty for arguments of constructors that have none.
    pub name: Text,
    /// Whether it can be assigned.
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
    /// For constructors that say what they construct (GADTs): the arguments of that type, as many as the
    /// declaration has parameters. All variables are then the constructor's own.
    pub result: Option<Vec<TypeId>>,
}

/// A case of a polymorphic variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name, without the backquote.
    pub name: Text,
    /// The integer that stands for it.
    pub hash: i32,
    /// The type of its argument.
    pub of: Option<TypeId>,
}

/// A type of the language that is not declared anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `int`, `char` and whatever else is never a block.
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

/// A constructor of an extensible type. Its values are blocks of tag 0: the constructor itself, then arguments;
/// without arguments, the constructor itself is the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name as a person writes it, as `Unix.Unix_error`.
    pub name: Text,
    /// The type that is extended.
    pub extends: DeclarationId,
    /// The arguments of that type.
    pub result: Vec<TypeId>,
    /// Its arguments.
    pub arguments: Vec<Field>,
}

/// What is in the block of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The module, as a person writes it.
    pub name: Text,
    /// Its fields in order.
    pub fields: Vec<ModuleField>,
    /// How many of them, from the first, others can see. The rest is there only in native code without flambda.
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
    /// Something else: `functor`, `class`, or why it is not known.
    Other(Text),
}

/// A place in a source file where something may be allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The unit it is in.
    pub unit: UnitId,
    /// The file, as the compiler was given it.
    pub file: Text,
    /// The line.
    pub line: u32,
    /// Characters from the start of that line to the beginning of the expression.
    pub start: u32,
    /// Characters from the start of that line to its end, even if that is on a later line.
    pub end: u32,
    /// What is allocated.
    pub kind: SiteKind,
    /// The tag of the block, if there is only one it can have.
    pub tag: Option<u8>,
    /// The size of the block without its header, if that is known.
    pub words: Option<u32>,
    /// The type of the block.
    pub of: TypeId,
    /// The constructor, or the primitive.
    pub name: Text,
}

/// What is allocated at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteKind {
    /// A constructor with arguments.
    Constructor,
    /// A record, also a changed copy of one.
    Record,
    /// A tuple.
    Tuple,
    /// An array that is written out.
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
    /// The block of a module, a functor's among them.
    Module,
    /// What a primitive returns. The type is that of its result, which may not be the only block that it allocates.
    Primitive,
    /// A function that is given some of its arguments.
    Partial,
    /// Some other expression, which allocates if what is inlined or boxed there does. If a closure is allocated by a
    /// call, it is not what the call returns, but a function that was given some of its arguments on the way.
    Other,
}

/// A variable of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The unit it is in.
    pub unit: UnitId,
    /// A number that no other variable of the unit has, as debug information of bytecode repeats it.
    pub stamp: u32,
    /// Its name.
    pub name: Text,
    /// What it is.
    pub item: ModuleItem,
    /// Where it can be named; none: in all that follows in its module, which holds it.
    pub scope: Option<Lines>,
}

/// Lines of the source in which a variable can be named.
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

/// A function of the source, by what it captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The unit it is in.
    pub unit: UnitId,
    /// The file.
    pub file: Text,
    /// Its first line.
    pub first: u32,
    /// Its last one.
    pub last: u32,
    /// What it captures, in the order in which its environment has it.
    pub captured: Vec<Captured>,
}

/// A variable that a function captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Its name.
    pub name: Text,
    /// Its type, if it is of use: not of integers and modules.
    pub of: Option<TypeId>,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file.
    pub file: Text,
    /// Why.
    pub reason: Text,
}
