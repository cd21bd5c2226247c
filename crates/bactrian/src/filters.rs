//! The filters of the command line: which objects a question is about.

use bactrian_analysis::units::{Between, Bytes, Time};
use bactrian_analysis::{Collected, Estimate, Filter, Live, Pattern, Place};
use bactrian_trace::{DomainId, Source};

use crate::failure::Failure;
use crate::output::Console;

/// Which objects; all conditions must hold. Times count from the start of the trace.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Filters (ranges are A..B, A.. or ..B, both ends included)")]
pub struct FilterArgs {
    /// Allocated in this time (1.5s..3s)
    #[arg(long, value_name = "TIMES")]
    allocated: Option<Between<Time>>,
    /// Alive at some moment in this time
    #[arg(long, value_name = "TIMES")]
    live_in: Option<Between<Time>>,
    /// Alive at this moment
    #[arg(long, value_name = "TIME")]
    live_at: Option<Time>,
    /// Alive when the trace ends
    #[arg(long)]
    live_at_end: bool,
    /// Alive when all wanted objects together take most memory
    #[arg(long)]
    live_at_peak: bool,
    /// Collected in this time
    #[arg(long, value_name = "TIMES", conflicts_with = "never_collected")]
    collected: Option<Between<Time>>,
    /// Not collected before the trace ends
    #[arg(long)]
    never_collected: bool,
    /// Size without header (64..1kB)
    #[arg(long, value_name = "SIZES")]
    size: Option<Between<Bytes>>,
    /// Time from allocation to collection; what is never collected lives for ever
    #[arg(long, value_name = "TIMES")]
    lifetime: Option<Between<Time>>,
    /// Only this heap: minor (and promoted from there), major, external; may be repeated
    #[arg(long, value_name = "HEAP", value_parser = heap)]
    heap: Vec<Source>,
    /// Only this domain; may be repeated
    #[arg(long, value_name = "NUMBER")]
    domain: Vec<u16>,
    /// With this function in the stack; a name (Main.load also means Dune__exe__Main.load) or /REGEX/; may be
    /// repeated
    #[arg(long = "in", value_name = "FUNCTION", value_parser = pattern)]
    inside: Vec<Pattern>,
    /// Without this function in the stack
    #[arg(long = "not-in", value_name = "FUNCTION", value_parser = pattern)]
    not_inside: Vec<Pattern>,
    /// With a function of this file in the stack
    #[arg(long, value_name = "FILE", value_parser = pattern)]
    in_file: Vec<Pattern>,
    /// Without a function of this file in the stack
    #[arg(long, value_name = "FILE", value_parser = pattern)]
    not_in_file: Vec<Pattern>,
    /// Leave this function out of stacks: its caller stands for it
    #[arg(long, value_name = "FUNCTION", value_parser = pattern)]
    hide: Vec<Pattern>,
}

/// A name, or a regular expression between slashes.
pub fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).map_err(|error| error.to_string())
}

fn heap(text: &str) -> Result<Source, String> {
    let all = [Source::Minor, Source::Major, Source::External];
    let found = all.into_iter().find(|source| source.name() == text);
    found.ok_or_else(|| "write minor, major or external".to_owned())
}

impl FilterArgs {
    /// Warns if nothing is left.
    pub fn warn_if_empty(
        &self,
        filter: &Filter,
        found: &Estimate,
        console: &mut Console,
    ) -> Result<(), Failure> {
        if found.value <= 0.0 && !filter.admits_all() {
            console.warn("no sampled object is what the filters ask for")?;
        }
        Ok(())
    }

    /// The filter they stand for.
    pub fn filter(&self) -> Result<Filter, Failure> {
        let mut live = Vec::new();
        live.extend(self.live_in.map(Live::In));
        live.extend(self.live_at.map(Live::At));
        live.extend(self.live_at_end.then_some(Live::AtEnd));
        live.extend(self.live_at_peak.then_some(Live::AtPeak));
        let never = self.never_collected.then_some(Collected::Never);
        let places = |functions: &[Pattern], files: &[Pattern]| -> Vec<Place> {
            let functions = functions.iter().cloned().map(Place::Function);
            functions.chain(files.iter().cloned().map(Place::File)).collect()
        };
        let inside = places(&self.inside, &self.in_file);
        if inside.len() > Filter::MAX_INSIDE {
            let most = Filter::MAX_INSIDE;
            return Err(Failure::Usage(format!("at most {most} of --in and --in-file at a time")));
        }
        Ok(Filter {
            allocated: self.allocated.unwrap_or_default(),
            live,
            collected: self.collected.map(Collected::In).or(never),
            size: self.size.unwrap_or_default(),
            lifetime: self.lifetime.unwrap_or_default(),
            sources: self.heap.clone(),
            domains: self.domain.iter().copied().map(DomainId).collect(),
            inside,
            not_inside: places(&self.not_inside, &self.not_in_file),
            hidden: self.hide.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parsed(arguments: &[String]) -> Filter {
        let command = FilterArgs::augment_args(clap::Command::new("x").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments).expect("arguments");
        FilterArgs::from_arg_matches(&matches).expect("arguments").filter().expect("a filter")
    }

    #[test]
    fn options_have_the_names_that_the_page_gives_them() {
        let command = FilterArgs::augment_args(clap::Command::new("x"));
        let mut ours: Vec<_> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
        let mut theirs = Filter::OPTIONS.to_vec();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn options_mean_what_they_mean_to_the_page() {
        let values = [
            ("allocated", "1.5s..3s"),
            ("live-in", "20ms.."),
            ("live-at", "2"),
            ("live-at-end", ""),
            ("live-at-peak", ""),
            ("collected", "..3min"),
            ("size", "64..1kB"),
            ("lifetime", "0.5.."),
            ("heap", "major"),
            ("domain", "2"),
            ("in-file", "main.ml"),
            ("in", "/a|b/"),
            ("not-in", "List.map"),
            ("hide", "f"),
        ];
        let mut set = Filter::default();
        let mut arguments = Vec::new();
        for (name, value) in values {
            set.set(name, value).expect("an option");
            arguments.push(format!("--{name}"));
            arguments.extend((!value.is_empty()).then(|| value.to_owned()));
        }
        assert_eq!(parsed(&arguments), set);
    }
}
