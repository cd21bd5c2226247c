//! Filters as options: under the names that the command line and URLs give them.

use std::str::FromStr;

use bactrian_trace::{DomainId, Source};

use crate::filter::{Collected, Filter, Live, Pattern, Place};
use crate::units::{BadValue, Between, Time};

impl Filter {
    /// The names of all options.
    pub const OPTIONS: &[&str] = &[
        "allocated",
        "live-in",
        "live-at",
        "live-at-end",
        "live-at-peak",
        "collected",
        "never-collected",
        "size",
        "lifetime",
        "heap",
        "domain",
        "in",
        "not-in",
        "in-file",
        "not-in-file",
        "hide",
    ];

    /// Adds a condition, or sets one that there can only be once. Options that are conditions by themselves take no value.
    ///
    /// # Errors
    /// There is no such option, or the value is none for it.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "allocated" => self.allocated = read(option, value)?,
            "live-in" => self.set_live(Live::In(read(option, value)?)),
            "live-at" => self.set_live(Live::At(read(option, value)?)),
            "live-at-end" => self.set_live(Live::AtEnd),
            "live-at-peak" => self.set_live(Live::AtPeak),
            "collected" => self.set_collected(Collected::In(read(option, value)?))?,
            "never-collected" => self.set_collected(Collected::Never)?,
            "size" => self.size = read(option, value)?,
            "lifetime" => self.lifetime = read(option, value)?,
            "heap" => {
                let all = [Source::Minor, Source::Major, Source::External];
                let found = all.into_iter().find(|source| source.name() == value);
                let wrong = || format!("heap: `{value}` is none; write minor, major or external");
                self.sources.push(found.ok_or_else(wrong)?);
            }
            "domain" => {
                let number = value.parse();
                let wrong = |_| format!("domain: `{value}` is not the number of a domain");
                self.domains.push(DomainId(number.map_err(wrong)?));
            }
            "in" => add(&mut self.inside, Place::Function(pattern(option, value)?)),
            "not-in" => add(&mut self.not_inside, Place::Function(pattern(option, value)?)),
            "in-file" => add(&mut self.inside, Place::File(pattern(option, value)?)),
            "not-in-file" => add(&mut self.not_inside, Place::File(pattern(option, value)?)),
            "hide" => self.hidden.push(pattern(option, value)?),
            _ => return Err(format!("{option}: there is no such filter")),
        }
        match self.inside.len() > Filter::MAX_INSIDE {
            true => {
                Err(format!("{option}: at most {} of in and in-file at a time", Filter::MAX_INSIDE))
            }
            false => Ok(()),
        }
    }

    /// The options that make this filter, with their values; empty ones for those that take none.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        if self.allocated != Between::default() {
            options.push(("allocated", times(&self.allocated)));
        }
        options.extend(self.live.iter().map(|live| match live {
            Live::In(range) => ("live-in", times(range)),
            Live::At(moment) => ("live-at", time(moment)),
            Live::AtEnd => ("live-at-end", String::new()),
            Live::AtPeak => ("live-at-peak", String::new()),
        }));
        options.extend(self.collected.iter().map(|collected| match collected {
            Collected::In(range) => ("collected", times(range)),
            Collected::Never => ("never-collected", String::new()),
        }));
        if self.size != Between::default() {
            options.push(("size", range(&self.size, |size| size.0.to_string())));
        }
        if self.lifetime != Between::default() {
            options.push(("lifetime", times(&self.lifetime)));
        }
        options.extend(self.sources.iter().map(|source| ("heap", source.name().to_owned())));
        options.extend(self.domains.iter().map(|domain| ("domain", domain.0.to_string())));
        let places = |places: &[Place], function: &'static str, file: &'static str| {
            let option = |place: &Place| match place {
                Place::Function(pattern) => (function, pattern.to_string()),
                Place::File(pattern) => (file, pattern.to_string()),
            };
            places.iter().map(option).collect::<Vec<_>>()
        };
        options.extend(places(&self.inside, "in", "in-file"));
        options.extend(places(&self.not_inside, "not-in", "not-in-file"));
        options.extend(self.hidden.iter().map(|hidden| ("hide", hidden.to_string())));
        options
    }

    /// Sets a condition of its kind, in the order in which the command line has them.
    fn set_live(&mut self, live: Live) {
        let rank = |live: &Live| match live {
            Live::In(_) => 0,
            Live::At(_) => 1,
            Live::AtEnd => 2,
            Live::AtPeak => 3,
        };
        self.live.retain(|known| rank(known) != rank(&live));
        self.live.push(live);
        self.live.sort_by_key(rank);
    }

    fn set_collected(&mut self, collected: Collected) -> Result<(), String> {
        match (self.collected, collected) {
            (Some(Collected::In(_)), Collected::Never)
            | (Some(Collected::Never), Collected::In(_)) => {
                Err("collected: what is never-collected is not collected at any time".to_owned())
            }
            _ => {
                self.collected = Some(collected);
                Ok(())
            }
        }
    }
}

