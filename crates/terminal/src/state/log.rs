//! The visible part of the log.
//!
//! Logs are long. So a search proceeds in steps, from the newest line upwards, and never examines a line
//! twice.

use std::collections::VecDeque;
use std::ops::Range;

use bactrian_live::Database;

use crate::search::Search;

/// The number of lines examined per frame, which takes a few milliseconds.
const AT_ONCE: u64 = 6_000;

/// The visible part and the search.
#[derive(Clone, Debug, Default)]
pub struct LogView {
    /// The number of the bottom line; None: the last line at the current moment.
    anchor: Option<u64>,
    /// The search; None shows all lines.
    found: Option<Found>,
}

/// The lines that contain a text.
#[derive(Clone, Debug)]
struct Found {
    text: String,
    search: Search,
    /// The numbers of the examined lines.
    looked_at: Range<u64>,
    /// The numbers of the matching lines.
    numbers: VecDeque<u64>,
}

impl Found {
    /// Examines some more lines.
    fn look(&mut self, database: &Database) {
        let all = database.log_numbers();
        if self.looked_at.end < all.start {
            self.looked_at = all.start..all.start;
        }
        self.looked_at.start = self.looked_at.start.max(all.start);
        let gone = self.numbers.partition_point(|number| *number < all.start);
        self.numbers.drain(..gone);
        let is_found = |number: u64| {
            database.log_line(number).is_some_and(|(_, text)| self.search.finds(text))
        };
        let newest = self.looked_at.end..all.end.min(self.looked_at.end + AT_ONCE);
        self.looked_at.end = newest.end;
        let left = AT_ONCE - (newest.end - newest.start);
        let older = all.start.max(self.looked_at.start.saturating_sub(left))..self.looked_at.start;
        self.looked_at.start = older.start;
        self.numbers.extend(newest.filter(|number| is_found(*number)));
        older.rev().filter(|number| is_found(*number)).for_each(|number| {
            self.numbers.push_front(number);
        });
    }
}

impl LogView {
    /// Whether the newest line is visible and new lines are followed.
    pub fn follows(&self) -> bool {
        self.anchor.is_none()
    }

    /// Continues a search, one step per call; to be called before each frame.
    pub fn look(&mut self, database: &Database, text: &str) {
        if self.found.as_ref().map_or("", |found| &found.text) != text {
            let end = database.log_numbers().end;
            self.found = (!text.is_empty()).then(|| Found {
                text: text.to_owned(),
                search: Search::new(text),
                looked_at: end..end,
                numbers: VecDeque::new(),
            });
        }
        if let Some(found) = &mut self.found {
            found.look(database);
        }
    }

    /// Whether there are lines that were not examined yet.
    pub fn is_looking(&self, database: &Database) -> bool {
        self.found.as_ref().is_some_and(|found| found.looked_at != database.log_numbers())
    }

    /// The number of shown lines with smaller numbers than this one.
    fn seen_before(&self, number: u64, database: &Database) -> usize {
        match &self.found {
            None => number.saturating_sub(database.log_numbers().start) as usize,
            Some(found) => found.numbers.partition_point(|it| *it < number),
        }
    }

    /// The number of a shown line, by its index among the shown lines.
    fn seen(&self, place: usize, database: &Database) -> Option<u64> {
        match &self.found {
            None => Some(database.log_numbers().start + place as u64),
            Some(found) => found.numbers.get(place).copied(),
        }
    }

    /// The number of shown lines up to the bottom line, and up to the current moment.
    fn ends(&self, database: &Database, at: u64) -> (usize, usize) {
        let last = database.log_number_after(at);
        let lowest = self.anchor.map_or(last, |anchor| last.min(anchor + 1));
        (self.seen_before(lowest, database), self.seen_before(last, database))
    }

