//! Types of blocks as bytes and columns of numbers, to be cached in a file.
//!
//! Inference takes much longer than reading its results. What is known of the whole heap ([`Overview`]) is
//! small and separate from what is known of each block, which most questions do not need.

use bactrian_snapshot::BlockId;

use super::hash::Map;
use super::image::Form;
use super::typing::Outline;
use super::{
    ClassId, Collection, Conflict, Coverage, FieldType, Reason, TypeClass, Typing, UnitFate,
    UnitStanding,
};
use crate::Text;
use crate::table::wire::{Parse, Record, Sink, Source, ids, structures};

/// What is known of a heap's types as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// All classes, as in [`Typing::classes`].
    pub classes: Vec<TypeClass>,
    /// How much of the heap is known how well.
    pub coverage: Coverage,
    /// How the program's modules match the table.
    pub units: Vec<UnitStanding>,
}

impl Overview {
    /// Encodes the overview.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sink = Sink::default();
        self.classes.put(&mut sink);
        self.coverage.put(&mut sink);
        self.units.put(&mut sink);
        sink.bytes
    }

    /// Decodes an overview; None if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Overview> {
        let mut source = Source::new(bytes);
        let overview = Overview {
            classes: Record::get(&mut source).ok()?,
            coverage: Record::get(&mut source).ok()?,
            units: Record::get(&mut source).ok()?,
        };
        let classes = overview.classes.len();
        let is_there = |class: &ClassId| class.index() < classes;
        let is_sound = overview.classes.iter().all(|class| class.arguments.iter().all(is_there));
        (is_sound && source.left() == 0).then_some(overview)
    }
}

/// What is known of each block, in order of blocks.
#[derive(Clone, Copy, Debug)]
pub struct TypingColumns<'a> {
    /// Classes, by index.
    pub classes: &'a [u32],
    /// Categories, by index in [`CATEGORIES`](super::CATEGORIES).
    pub categories: &'a [u8],
    /// Where the types come from, by index.
    pub origins: &'a [u32],
    /// Why there is no type, by index.
    pub reasons: &'a [u16],
    /// Tags, and identifiers of custom blocks.
    pub forms: &'a [u16],
    /// Sizes in words, without headers.
    pub words: &'a [u32],
}

impl Typing {
    /// What is known as a whole.
    pub fn overview(&self) -> Overview {
        Overview {
            classes: self.classes.clone(),
            coverage: self.coverage.clone(),
            units: self.units.clone(),
        }
    }

    /// Encodes what columns and overview do not contain.
    pub fn details_to_bytes(&self) -> Vec<u8> {
        let mut sink = Sink::default();
        self.origins.put(&mut sink);
        self.reasons.put(&mut sink);
        let outlines = self.outlines.iter();
        let mut outlines: Vec<_> =
            outlines.map(|(&(class, form, words), of)| ((class, form.0, words), of)).collect();
        outlines.sort_unstable_by_key(|(key, _)| *key);
        sink.varint(outlines.len() as u64);
        for ((class, form, words), outline) in outlines {
            class.put(&mut sink);
            form.put(&mut sink);
            words.put(&mut sink);
            outline.put(&mut sink);
        }
        self.special.put(&mut sink);
        self.contents.put(&mut sink);
        self.conflicts.put(&mut sink);
        sink.bytes
    }

    /// The forms of all blocks as numbers, for [`TypingColumns`].
    pub fn form_numbers(&self) -> Vec<u16> {
        self.forms.iter().map(|form| form.0).collect()
    }

    /// What is known of each block; `forms` come from [`Typing::form_numbers`].
    pub fn columns<'a>(&'a self, forms: &'a [u16]) -> TypingColumns<'a> {
        TypingColumns {
            classes: &self.class_of,
            categories: &self.category_of,
            origins: &self.origin_of,
            reasons: &self.reason_of,
            forms,
            words: &self.words,
        }
    }