/// Functions come before files, as on the command line.
fn add(places: &mut Vec<Place>, place: Place) {
    let is_file = |place: &Place| matches!(place, Place::File(_));
    let at = match is_file(&place) {
        true => places.len(),
        false => places.iter().position(is_file).unwrap_or(places.len()),
    };
    places.insert(at, place);
}

fn read<T: FromStr<Err = BadValue>>(option: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|error| format!("{option}: {error}"))
}

fn pattern(option: &str, value: &str) -> Result<Pattern, String> {
    Pattern::parse(value).map_err(|error| format!("{option}: `{value}`: {error}"))
}

fn range<T>(between: &Between<T>, show: impl Fn(&T) -> String) -> String {
    let end = |end: &Option<T>| end.as_ref().map(&show).unwrap_or_default();
    format!("{}..{}", end(&between.from), end(&between.to))
}

fn times(between: &Between<Time>) -> String {
    range(between, time)
}

/// Seconds, to the microsecond.
fn time(time: &Time) -> String {
    let (whole, part) = (time.0.0 / 1_000_000, time.0.0 % 1_000_000);
    let text = format!("{whole}.{part:06}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_make_the_filter_that_they_are_of() {
        let options = [
            ("allocated", "1.5s..3s"),
            ("live-in", "0.000001s.."),
            ("live-at", "120s"),
            ("live-at-end", ""),
            ("live-at-peak", ""),
            ("collected", "..7s"),
            ("size", "64..1000"),
            ("lifetime", "0.01s.."),
            ("heap", "minor"),
            ("heap", "external"),
            ("domain", "3"),
            ("in", "Main.load"),
            ("in", "/^Stdlib/"),
            ("in-file", "main.ml"),
            ("not-in", "List.map"),
            ("not-in-file", "/x/"),
            ("hide", "/./"),
        ];
        let mut filter = Filter::default();
        // In whatever order they come.
        for (option, value) in options.iter().rev() {
            filter.set(option, value).expect("an option");
        }
        let mut written = filter.options();
        written.sort();
        let mut expected = options.map(|(option, value)| (option, value.to_owned()));
        expected.sort();
        assert_eq!(written, expected);
        let mut again = Filter::default();
        for (option, value) in filter.options() {
            again.set(option, &value).expect("an option");
        }
        assert_eq!(again, filter);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (option, value) in [
            ("alocated", "1..2"),
            ("allocated", "2..1"),
            ("size", "7"),
            ("heap", "left"),
            ("domain", "-1"),
            ("in", "/(/"),
        ] {
            let error = Filter::default().set(option, value).expect_err("wrong");
            assert!(error.starts_with(option), "{error}");
        }
        let mut filter = Filter::default();
        filter.set("never-collected", "").expect("an option");
        assert!(filter.set("collected", "1..2").is_err());
    }
}
