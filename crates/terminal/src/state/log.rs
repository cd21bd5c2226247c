//! Which lines of the log are seen. Logs are long, so lines are looked for only as far as they are shown.

use bactrian_live::Database;

use crate::search::Search;

/// Which line is at the lower end.
#[derive(Clone, Debug, Default)]
pub struct LogView {
    /// Its time, and how many lines of that time come after it. None: the last one of the moment.
    anchor: Option<(u64, usize)>,
}

impl LogView {
    /// Whether the newest line is shown, and will be.
    pub fn follows(&self) -> bool {
        self.anchor.is_none()
    }

    /// Lines from the lower end upwards, only those that contain a text.
    pub fn upwards<'a>(
        &self,
        database: &'a Database,
        at: u64,
        search: &str,
    ) -> impl Iterator<Item = (u64, &'a str)> {
        let (until, skipped) = self.anchor.filter(|(time, _)| *time <= at).unwrap_or((at, 0));
        let search = Search::new(search);
        database.log_until(until).rev().skip(skipped).filter(move |(_, text)| search.finds(text))
    }

    /// So many lines up.
    pub fn up(&mut self, lines: usize, database: &Database, at: u64, search: &str) {
        let target = self.upwards(database, at, search).take(lines + 1).last();
        let Some((time, text)) = target else { return };
        self.put(time, text, database, at);
    }

    /// So many lines down; after the newest, new ones are followed.
    pub fn down(&mut self, lines: usize, database: &Database, at: u64, search: &str) {
        let Some((anchor, skipped)) = self.anchor else { return };
        let search = Search::new(search);
        let of_that_time = database.log_until(anchor).rev();
        let of_that_time: Vec<(u64, &str)> = of_that_time.take(skipped).collect();
        let below = of_that_time.into_iter().rev().chain(database.log_between(anchor, at));
        let mut below = below.filter(|(_, text)| search.finds(text));
        match below.nth(lines - 1) {
            Some((time, text)) => self.put(time, text, database, at),
            None => self.anchor = None,
        }
    }

    /// The oldest lines.
    pub fn go_to_start(&mut self, height: usize, database: &Database, at: u64, search: &str) {
        let search = Search::new(search);
        let mut lines = database.log_until(at).filter(|(_, text)| search.finds(text));
        let Some((time, text)) = lines.by_ref().take(height.max(1)).last() else { return };
        self.put(time, text, database, at);
    }

    /// The newest lines, and those that come.
    pub fn go_to_end(&mut self) {
        self.anchor = None;
    }

    fn put(&mut self, time: u64, text: &str, database: &Database, at: u64) {
        // Lines are found again by where they are, not by what they say: two may say the same.
        let after = database.log_until(time.min(at)).rev();
        let after = after.take_while(|(_, other)| !std::ptr::eq(*other, text)).count();
        self.anchor = Some((time, after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_live::{Event, Limits, LogLine, Stamp};

    fn database() -> Database {
        let mut database = Database::new(Limits::default());
        for at in 1..=10 {
            database.add(Event::Tick(Stamp { at, cpu: 0 }));
            for text in ["a", "b"] {
                database.add(Event::Log(LogLine { at, text: format!("{text}{at}") }));
            }
        }
        database
    }

    #[test]
    fn lines_are_found_upwards_and_downwards() {
        let database = database();
        let mut view = LogView::default();
        let lowest =
            |view: &LogView, search: &str| view.upwards(&database, 9, search).next().map(|it| it.1);
        assert_eq!(lowest(&view, ""), Some("b9"));
        view.up(1, &database, 9, "");
        assert_eq!(lowest(&view, ""), Some("a9"));
        view.up(2, &database, 9, "");
        assert_eq!(lowest(&view, ""), Some("a8"));
        view.up(2, &database, 9, "A");
        assert_eq!(lowest(&view, "a"), Some("a6"));
        view.down(1, &database, 9, "");
        assert_eq!(lowest(&view, ""), Some("b6"));
        view.down(3, &database, 9, "");
        assert_eq!(lowest(&view, ""), Some("a8"));
        view.down(30, &database, 9, "");
        assert!(view.follows());
        view.go_to_start(3, &database, 9, "b");
        assert_eq!(lowest(&view, "b"), Some("b3"));
        // Looking at an earlier moment shows what was there.
        assert_eq!(view.upwards(&database, 2, "").next().map(|it| it.1), Some("b2"));
    }
}
