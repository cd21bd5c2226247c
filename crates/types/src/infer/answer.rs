//! Turns types of blocks into the answer: each type becomes a class, and classes are counted.

use bactrian_snapshot::{BlockId, Snapshot, tag};

use crate::{Builtin, DeclarationKind, Table, Text};

use super::collections::collection;
use super::evidence::{Evidence, Origins, read};
use super::hash::Map;
use super::image::{Form, UNREAD};
use super::print::print;
use super::shape::{Fields, Fit, Shapes, names};
use super::spread::{Clashing, NOWHERE, Spread};
use super::terms::{Head, Scope, Term};
use super::typing::{
    Category, ClassId, Conflict, Coverage, FieldType, Outline, Reason, TypeClass, Typing,
};
use super::units::Units;
use super::why::Reasons;

/// Finds the types of all blocks.
pub(crate) fn infer(table: &Table, snapshot: &Snapshot, progress: &mut dyn FnMut(f64)) -> Typing {
    let tables = snapshot.tables();
    let units = Units::find(table, snapshot);
    let believable = units.believable(table);
    let table = believable.as_ref().unwrap_or(table);
    let image = read(table, snapshot, &mut |done| progress(done * 0.4));
    progress(0.4);
    let identifiers = tables.customs.iter().map(|&name| tables.names.get(name));
    let shapes = Shapes::new(identifiers, snapshot.columns().continuations);
    let mut spread = Spread::new(table, &image, shapes);
    spread.has_immediates = snapshot.columns().immediates;
    let mut evidence = Evidence {
        table,
        tables,
        units: &units,
        spread: &mut spread,
        origins: Origins::default(),
        samples: Default::default(),
    };
    evidence.globals();
    evidence.variables();
    progress(0.6);
    evidence.samples();
    progress(0.7);
    evidence.finalisers();
    evidence.scopes();
    evidence.inference();
    progress(0.8);
    let mut origins = evidence.origins.texts;
    let by_header = origins.len() as u32;
    origins.push("its header".to_owned());
    spread.ranks.push(Category::Exact);
    let reasons = Reasons::find(&mut spread, tables, &units);
    progress(0.9);
    let mut answer = Answer::new(&mut spread, snapshot);
    answer.blocks(by_header);
    answer.outlines();
    answer.conflicts(&origins);
    let mut typing = answer.typing;
    typing.origin_of = std::mem::take(&mut spread.origin);
    typing.origins = origins;
    typing.reason_of = reasons.of;
    typing.reasons = reasons.texts;
    typing.units = units.standings.clone();
    typing.coverage.conflicts = spread.conflicted.len() as u64;
    drop(spread);
    (typing.forms, typing.words) = image.without_pointers();
    typing.count();
    progress(1.0);
    typing
}

/// The answer so far.
struct Answer<'a, 't> {
    spread: &'a mut Spread<'t>,
    snapshot: &'a Snapshot,
    typing: Typing,
    /// Classes by term, and by header.
    of_term: Map<Term, u32>,
    of_form: Map<Form, u32>,
    constructors: Option<u32>,
    resolved: Map<Term, Term>,
}

impl<'a, 't> Answer<'a, 't> {
    fn new(spread: &'a mut Spread<'t>, snapshot: &'a Snapshot) -> Answer<'a, 't> {
        let mut answer = Answer {
            spread,
            snapshot,
            typing: Typing::default(),
            of_term: Map::default(),
            of_form: Map::default(),
            constructors: None,
            resolved: Map::default(),
        };
        // The first class is that of blocks that could not be read.
        answer.form_class(UNREAD);
        answer
    }

