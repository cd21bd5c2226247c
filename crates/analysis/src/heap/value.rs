//! Prints values as OCaml would, as far as their types are known: `{ name = "x"; items = [1; 2; ...] }`.
//!
//! Output is limited in depth, in elements per list or array, and in total. A block that contains itself is
//! printed once, with `<cycle @12>` where it recurs. Immediates and strings are printed only if the snapshot
//! contains them. Anything that is not OCaml syntax is between `<` and `>`.

use std::fmt::Write;

use bactrian_graph::Node;
use bactrian_snapshot::{BlockId, Field, FieldValue, Text};
use bactrian_types::{ClassId, Collection, DeclarationKind, Table, TypeClass, Typing};

use super::{ClassKind, Heap};

/// The most blocks printed.
const MOST_BLOCKS: usize = 10_000;
/// The most levels, whatever is requested.
const MOST_LEVELS: usize = 100;

/// How much of a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueLimits {
    /// Levels of nested blocks.
    pub depth: usize,
    /// Elements of each list, array and block.
    pub items: usize,
}

impl Default for ValueLimits {
    fn default() -> ValueLimits {
        ValueLimits { depth: 4, items: 10 }
    }
}

/// Prints a block as a value; None if the node is not a block.
pub fn value(heap: &Heap, node: Node, limits: &ValueLimits) -> Option<String> {
    heap.block(node)?;
    let limits = ValueLimits { depth: limits.depth.min(MOST_LEVELS), ..*limits };
    let mut printer = Printer {
        heap,
        typing: heap.typing(),
        limits,
        above: Vec::new(),
        left: MOST_BLOCKS,
        out: String::new(),
    };
    printer.block(node, false);
    Some(printer.out)
}

struct Printer<'a> {
    heap: &'a Heap,
    typing: Option<&'a Typing>,
    limits: ValueLimits,
    /// The blocks being printed, outermost first.
    above: Vec<Node>,
    /// How many more blocks may be printed.
    left: usize,
    out: String,
}