    /// Restores types from a cache; None if the parts are inconsistent.
    pub fn from_kept(
        overview: Overview,
        details: &[u8],
        columns: &TypingColumns<'_>,
    ) -> Option<Typing> {
        let Overview { classes, coverage, units } = overview;
        let mut source = Source::new(details);
        let origins = Record::get(&mut source).ok()?;
        let reasons = Record::get(&mut source).ok()?;
        let outlines: Vec<((u32, u16, u32), Outline)> = Record::get(&mut source).ok()?;
        let outlines: Map<_, _> = outlines
            .into_iter()
            .map(|((class, form, words), outline)| ((class, Form(form), words), outline))
            .collect();
        let special: Vec<(u32, u32)> = Record::get(&mut source).ok()?;
        let contents = Record::get(&mut source).ok()?;
        let conflicts = Record::get(&mut source).ok()?;
        let lengths = [
            columns.classes.len(),
            columns.categories.len(),
            columns.origins.len(),
            columns.reasons.len(),
            columns.forms.len(),
            columns.words.len(),
        ];
        let is_class = |class: &u32| (*class as usize) < classes.len();
        let fits = source.left() == 0
            && lengths.iter().all(|length| *length == lengths[0])
            && special.is_sorted_by_key(|(block, _)| *block)
            && columns.classes.iter().all(is_class);
        fits.then(|| Typing {
            class_of: columns.classes.to_vec(),
            category_of: columns.categories.to_vec(),
            origin_of: columns.origins.to_vec(),
            reason_of: columns.reasons.to_vec(),
            forms: columns.forms.iter().map(|&form| Form(form)).collect(),
            words: columns.words.to_vec(),
            classes,
            origins,
            reasons,
            outlines,
            special,
            contents,
            // Needed only during inference.
            content_numbers: Map::default(),
            conflicts,
            coverage,
            units,
        })
    }
}

impl Record for u64 {
    fn get(source: &mut Source<'_>) -> Parse<u64> {
        let [low, high] = [u32::get(source)?, u32::get(source)?];
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn put(&self, sink: &mut Sink) {
        (*self as u32).put(sink);
        ((*self >> 32) as u32).put(sink);
    }
}

impl Record for i64 {
    fn get(source: &mut Source<'_>) -> Parse<i64> {
        u64::get(source).map(|bits| bits as i64)
    }

    fn put(&self, sink: &mut Sink) {
        (*self as u64).put(sink);
    }
}

impl Record for u16 {
    fn get(source: &mut Source<'_>) -> Parse<u16> {
        u16::try_from(u32::get(source)?).map_err(|_| "a number is longer than 16 bits")
    }

    fn put(&self, sink: &mut Sink) {
        u32::from(*self).put(sink);
    }
}

impl Record for String {
    fn get(source: &mut Source<'_>) -> Parse<String> {
        Text::get(source).map(|text| text.as_ref().to_owned())
    }

    fn put(&self, sink: &mut Sink) {
        Text::from(self.as_str()).put(sink);
    }
}

macro_rules! pairs {
    ($($($part:ident)*;)*) => {$(
        impl<$($part: Record),*> Record for ($($part,)*) {
            fn get(source: &mut Source<'_>) -> Parse<($($part,)*)> {
                Ok(($($part::get(source)?,)*))
            }

            #[allow(non_snake_case, reason = "parts are called as their types")]
            fn put(&self, sink: &mut Sink) {
                let ($($part,)*) = self;
                $($part.put(sink);)*
            }
        }
    )*};
}

pairs! { A B; A B C; }

structures! {
    TypeClass {
        name, is_type, is_polymorphic, declaration, collection, arguments, constants, is_char
    }
    FieldType { name, class }
    Outline { constructor, fields, is_repeated }
    Reason { text, blocks, words }
    UnitStanding { name, fate }
    Conflict { block, kept, kept_origin, other, other_origin, tag, words }
}

impl Record for Coverage {
    fn get(source: &mut Source<'_>) -> Parse<Coverage> {
        let mut coverage = Coverage::default();
        for category in &mut coverage.categories {
            *category = Record::get(source)?;
        }
        coverage.polymorphic = Record::get(source)?;
        coverage.reasons = Record::get(source)?;
        coverage.conflicts = Record::get(source)?;
        Ok(coverage)
    }