    /// Assigns a class and a category to each block.
    fn blocks(&mut self, by_header: u32) {
        let count = self.spread.image.len();
        self.typing.class_of = Vec::with_capacity(count);
        self.typing.category_of = Vec::with_capacity(count);
        // Most blocks have the type of the previous block or one of a few thousand others.
        let mut last = (Term::NONE, 0);
        for block in 0..count as u32 {
            let at = block as usize;
            let mut term = self.spread.typed(block);
            if term.is_none() {
                self.spread.origin[at] = NOWHERE;
                term = self.spread.by_header(block);
                if term.is_some() {
                    self.spread.origin[at] = by_header;
                }
            }
            let (class, category) = match term {
                Some(term) => {
                    if term != last.0 {
                        last = (term, self.class(term));
                    }
                    let rank = self.spread.ranks.get(self.spread.origin[at] as usize);
                    (last.1, rank.copied().unwrap_or(Category::Unknown))
                }
                None if self.spread.extensions.contains_key(&block) => {
                    (self.constructor_class(), Category::Exact)
                }
                None => self.by_form(self.spread.image.forms[at]),
            };
            let is_distrusted =
                !self.spread.distrusted.is_empty() && self.spread.distrusted.contains_key(&block);
            let category = if is_distrusted { Category::Unknown } else { category };
            self.typing.class_of.push(class);
            self.typing.category_of.push(category as u8);
            if let Fields::Open | Fields::Cases = self.special(term) {
                self.content(block, term.unwrap_or(Term::NONE), class);
            }
        }
    }

    /// Whether blocks of a type are described by their contents.
    fn special(&self, term: Option<Term>) -> Fields {
        match term.and_then(|term| Some((term, self.spread.terms.declaration(term)?))) {
            Some((_, declaration)) if matches!(declaration.kind, DeclarationKind::Open) => {
                Fields::Open
            }
            Some((_, declaration)) if matches!(declaration.kind, DeclarationKind::Cases { .. }) => {
                Fields::Cases
            }
            _ => Fields::None,
        }
    }

    /// The outline of a block that is described by its contents.
    fn content(&mut self, block: u32, term: Term, class: u32) {
        let (key, outline) = match self.special(Some(term)) {
            Fields::Open => {
                let Some((id, fields)) = self.spread.extension(block, term) else { return };
                let extension = &self.spread.terms.table.extensions[id.index()];
                let names: Vec<Text> = std::iter::once(Text::from(""))
                    .chain(extension.arguments.iter().map(|field| field.name.clone()))
                    .collect();
                let fields: Vec<Term> =
                    std::iter::once(Term::NONE).chain(fields.iter().copied()).collect();
                ((class, id.0), (extension.name.clone(), names, fields))
            }
            Fields::Cases => {
                let Some(case) = self.spread.case(block, term) else { return };
                let parameters = self.spread.terms.arguments(term).to_vec();
                let mut scope = Scope::closed(&parameters);
                let of = case.of.map(|of| self.spread.terms.instantiate(of, &mut scope));
                let name: Text = format!("`{}", case.name).into();
                let fields = vec![Term::NONE, of.unwrap_or(Term::NONE)];
                ((class, case.hash as u32), (name, Vec::new(), fields))
            }
            _ => return,
        };
        let (constructor, names, fields) = outline;
        if let Some(&number) = self.typing.content_numbers.get(&key) {
            self.typing.special.push((block, number));
            return;
        }
        let outline = self.outline(Some(constructor), &names, &fields, false);
        let number = self.typing.contents.len() as u32;
        self.typing.contents.push(outline);
        self.typing.content_numbers.insert(key, number);
        self.typing.special.push((block, number));
    }

    fn outline(
        &mut self,
        constructor: Option<Text>,
        names: &[Text],
        fields: &[Term],
        is_repeated: bool,
    ) -> Outline {
        let count = names.len().max(fields.len());
        let fields = (0..count).map(|at| {
            let term = fields.get(at).copied().map(|term| self.spread.terms.shallow(term));
            let is_known = |term: &Term| !matches!(*term, Term::NONE | Term::ANY);
            let class = term.filter(is_known).map(|term| ClassId(self.class(term)));
            FieldType { name: names.get(at).cloned().unwrap_or_default(), class }
        });
        let fields = fields.collect();
        Outline { constructor, fields, is_repeated }
    }

    /// The outlines of all combinations of type, header and size.
    fn outlines(&mut self) {
        for ((term, form, words), fit) in self.spread.shapes.fitting() {
            let Some(&class) = self.known_class(term) else { continue };
            if self.typing.outlines.contains_key(&(class, form, words)) {
                continue;
            }
            if let Some(outline) = self.outline_of(&fit) {
                self.typing.outlines.insert((class, form, words), outline);
            }
        }
    }

    fn known_class(&mut self, term: Term) -> Option<&u32> {
        let term = self.spread.terms.resolve(term, &mut self.resolved);
        self.of_term.get(&term)
    }