    /// The shown lines from the bottom upwards.
    pub fn upwards<'d>(
        &self,
        database: &'d Database,
        at: u64,
    ) -> impl Iterator<Item = (u64, &'d str)> {
        let (lowest, _) = self.ends(database, at);
        let numbers = (0..lowest).rev().filter_map(|place| self.seen(place, database));
        numbers.filter_map(|number| database.log_line(number))
    }

    /// Scrolls up.
    pub fn up(&mut self, lines: usize, database: &Database, at: u64) {
        let (lowest, _) = self.ends(database, at);
        if lowest > 0 {
            self.anchor = self.seen((lowest - 1).saturating_sub(lines), database);
        }
    }

    /// Scrolls down; past the newest line, new lines are followed.
    pub fn down(&mut self, lines: usize, database: &Database, at: u64) {
        let (lowest, last) = self.ends(database, at);
        let place = (lowest + lines).checked_sub(1).filter(|place| *place < last);
        self.anchor = place.and_then(|place| self.seen(place, database));
    }

    /// Shows the oldest lines; `height` of them are visible at once.
    pub fn go_to_start(&mut self, height: usize, database: &Database, at: u64) {
        let (_, last) = self.ends(database, at);
        self.anchor = self.seen(height.min(last).saturating_sub(1), database);
    }

    /// Shows the newest lines and follows new ones.
    pub fn go_to_end(&mut self) {
        self.anchor = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_live::{Event, Limits, LogLine, Stamp};

    fn write(database: &mut Database, at: u64, text: &str) {
        database.add(Event::Tick(Stamp { at, cpu: 0 }));
        database.add(Event::Log(LogLine { at, text: text.to_owned() }));
    }

    fn database() -> Database {
        let mut database = Database::new(Limits::default());
        for at in 1..=10 {
            ["a", "b"].iter().for_each(|text| write(&mut database, at, &format!("{text}{at}")));
        }
        database
    }

    #[test]
    fn lines_are_found_upwards_and_downwards() {
        let database = database();
        let mut view = LogView::default();
        let lowest = |view: &mut LogView, search: &str| {
            view.look(&database, search);
            view.upwards(&database, 9).next().map(|it| it.1)
        };
        assert_eq!(lowest(&mut view, ""), Some("b9"));
        view.up(1, &database, 9);
        assert_eq!(lowest(&mut view, ""), Some("a9"));
        view.up(2, &database, 9);
        assert_eq!(lowest(&mut view, "A"), Some("a8"));
        view.up(2, &database, 9);
        assert_eq!(lowest(&mut view, "a"), Some("a6"));
        assert_eq!(lowest(&mut view, ""), Some("a6"));
        view.down(1, &database, 9);
        assert_eq!(lowest(&mut view, ""), Some("b6"));
        view.down(3, &database, 9);
        assert_eq!(lowest(&mut view, ""), Some("a8"));
        view.down(30, &database, 9);
        assert!(view.follows());
        assert_eq!(lowest(&mut view, "b"), Some("b9"));
        view.go_to_start(3, &database, 9);
        assert_eq!(lowest(&mut view, "b"), Some("b3"));
        // An earlier moment shows the lines that existed then.
        view.look(&database, "");
        assert_eq!(view.upwards(&database, 2).next().map(|it| it.1), Some("b2"));
    }

    #[test]
    fn long_log_is_searched_in_steps_while_it_grows() {
        let mut database = Database::new(Limits { memory: 8 << 20, ..Limits::default() });
        let mut view = LogView::default();
        let line =
            |at: u64| if at.is_multiple_of(1000) { format!("found {at}") } else { at.to_string() };
        (1..=35_000).for_each(|at| write(&mut database, at, &line(at)));
        let seen = |view: &LogView, database: &Database| view.upwards(database, u64::MAX).count();
        view.look(&database, "found");
        assert_eq!(seen(&view, &database), 6);
        assert!(view.is_looking(&database));
        // New lines are examined first, and none twice.
        (35_001..=37_000).for_each(|at| write(&mut database, at, &line(at)));
        view.look(&database, "found");
        assert_eq!(seen(&view, &database), 12);
        for _ in 0..10 {
            view.look(&database, "found");
        }
        assert!(!view.is_looking(&database));
        // Lines that left the window are gone, and no others are missing.
        (37_001..=200_000).for_each(|at| write(&mut database, at, &line(at)));
        for _ in 0..40 {
            view.look(&database, "found");
        }
        let expected: Vec<&str> =
            database.log().map(|it| it.1).filter(|it| it.contains("found")).collect();
        let found: Vec<&str> = view.upwards(&database, u64::MAX).map(|it| it.1).collect();
        assert!(expected.len() < 200 && found.iter().rev().eq(&expected), "{}", expected.len());
    }
}
