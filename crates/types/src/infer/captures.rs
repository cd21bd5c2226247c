//! The contents of closure environments in native code, by the order in which the compiler stores captured
//! variables.
//!
//! A closure names its function's code, which has a line; only a few functions of the source are around that
//! line. The one that captures as many variables as the environment has fields, with types that fit all
//! contents, is the closure's function. If several fit and capture different things, none is believed.

use crate::{Captured, Function, UnitId};

use super::evidence::Evidence;
use super::hash::Map;
use super::image::{Closure, FAR};
use super::scopes::{can_be, is_over};
use super::terms::Scope;
use super::typing::Category;

/// The maximum number of closures examined for each function.
const MOST_CLOSURES: usize = 50;

impl<'t> Evidence<'_, 't> {
    /// Finds the types of captured variables.
    pub(crate) fn captures(&mut self, steps: &mut usize) {
        let image = self.spread.image;
        let mut by_unit: Map<UnitId, Vec<&'t Function>> = Map::default();
        for function in &self.table.functions {
            by_unit.entry(function.unit).or_default().push(function);
        }
        let mut by_code: Map<u32, Vec<Closure>> = Map::default();
        for &closure in &image.closures {
            by_code.entry(closure.code).or_default().push(closure);
        }
        let mut by_code: Vec<_> = by_code.into_iter().collect();
        by_code.sort_unstable_by_key(|(code, _)| *code);
        for (code, closures) in by_code {
            let held = closures.iter().flat_map(|closure| image.pointers(closure.block));
            if !held.map(|(_, target)| target).any(|target| self.is_open(target)) {
                continue;
            }
            let Some(code) = self.tables.codes.get(code as usize) else { continue };
            let (place, names) = (code.location, &self.tables.names);
            let (function, file) = (names.get(place.function), names.get(place.file));
            let unit = self.unit_of(function);
            let around = unit.and_then(|unit| by_unit.get(&unit)).map_or(&[][..], |all| all);
            let around = around.iter().filter(|function| {
                *function.file == *file && (function.first..=function.last).contains(&place.line)
            });
            let mut fitting: Vec<&[Captured]> = Vec::new();
            for function in around {
                let captured = &function.captured[..];
                let some = closures.iter().take(MOST_CLOSURES);
                if !fitting.contains(&captured)
                    && some.into_iter().all(|closure| self.does_fit(*closure, captured, steps))
                {
                    fitting.push(captured);
                }
            }
            // If the search was cut short, other functions may fit, too.
            if let ([captured], false) = (&fitting[..], is_over(*steps)) {
                self.give_captured(&closures, captured, function, steps);
            }
        }
    }

    /// Whether an environment can be that of a function with these captured variables.
    fn does_fit(&mut self, closure: Closure, captured: &[Captured], steps: &mut usize) -> bool {
        let image = self.spread.image;
        let Closure { block, environment, .. } = closure;
        let words = image.words[block as usize];
        if words.checked_sub(environment) != u32::try_from(captured.len()).ok() {
            return false;
        }
        image.pointers(block).all(|(position, target)| {
            match of_field(captured, environment, position) {
                Some(Captured { of: Some(of), .. }) => can_be(self.spread, target, *of, steps),
                // Its type is not recorded.
                Some(Captured { of: None, .. }) | None => true,
            }
        })
    }

    fn give_captured(
        &mut self,
        closures: &[Closure],
        captured: &[Captured],
        function: &str,
        steps: &mut usize,
    ) {
        let image = self.spread.image;
        let mut origins = Map::default();
        for &closure in closures.iter() {
            if !self.does_fit(closure, captured, steps) {
                continue;
            }
            for (position, target) in image.pointers(closure.block) {
                let what = of_field(captured, closure.environment, position);
                let Some(Captured { name, of: Some(of) }) = what else { continue };
                if !self.is_open(target) {
                    continue;
                }
                let origin = *origins.entry(position).or_insert_with(|| {
                    let text = format!("variable {name} that {function} captured");
                    self.origins.add(self.spread, text, Category::Inference)
                });
                let term = self.spread.terms.instantiate(*of, &mut Scope::fresh());
                self.spread.give(target, term, origin);
                self.spread.run();
            }
        }
    }
}

/// The captured variable in a field of a closure, if the field's position is recorded.
fn of_field(captured: &[Captured], environment: u32, position: u8) -> Option<&Captured> {
    if position == FAR {
        return None;
    }
    captured.get(u32::from(position).checked_sub(environment)? as usize)
}