    fn outline_of(&mut self, fit: &Fit) -> Option<Outline> {
        let (constructor, names) = names(&self.spread.terms, fit.named);
        match &fit.fields {
            Fields::Same(element) => Some(self.outline(None, &[], &[*element], true)),
            Fields::Each(fields) => Some(self.outline(constructor, &names, &fields.clone(), false)),
            Fields::Module(layout, count) => {
                let fields = self.spread.module(*layout, *count);
                let layout = self.spread.terms.table.layouts.get(layout.index())?;
                let names: Vec<Text> = layout
                    .fields
                    .iter()
                    .take(*count as usize)
                    .map(|field| field.name.clone())
                    .collect();
                Some(self.outline(None, &names, &fields, false))
            }
            Fields::None if !names.is_empty() => {
                Some(self.outline(constructor, &names, &[], false))
            }
            Fields::None | Fields::Open | Fields::Cases => None,
        }
    }

    /// The class of a type.
    fn class(&mut self, term: Term) -> u32 {
        if let Some(&class) = self.of_term.get(&term) {
            return class;
        }
        let term = {
            let resolved = self.spread.terms.resolve(term, &mut self.resolved);
            if let Some(&class) = self.of_term.get(&resolved) {
                self.of_term.insert(term, class);
                return class;
            }
            self.of_term.insert(term, self.typing.classes.len() as u32);
            resolved
        };
        let class = self.typing.classes.len() as u32;
        self.of_term.insert(term, class);
        self.typing.classes.push(TypeClass::default());
        let made = self.make_class(term);
        self.typing.classes[class as usize] = made;
        class
    }

    fn make_class(&mut self, term: Term) -> TypeClass {
        let terms = &self.spread.terms;
        let head = terms.head(term);
        let declaration = terms.declaration(term);
        let is_type = !matches!(head, Head::None | Head::Any | Head::Variable(_));
        let is_declared = matches!(head, Head::Declared(_) | Head::Tuple);
        let parts = if is_declared { terms.arguments(term).to_vec() } else { Vec::new() };
        let mut class = TypeClass {
            name: print(terms, term),
            is_type,
            is_polymorphic: !is_whole(self.spread, term, 0),
            declaration: match head {
                Head::Declared(id) => Some(id),
                _ => None,
            },
            collection: collection(terms.table, head),
            arguments: Vec::new(),
            constants: Vec::new(),
            is_char: declaration.is_some_and(|known| {
                &*known.name == "char" && known.kind == DeclarationKind::Builtin(Builtin::Immediate)
            }),
        };
        if let Some(declaration) = declaration {
            class.constants = constants(&declaration.kind, &declaration.name);
        }
        class.arguments = parts.into_iter().map(|part| ClassId(self.class(part))).collect();
        class
    }

    /// The class of constructors of extensible types, which are values themselves only if they have no
    /// arguments.
    fn constructor_class(&mut self) -> u32 {
        let next = self.typing.classes.len() as u32;
        let class = *self.constructors.get_or_insert(next);
        if class == next {
            let name = "extension constructor".to_owned();
            self.typing.classes.push(TypeClass { name, ..TypeClass::default() });
        }
        class
    }

    /// The class and category of a block without a type.
    fn by_form(&mut self, form: Form) -> (u32, Category) {
        let category = match form.tag() {
            _ if form == UNREAD => Category::Unknown,
            // The function of a closure is known.
            tag::CLOSURE => Category::Exact,
            tag::CUSTOM | tag::ABSTRACT | tag::DOUBLE_ARRAY | tag::OBJECT => Category::TagOnly,
            tag::STRING | tag::DOUBLE => Category::Exact,
            tag::LAZY | tag::FORWARD => Category::TagOnly,
            _ => Category::Unknown,
        };
        (self.form_class(form), category)
    }

