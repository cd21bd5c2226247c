//! Filters: which objects a question is about.
//!
//! A filter is a conjunction of conditions. Some are decided when an object is allocated (time, size, call
//! stack), some only when it dies or the trace ends (lifetime, still alive). For the latter,
//! [`crate::Selection`] computes the set of objects in a separate pass.

use std::fmt;
use std::str::FromStr;

use bactrian_trace::{Alloc, DomainId, Source};
use bactrian_types::written;
use regex_lite::{Error, Regex};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::library::is_library;
use crate::question::Written;
use crate::units::{Between, Bytes, Time};

/// A selection of objects. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Filter {
    /// Allocated in this time window.
    pub allocated: Between<Time>,
    /// Alive at each of these times.
    pub live: Vec<Live>,
    /// When they were collected.
    pub collected: Option<Collected>,
    /// Size in bytes, without header.
    pub size: Between<Bytes>,
    /// Time from allocation to collection; infinite for an object that is never collected.
    pub lifetime: Between<Time>,
    /// Only these heaps; all if empty.
    #[serde(serialize_with = "source_names")]
    #[schemars(with = "Vec<String>")]
    pub sources: Vec<Source>,
    /// Only these domains; all if empty.
    #[serde(serialize_with = "domain_numbers")]
    #[schemars(with = "Vec<u16>")]
    pub domains: Vec<DomainId>,
    /// Functions or files that must be in the call stack.
    pub inside: Vec<FramePattern>,
    /// Functions or files that must not be in the call stack.
    pub not_inside: Vec<FramePattern>,
    /// Code that is left out of call stacks.
    pub hidden: Hidden,
}

/// Code that is left out of call stacks: what it allocates is charged to its callers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Hidden {
    /// Library code ([`crate::library`]).
    pub library: bool,
    /// Functions.
    pub functions: Vec<Pattern>,
}

impl Hidden {
    /// Hides these functions and nothing else.
    pub fn of(functions: impl IntoIterator<Item = Pattern>) -> Hidden {
        Hidden { library: false, functions: functions.into_iter().collect() }
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        !self.library && self.functions.is_empty()
    }

    /// Whether a function is hidden.
    pub fn has(&self, function: &str, file: &str) -> bool {
        self.functions.iter().any(|pattern| pattern.matches(function))
            || self.library && is_library(function, file)
    }
}

fn source_names<S: serde::Serializer>(sources: &[Source], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(sources.iter().map(|source| source.name()))
}

fn domain_numbers<S: serde::Serializer>(domains: &[DomainId], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(domains.iter().map(|domain| domain.0))
}

/// A moment or a time window at which an object is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Live {
    /// At some moment between these.
    In(Between<Time>),
    /// At this moment.
    At(Time),
    /// When the trace ends.
    AtEnd,
    /// When all selected objects together take most memory.
    AtPeak,
}

/// When an object was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collected {
    /// In this time window.
    In(Between<Time>),
    /// Not before the trace ends.
    Never,
}

/// A name, or a regular expression for names.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// The whole name, or a suffix that starts where a module, function or file name begins.
    Exact(String),
    /// Matches any part of the name.
    Regex(Regex),
}

impl Pattern {
    /// Parses `/regex/` or a name.
    ///
    /// # Errors
    /// If the regular expression is invalid.
    pub fn parse(text: &str) -> Result<Pattern, Error> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(regex) if !regex.is_empty() => Regex::new(regex).map(Pattern::Regex),
            _ => Ok(Pattern::Exact(text.to_owned())),
        }
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Exact(exact) => is_end(name, exact) || is_end(&written(name), &written(exact)),
            Pattern::Regex(regex) => regex.is_match(name) || regex.is_match(&written(name)),
        }
    }
}

/// Whether `text` is the whole name, or a suffix that starts where a module, function or file name begins.
fn is_end(name: &str, text: &str) -> bool {
    name.strip_suffix(text).is_some_and(|before| {
        let begins = before.ends_with("__") || before.ends_with(['.', '/']);
        before.is_empty() || (begins && !text.is_empty())
    })
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        match (self, other) {
            (Pattern::Exact(one), Pattern::Exact(other)) => one == other,
            (Pattern::Regex(one), Pattern::Regex(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Exact(name) => f.write_str(name),
            Pattern::Regex(regex) => write!(f, "/{regex}/"),
        }
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Pattern, Error> {
        Pattern::parse(text)
    }
}

impl Written for Pattern {
    const VALUE: &'static str = "FUNCTION";
    const EXAMPLE: &'static str = "Main.load or /^Stdlib/";
}

impl JsonSchema for Pattern {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Functions or files to look for in call stacks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FramePattern {
    /// A function of this name.
    Function(Pattern),
    /// A function in a file of this name.
    File(Pattern),
}

impl Filter {
    /// The most `inside` conditions that can be tracked at once.
    pub const MAX_INSIDE: usize = 64;

    /// Whether an object satisfies all conditions that are known at its allocation, except those on its call
    /// stack.
    #[inline]
    pub(crate) fn admits_alloc(&self, alloc: &Alloc<'_>, word_bytes: u64) -> bool {
        self.allocated.contains(&Time(alloc.time))
            && self.size.contains(&Bytes(alloc.length.0.saturating_mul(word_bytes)))
            && (self.sources.is_empty() || self.sources.contains(&alloc.source))
            && (self.domains.is_empty() || self.domains.contains(&alloc.domain))
            && self.live.iter().all(|live| match live {
                Live::In(range) => range.to.is_none_or(|to| alloc.time <= to.0),
                Live::At(time) => alloc.time <= time.0,
                Live::AtEnd | Live::AtPeak => true,
            })
    }

    /// Whether any condition is on call stacks.
    pub(crate) fn looks_at_stacks(&self) -> bool {
        !self.inside.is_empty() || !self.not_inside.is_empty()
    }

    /// Whether all objects are admitted. Functions may still be hidden.
    pub fn admits_all(&self) -> bool {
        let Filter {
            allocated,
            live,
            collected,
            size,
            lifetime,
            sources,
            domains,
            inside,
            not_inside,
            hidden: _,
        } = self;
        *allocated == Between::default()
            && live.is_empty()
            && collected.is_none()
            && *size == Between::default()
            && *lifetime == Between::default()
            && sources.is_empty()
            && domains.is_empty()
            && inside.is_empty()
            && not_inside.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whole_or_by_suffix() {
        let table: &[(&str, &str, bool)] = &[
            ("Main.load", "Main.load", true),
            ("Main.load", "Dune__exe__Main.load", true),
            ("List.map", "Stdlib__List.map", true),
            ("load", "Dune__exe__Main.load", true),
            ("main.ml", "bin/main.ml", true),
            ("List.map", "Stdlib__ArrayList.map", false),
            ("oad", "Main.load", false),
            ("", "Main.load", false),
            ("/^Main/", "Main.load", true),
            ("/^Main/", "Dune__exe__Main.load", true),
            ("/^Dune/", "Dune__exe__Main.load", true),
            ("Lib.Mod.load", "Lib__Mod.load", true),
            ("Dune__exe__Main.load", "Main.load", true),
        ];
        for &(pattern, name, expected) in table {
            let found = Pattern::parse(pattern).expect("a pattern").matches(name);
            assert_eq!(found, expected, "{pattern} {name}");
        }
    }
}