impl<'a> Printer<'a> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// The first fields of a block, in order, and at least one more than is printed. They are copied: printing is recursive,
    /// and the fields of all enclosing blocks would keep whole groups in memory.
    fn fields(&self, node: Node) -> Vec<Field> {
        /// One for the constructor, and one to find out that there are more.
        const MORE: usize = 2;
        let all = self.heap.fields(node);
        all[..all.len().min(self.limits.items.saturating_add(MORE))].to_vec()
    }

    fn of(&self, node: Node) -> Option<&'a TypeClass> {
        self.heap.type_class(node).map(|(_, class)| class)
    }

    /// Prints a block. As an argument it is parenthesised if it is more than one word.
    fn block(&mut self, node: Node, is_argument: bool) {
        if self.above.contains(&node) {
            let _ = write!(self.out, "<cycle @{node}>");
            return;
        }
        if self.left == 0 {
            return self.put("...");
        }
        self.left -= 1;
        match self.heap.kind(node) {
            ClassKind::String => self.string(node),
            ClassKind::Float => self.put("<float>"),
            ClassKind::FloatArray if self.has_names(node) => self.floats(node),
            ClassKind::FloatArray => {
                let words = self.heap.block(node).map_or(0, |block| block.words);
                let _ = write!(self.out, "<float array of {words}>");
            }
            ClassKind::Closure => {
                let name = &self.heap.class(node).name;
                let name = name.strip_prefix("closure ").unwrap_or(name);
                let _ = write!(self.out, "<fun {name}>");
            }
            ClassKind::Lazy => self.put("<lazy>"),
            ClassKind::Object => match self.constructor(node) {
                Some(constructor) => self.put(&constructor),
                None => self.object(node),
            },
            ClassKind::Custom | ClassKind::Abstract | ClassKind::Ephemeron => {
                let name = self.heap.class(node).name.clone();
                let _ = write!(self.out, "<{name}>");
            }
            ClassKind::Continuation => self.put("<continuation>"),
            ClassKind::Unread | ClassKind::Holder => self.put("<not readable>"),
            ClassKind::Forward | ClassKind::Structured | ClassKind::Type => {
                if self.above.len() >= self.limits.depth {
                    return self.put("...");
                }
                self.above.push(node);
                self.structured(node, is_argument);
                self.above.pop();
            }
        }
    }

    fn string(&mut self, node: Node) {
        match self.heap.text(node) {
            Some(Text { bytes, prefix: Some(prefix), .. }) if !prefix.is_empty() || bytes == 0 => {
                let more = if (prefix.len() as u64) < bytes { "..." } else { "" };
                let _ = write!(self.out, "\"{}{more}\"", prefix.escape_ascii());
            }
            Some(Text { bytes: 1, .. }) => self.put("<string of 1 byte>"),
            Some(Text { bytes, .. }) => {
                let _ = write!(self.out, "<string of {bytes} bytes>");
            }
            None => self.put("<string>"),
        }
    }

    /// An object, or a constant constructor of an extensible type, which is a block with its name and an id.
    fn object(&mut self, node: Node) {
        let fields = self.fields(node);
        let name = match fields.first().map(|field| field.value) {
            Some(FieldValue::Pointer(to)) => self.heap.text(to.block.0),
            _ => None,
        };
        match name.map(|text| text.prefix.unwrap_or_default()) {
            None => self.put("<obj>"),
            Some(name) if name.is_empty() => self.put("<constructor>"),
            Some(name) => self.put(&name.escape_ascii().to_string()),
        }
    }

    fn constructor(&self, node: Node) -> Option<String> {
        self.typing?.constructor(BlockId(node)).map(str::to_owned)
    }

    fn has_names(&self, node: Node) -> bool {
        self.typing.is_some_and(|typing| typing.field_name(BlockId(node), 0).is_some())
    }

    /// A record of floats, whose values the snapshot does not contain.
    fn floats(&mut self, node: Node) {
        let words = self.heap.block(node).map_or(0, |block| block.words);
        let names = (0..words).map_while(|at| self.typing?.field_name(BlockId(node), at));
        let fields: Vec<String> = names.map(|name| format!("{name} = <float>")).collect();
        let _ = write!(self.out, "{{ {} }}", fields.join("; "));
    }

    fn structured(&mut self, node: Node, is_argument: bool) {
        let collection = self.of(node).and_then(|class| class.collection);
        let kind = self.declared(node);
        let fields = self.fields(node);
        match (collection, self.constructor(node)) {
            (Some(Collection::List), _) => self.list(node),
            (Some(Collection::Array), _) => self.items("[|", "|]", node, &fields),
            _ if self.heap.kind(node) == ClassKind::Forward => {
                self.applied("lazy", node, &fields, is_argument);
            }
            (_, Some(constructor)) => {
                // The first field of a polymorphic variant or of an exception identifies the constructor.
                let is_first_its_own =
                    matches!(kind, Some(DeclarationKind::Cases { .. } | DeclarationKind::Open));
                let from = usize::from(is_first_its_own).min(fields.len());
                let is_case = matches!(kind, Some(DeclarationKind::Cases { .. }));
                let mark = if is_case && !constructor.starts_with('`') { "`" } else { "" };
                let name = format!("{mark}{constructor}");
                self.applied(&name, node, &fields[from..], is_argument);
            }
            (_, None) if self.has_names(node) => self.items("{ ", " }", node, &fields),
            (_, None) if self.of(node).is_some() => self.items("(", ")", node, &fields),
            (_, None) => {
                let tag = self.heap.block(node).map_or(0, |block| block.tag);
                self.items(&format!("<tag {tag}: "), ">", node, &fields);
            }
        }
    }

    /// The declaration of a block's type.
    fn declared(&self, node: Node) -> Option<&'a DeclarationKind> {
        let table: &Table = self.heap.table()?;
        let declaration = self.of(node)?.declaration?;
        table.declarations.get(declaration.index()).map(|declaration| &declaration.kind)
    }

    /// A constructor with its arguments.
    fn applied(&mut self, constructor: &str, node: Node, fields: &[Field], is_argument: bool) {
        if is_argument && !fields.is_empty() {
            self.put("(");
        }
        self.put(constructor);
        let first = fields.first().map_or(0, |field| field.index);
        let is_named =
            self.typing.is_some_and(|typing| typing.field_name(BlockId(node), first).is_some());
        match fields {
            [] => {}
            [field] if !is_named => {
                self.put(" ");
                self.field(node, field, true);
            }
            fields if is_named => {
                self.put(" ");
                self.items("{ ", " }", node, fields);
            }
            fields => {
                self.put(" ");
                self.items("(", ")", node, fields);
            }
        }
        if is_argument && !fields.is_empty() {
            self.put(")");
        }
    }

    fn items(&mut self, open: &str, close: &str, node: Node, fields: &[Field]) {
        let separator = if open == "(" { ", " } else { "; " };
        self.put(open);
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.put(separator);
            }
            if at >= self.limits.items {
                self.put("...");
                break;
            }
            let name = match open {
                "{ " => self.typing.and_then(|t| t.field_name(BlockId(node), field.index)),
                _ => None,
            };
            if let Some(name) = name {
                let _ = write!(self.out, "{name} = ");
            }
            self.field(node, field, false);
        }
        self.put(close);
    }

    /// A list, cell by cell.
    fn list(&mut self, first: Node) {
        self.put("[");
        let mut next = Some(first);
        let mut count = 0;
        let depth = self.above.len();
        while let Some(cell) = next {
            if count > 0 {
                self.put("; ");
            }
            if count >= self.limits.items || self.left == 0 {
                self.put("...");
                break;
            }
            if count > 0 {
                self.left -= 1;
                self.above.push(cell);
            }
            let fields = self.fields(cell);
            if let Some(head) = fields.first() {
                self.above_is_one_level(depth, |printer| printer.field(cell, head, false));
            }
            next = match fields.get(1).map(|tail| tail.value) {
                Some(FieldValue::Pointer(tail)) => Some(tail.block.0),
                _ => None,
            };
            if let Some(tail) = next.filter(|tail| self.above.contains(tail)) {
                let _ = write!(self.out, "; <cycle @{tail}>");
                break;
            }
            count += 1;
        }
        self.above.truncate(depth);
        self.put("]");
    }

    /// Prints something below list cells, which count as one level however many they are.
    fn above_is_one_level(&mut self, depth: usize, print: impl FnOnce(&mut Self)) {
        let cells = self.above.len() - depth;
        self.limits.depth += cells;
        print(self);
        self.limits.depth -= cells;
    }

    fn field(&mut self, node: Node, field: &Field, is_argument: bool) {
        let class = |class: Option<ClassId>| self.typing?.class(class?);
        let of = self.typing.and_then(|typing| typing.field(BlockId(node), field.index));
        let of = class(of.and_then(|field| field.class));
        if let Some(of) = of.filter(|_| self.is_forced(of, field.value)) {
            // The garbage collector replaces a forced lazy value by its result.
            let (open, close) = if is_argument { ("(lazy ", ")") } else { ("lazy ", "") };
            let inside = class(of.arguments.first().copied());
            self.put(open);
            self.word(inside, field.value, true);
            return self.put(close);
        }
        self.word(of, field.value, is_argument);
    }

    /// Whether a lazy value was replaced by its result.
    fn is_forced(&self, of: Option<&TypeClass>, value: FieldValue) -> bool {
        let is_lazy =
            |of: Option<&TypeClass>| of.and_then(|of| of.collection) == Some(Collection::Lazy);
        is_lazy(of)
            && match value {
                FieldValue::Immediate(_) => true,
                FieldValue::Pointer(to) => !is_lazy(self.of(to.block.0)),
                FieldValue::Outside | FieldValue::Missing => false,
            }
    }

    /// The value of a field with a known type.
    fn word(&mut self, of: Option<&TypeClass>, value: FieldValue, is_argument: bool) {
        match value {
            FieldValue::Pointer(to) => self.block(to.block.0, is_argument),
            FieldValue::Outside => self.put("<out of the heap>"),
            FieldValue::Missing => self.put("<missing>"),
            FieldValue::Immediate(value) => self.put(&immediate(of, value)),
        }
    }
}

/// An immediate with a known type.
pub(super) fn immediate(of: Option<&TypeClass>, value: Option<i64>) -> String {
    let constants = of.map_or(&[][..], |class| &class.constants);
    let Some(value) = value else {
        // If there is only one constant, its value is known even if it was not recorded.
        return match constants {
            [(_, name)] => name.as_ref().to_owned(),
            _ => "<immediate>".to_owned(),
        };
    };
    if let Some((_, name)) = constants.iter().find(|(number, _)| *number == value) {
        return name.as_ref().to_owned();
    }
    match of {
        Some(class) if class.is_char => match u8::try_from(value) {
            Ok(byte) => format!("'{}'", byte.escape_ascii()),
            Err(_) => value.to_string(),
        },
        _ => value.to_string(),
    }
}