    fn form_class(&mut self, form: Form) -> u32 {
        if let Some(&class) = self.of_form.get(&form) {
            return class;
        }
        let tables = self.snapshot.tables();
        let name = match form.tag() {
            _ if form == UNREAD => "block that could not be read".to_owned(),
            tag::CONTINUATION if self.snapshot.columns().continuations => "continuation".to_owned(),
            tag::CLOSURE => "closure".to_owned(),
            tag::OBJECT => "object".to_owned(),
            tag::LAZY => "lazy value".to_owned(),
            tag::FORWARD => "forwarded lazy value".to_owned(),
            tag::ABSTRACT => "abstract block".to_owned(),
            tag::STRING => "string or bytes".to_owned(),
            tag::DOUBLE => "float".to_owned(),
            tag::DOUBLE_ARRAY => "array or record of floats".to_owned(),
            tag::CUSTOM => {
                let name = form.custom().and_then(|at| tables.customs.get(at));
                let name = name.map_or("", |&name| tables.names.get(name));
                format!("custom block {name}").trim_end().to_owned()
            }
            tag => format!("block of tag {tag}"),
        };
        let class = self.typing.classes.len() as u32;
        self.typing.classes.push(TypeClass { name, ..TypeClass::default() });
        self.of_form.insert(form, class);
        class
    }

    fn conflicts(&mut self, origins: &[String]) {
        let origin = |number: u32| origins.get(number as usize).cloned().unwrap_or_default();
        let spread = &mut *self.spread;
        for Clashing { block, kept, other } in std::mem::take(&mut spread.conflicts) {
            let [kept_term, other_term] =
                [kept.0, other.0].map(|term| spread.terms.resolve(term, &mut self.resolved));
            self.typing.conflicts.push(Conflict {
                block: BlockId(block),
                kept: (kept.0 != Term::NONE).then(|| print(&spread.terms, kept_term)),
                kept_origin: if kept.0 == Term::NONE {
                    "its header".to_owned()
                } else {
                    origin(kept.1)
                },
                other: print(&spread.terms, other_term),
                other_origin: origin(other.1),
                tag: spread.image.forms[block as usize].tag(),
                words: spread.image.words[block as usize],
            });
        }
    }
}

/// Whether every part of a type is known.
fn is_whole(spread: &Spread<'_>, term: Term, depth: u8) -> bool {
    let term = spread.terms.shallow(term);
    let is_known = !matches!(spread.terms.head(term), Head::None | Head::Any | Head::Variable(_));
    let parts = spread.terms.arguments(term);
    is_known && depth < 8 && parts.iter().all(|&part| is_whole(spread, part, depth + 1))
}

/// The immediate values of a type.
fn constants(kind: &DeclarationKind, name: &str) -> Vec<(i64, Text)> {
    let mut constants: Vec<(i64, Text)> = match kind {
        DeclarationKind::Variant(_, constructors) => constructors
            .iter()
            .filter(|constructor| constructor.arguments.is_empty())
            .map(|constructor| (i64::from(constructor.tag), constructor.name.clone()))
            .collect(),
        DeclarationKind::Cases { cases, .. } => cases
            .iter()
            .filter(|case| case.of.is_none())
            .map(|case| (i64::from(case.hash), format!("`{}", case.name).into()))
            .collect(),
        DeclarationKind::Builtin(Builtin::Immediate) => match name {
            "bool" => vec![(0, "false".into()), (1, "true".into())],
            "unit" => vec![(0, "()".into())],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    constants.sort_unstable_by_key(|(value, _)| *value);
    constants
}

impl Typing {
    /// Counts blocks and words.
    fn count(&mut self) {
        let mut coverage = Coverage { conflicts: self.coverage.conflicts, ..Coverage::default() };
        let mut reasons = vec![(0_u64, 0_u64); self.reasons.len()];
        for at in 0..self.forms.len() {
            if self.forms[at] == UNREAD {
                continue;
            }
            let words = u64::from(self.words[at]) + 1;
            let category = usize::from(self.category_of[at]);
            let add = |sum: &mut (u64, u64)| *sum = (sum.0 + 1, sum.1 + words);
            add(&mut coverage.categories[category]);
            if category >= Category::TagOnly as usize {
                if let Some(sum) = reasons.get_mut(usize::from(self.reason_of[at])) {
                    add(sum);
                }
            } else if self.classes[self.class_of[at] as usize].is_polymorphic {
                add(&mut coverage.polymorphic);
            }
        }
        let reason = |(text, (blocks, words)): (&String, (u64, u64))| Reason {
            text: text.clone(),
            blocks,
            words,
        };
        coverage.reasons = self.reasons.iter().zip(reasons).map(reason).collect();
        coverage.reasons.retain(|reason| reason.blocks > 0);
        coverage.reasons.sort_by(|a, b| b.words.cmp(&a.words).then_with(|| a.text.cmp(&b.text)));
        self.coverage = coverage;
    }
}