    fn put(&self, sink: &mut Sink) {
        self.categories.iter().for_each(|category| category.put(sink));
        self.polymorphic.put(sink);
        self.reasons.put(sink);
        self.conflicts.put(sink);
    }
}

ids! { ClassId BlockId }

/// An enum is encoded as the index of its case in a list.
macro_rules! choices {
    ($($name:ident { $($case:ident)* })*) => {$(
        impl Record for $name {
            fn get(source: &mut Source<'_>) -> Parse<$name> {
                const ALL: &[$name] = &[$($name::$case),*];
                let place = usize::from(u8::get(source)?);
                ALL.get(place).copied().ok_or("a choice that is not known")
            }

            fn put(&self, sink: &mut Sink) {
                (*self as u8).put(sink);
            }
        }
    )*};
}

choices! {
    Collection { List Array Hashtbl Map Set Queue Stack Buffer Lazy Seq }
    UnitFate { Whole Public SitesOnly Unchecked Missing Stale Ambiguous }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeclarationId;

    #[test]
    fn cached_types_round_trip() {
        let class = |name: &str, collection| TypeClass {
            name: name.to_owned(),
            is_type: true,
            declaration: Some(DeclarationId(7)),
            collection,
            arguments: vec![ClassId(1)],
            constants: vec![(-3, "No".into()), (1, "Yes".into())],
            ..TypeClass::default()
        };
        let field = FieldType { name: "left".into(), class: Some(ClassId(0)) };
        let outline =
            Outline { constructor: Some("Node".into()), fields: vec![field], is_repeated: false };
        let typing = Typing {
            classes: vec![class("string list", Some(Collection::List)), class("string", None)],
            class_of: vec![0, 1],
            category_of: vec![0, 2],
            origin_of: vec![0, u32::MAX],
            origins: vec!["global Main.names".to_owned()],
            reason_of: vec![u16::MAX, 0],
            reasons: vec!["held by stacks only".to_owned()],
            forms: vec![Form(0), Form(252)],
            words: vec![2, 1],
            outlines: Map::from_iter([((0, Form(0), 2), outline.clone())]),
            special: vec![(1, 0)],
            contents: vec![outline],
            content_numbers: Map::default(),
            conflicts: vec![Conflict {
                block: BlockId(1),
                kept: None,
                kept_origin: "its header".to_owned(),
                other: "int list".to_owned(),
                other_origin: "global Main.x".to_owned(),
                tag: 252,
                words: 1,
            }],
            coverage: Coverage {
                categories: [(1, 3), (0, 0), (1, 2), (0, 0), (0, 0)],
                polymorphic: (1, 2),
                reasons: vec![Reason { text: "why".to_owned(), blocks: 1, words: u64::MAX }],
                conflicts: 1,
            },
            units: vec![UnitStanding { name: "Main".to_owned(), fate: UnitFate::Stale }],
        };
        let forms = typing.form_numbers();
        let overview = Overview::from_bytes(&typing.overview().to_bytes()).expect("an overview");
        let details = typing.details_to_bytes();
        let columns = typing.columns(&forms);
        let back = Typing::from_kept(overview.clone(), &details, &columns).expect("it fits");
        assert_eq!(format!("{back:?}"), format!("{typing:?}"));
        // Numbers from a file may be anything.
        let short = TypingColumns { categories: &[0], ..columns };
        assert!(Typing::from_kept(overview.clone(), &details, &short).is_none());
        let wrong = TypingColumns { classes: &[0, 9], ..columns };
        assert!(Typing::from_kept(overview.clone(), &details, &wrong).is_none());
        assert!(Typing::from_kept(overview, &details[1..], &columns).is_none());
    }
}
