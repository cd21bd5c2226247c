//! Filters in the form users write: command line options and URL parameters.

use bactrian_trace::{DomainId, Source};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::filter::{Collected, Filter, FramePattern, Hidden, Live, Pattern};
use crate::library::LibraryOptions;
use crate::question::{QuestionError, Text};
use crate::units::{Between, Bytes, Time};

/// Which objects to select; all conditions must hold. Times count from the start of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[schemars(transform = under_a_heading)]
pub struct FilterOptions {
    /// Allocated in this time window (1.5s..3s)
    pub allocated: Option<Text<Between<Time>>>,
    /// Alive at some moment in this time window
    pub live_in: Option<Text<Between<Time>>>,
    /// Alive at this moment
    pub live_at: Option<Text<Time>>,
    /// Alive when the trace ends
    pub live_at_end: bool,
    /// Alive when all selected objects together take most memory
    pub live_at_peak: bool,
    /// Collected in this time window
    #[schemars(extend("x-conflicts" = "never-collected"))]
    pub collected: Option<Text<Between<Time>>>,
    /// Not collected before the trace ends
    pub never_collected: bool,
    /// Size without header (64..1kB)
    pub size: Option<Text<Between<Bytes>>>,
    /// Time from allocation to collection; infinite for what is never collected
    pub lifetime: Option<Text<Between<Time>>>,
    /// Only this heap: minor (including what is promoted), major, external; may be repeated
    pub heap: Vec<ObjectHeap>,
    /// Only this domain; may be repeated
    #[schemars(extend("x-value" = "NUMBER"))]
    pub domain: Vec<u16>,
    /// With this function in the call stack; a name (Main.load also matches Dune__exe__Main.load) or /REGEX/; may be repeated
    #[serde(rename = "in")]
    pub inside: Vec<Text<Pattern>>,
    /// Without this function in the call stack
    #[serde(rename = "not-in")]
    pub not_inside: Vec<Text<Pattern>>,
    /// With a function of this file in the call stack
    #[schemars(extend("x-value" = "FILE", "x-example" = "main.ml"))]
    pub in_file: Vec<Text<Pattern>>,
    /// Without a function of this file in the call stack
    #[schemars(extend("x-value" = "FILE", "x-example" = "list.ml"))]
    pub not_in_file: Vec<Text<Pattern>>,
    /// Leave this function out of call stacks: what it allocates is charged to its caller
    pub hide: Vec<Text<Pattern>>,
}

/// A heap of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ObjectHeap {
    /// Allocated in the minor heap, including what is promoted
    Minor,
    /// Allocated in the major heap
    Major,
    /// Outside the OCaml heap
    External,
}

/// The heading of filters in the help.
const HEADING: &str = "Filters (ranges are A..B, A.. or ..B, both ends included)";

fn under_a_heading(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
        if let Some(property) = property.as_object_mut() {
            property.insert("x-heading".to_owned(), HEADING.into());
        }
    }
}

impl FilterOptions {
    /// The corresponding filter.
    ///
    /// # Errors
    /// If they contradict each other, or there are too many.
    pub fn filter(&self) -> Result<Filter, QuestionError> {
        let mut live = Vec::new();
        live.extend(self.live_in.map(|range| Live::In(range.0)));
        live.extend(self.live_at.map(|moment| Live::At(moment.0)));
        live.extend(self.live_at_end.then_some(Live::AtEnd));
        live.extend(self.live_at_peak.then_some(Live::AtPeak));
        if self.collected.is_some() && self.never_collected {
            let why = "collected and never-collected exclude each other";
            return Err(QuestionError::Wrong(why.to_owned()));
        }
        let never = self.never_collected.then_some(Collected::Never);
        let places = |functions: &[Text<Pattern>], files: &[Text<Pattern>]| -> Vec<FramePattern> {
            let functions =
                functions.iter().map(|pattern| FramePattern::Function(pattern.0.clone()));
            functions
                .chain(files.iter().map(|pattern| FramePattern::File(pattern.0.clone())))
                .collect()
        };
        let inside = places(&self.inside, &self.in_file);
        if inside.len() > Filter::MAX_INSIDE {
            let most = Filter::MAX_INSIDE;
            let why = format!("at most {most} of --in and --in-file at a time");
            return Err(QuestionError::Wrong(why));
        }
        let source = |heap: &ObjectHeap| match heap {
            ObjectHeap::Minor => Source::Minor,
            ObjectHeap::Major => Source::Major,
            ObjectHeap::External => Source::External,
        };
        Ok(Filter {
            allocated: self.allocated.unwrap_or_default().0,
            live,
            collected: self.collected.map(|range| Collected::In(range.0)).or(never),
            size: self.size.unwrap_or_default().0,
            lifetime: self.lifetime.unwrap_or_default().0,
            sources: self.heap.iter().map(source).collect(),
            domains: self.domain.iter().copied().map(DomainId).collect(),
            inside,
            not_inside: places(&self.not_inside, &self.not_in_file),
            hidden: Hidden::of(self.hide.iter().map(|pattern| pattern.0.clone())),
        })
    }

    /// Likewise, for questions about sites: library code is hidden unless `raw` is set.
    ///
    /// # Errors
    /// If they contradict each other, or there are too many.
    pub fn filter_with(&self, library: LibraryOptions) -> Result<Filter, QuestionError> {
        let mut filter = self.filter()?;
        filter.hidden.library = !library.raw;
        Ok(filter)
    }
}
