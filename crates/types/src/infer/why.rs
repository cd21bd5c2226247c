//! Why blocks have no type. A block's reason is that of its holder.

use bactrian_snapshot::{RootKind, Tables};

use crate::DeclarationId;

use super::hash::Map;
use super::image::{UNREAD, number};
use super::shape::{Shape, Why};
use super::spread::Spread;
use super::terms::Head;
use super::typing::UnitFate;
use super::units::Units;

/// No reason.
pub(crate) const NO_REASON: u16 = u16::MAX;

/// Reasons, each stored once.
#[derive(Default)]
pub(crate) struct Reasons {
    pub texts: Vec<String>,
    numbers: Map<String, u16>,
    pub of: Vec<u16>,
    waiting: Vec<u32>,
}

impl Reasons {
    /// Finds out why blocks have no types.
    pub(crate) fn find(spread: &mut Spread<'_>, tables: &Tables, units: &Units) -> Reasons {
        let mut reasons = Reasons { of: vec![NO_REASON; spread.image.len()], ..Reasons::default() };
        let conflict = reasons.number("a conflict".to_owned());
        for &block in spread.conflicted.keys() {
            let at = block as usize;
            if spread.typed(block).is_none() || spread.distrusted.contains_key(&block) {
                reasons.of[at] = conflict;
                reasons.waiting.push(block);
            }
        }
        let many = reasons.number("constants that several types share".to_owned());
        for &block in spread.many.keys() {
            reasons.give(spread, block, many);
        }
        reasons.waiting.sort_unstable();
        reasons.inherit(spread);
        reasons.modules(spread, tables, units);
        reasons.inherit(spread);
        reasons.fields(spread);
        reasons.inherit(spread);
        reasons.roots(spread, tables);
        reasons.inherit(spread);
        let rest = reasons.number("held in some other way".to_owned());
        for block in 0..spread.image.len() as u32 {
            reasons.give(spread, block, rest);
        }
        reasons.waiting.clear();
        reasons
    }

    fn number(&mut self, text: String) -> u16 {
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        // Beyond this number, all share one reason.
        if self.texts.len() >= usize::from(NO_REASON) - 1 {
            return 0;
        }
        let number = self.texts.len() as u16;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// Gives a reason to a block that has neither a type nor a reason.
    fn give(&mut self, spread: &Spread<'_>, block: u32, reason: u16) {
        let at = block as usize;
        if self.of[at] == NO_REASON
            && spread.typed(block).is_none()
            && spread.image.forms[at] != UNREAD
        {
            self.of[at] = reason;
            self.waiting.push(block);
        }
    }

    /// The targets of a block without a type have no type for the same reason.
    fn inherit(&mut self, spread: &Spread<'_>) {
        while let Some(block) = self.waiting.pop() {
            let reason = self.of[block as usize];
            for (_, target) in spread.image.pointers(block) {
                self.give(spread, target, reason);
            }
        }
    }

    fn modules(&mut self, spread: &Spread<'_>, tables: &Tables, units: &Units) {
        for root in &tables.roots {
            let (RootKind::Global { module, .. } | RootKind::DynamicGlobal { module, .. }) =
                root.kind
            else {
                continue;
            };
            let standing = units.standings.get(module.index());
            let name = standing.map_or("?", |standing| &standing.name);
            let text = match standing.map(|standing| standing.fate) {
                Some(UnitFate::Missing) => format!("no .cmt file of {name}"),
                Some(UnitFate::Stale) => format!("the .cmt file of {name} is of another build"),
                Some(UnitFate::Ambiguous) => format!("several .cmt files of {name}"),
                Some(UnitFate::Unchecked) => format!("no digest to check the .cmt file of {name}"),
                Some(UnitFate::SitesOnly) => format!("another layout of module {name}"),
                Some(UnitFate::Public) => format!("hidden values of {name}"),
                Some(UnitFate::Whole) if units.is_bytecode => "constants of bytecode".to_owned(),
                Some(UnitFate::Whole) | None => "functors, classes and the like".to_owned(),
            };
            let reason = self.number(text);
            if let Some(block) = number(root.target.block, spread.image) {
                self.give(spread, block, reason);
            }
        }
    }

    /// Targets of fields without types, in blocks with types.
    fn fields(&mut self, spread: &mut Spread<'_>) {
        let closure = self.number("closure environments".to_owned());
        let mut known: Map<(Why, Option<DeclarationId>), u16> = Map::default();
        for block in 0..spread.image.len() as u32 {
            let at = block as usize;
            let (form, words) = (spread.image.forms[at], spread.image.words[at]);
            let Some(term) = spread.typed(block) else {
                continue;
            };
            if form.tag() == bactrian_snapshot::tag::CLOSURE {
                for (_, target) in spread.image.pointers(block) {
                    self.give(spread, target, closure);
                }
                continue;
            }
            let is_missing = |(_, target): (u8, u32)| {
                self.of[target as usize] == NO_REASON && spread.typed(target).is_none()
            };
            if !spread.image.pointers(block).any(is_missing) {
                continue;
            }
            let Shape::Fits(fit) = spread.shapes.of(&mut spread.terms, term, form, words) else {
                continue;
            };
            let of = match (fit.why, spread.terms.head(term)) {
                (Why::Variable, Head::Declared(id)) => Some(id),
                _ => None,
            };
            let reason = match known.get(&(fit.why, of)) {
                Some(&reason) => reason,
                None => {
                    let reason = self.number(text(spread, fit.why, of));
                    known.insert((fit.why, of), reason);
                    reason
                }
            };
            for (_, target) in spread.image.pointers(block) {
                self.give(spread, target, reason);
            }
        }
    }

    fn roots(&mut self, spread: &Spread<'_>, tables: &Tables) {
        // The function of a closure without a type is known, but its contents are not.
        for root in &tables.roots {
            let text = match root.kind {
                RootKind::Stack { .. } => "held by stacks only",
                RootKind::Local { .. } | RootKind::CGlobal { .. } => "held by C code",
                RootKind::Finaliser { .. } => "held by finalisers",
                RootKind::Sampler { .. } => "held by the sampler",
                RootKind::ThreadField { .. } | RootKind::Hook { .. } => "held by the runtime",
                _ => "held in some other way",
            };
            let reason = self.number(text.to_owned());
            if let Some(block) = number(root.target.block, spread.image) {
                self.give(spread, block, reason);
            }
        }
    }
}

fn text(spread: &Spread<'_>, why: Why, of: Option<DeclarationId>) -> String {
    let name = |id: DeclarationId| match spread.terms.table.declarations.get(id.index()) {
        Some(declaration) => declaration.name.clone(),
        None => "?".into(),
    };
    match why {
        Why::Environment => "closure environments".to_owned(),
        Why::Thunk => "lazy values that were not forced".to_owned(),
        Why::Abstract(id) => format!("abstract type {}", name(id)),
        Why::Object => "parts of objects".to_owned(),
        Why::Module => "values in modules whose types are not known".to_owned(),
        Why::Extension => "constructors that are not known".to_owned(),
        Why::Case => "polymorphic variants whose case is not known".to_owned(),
        Why::Opaque => "types that are not followed".to_owned(),
        Why::Variable => match of {
            Some(id) => format!("type variables of {} that stayed unknown", name(id)),
            None => "type variables that stayed unknown".to_owned(),
        },
    }
}
