//! What the user sees and has chosen, without how it is drawn: keys and time come in, nothing goes out but wishes.

mod control;
mod keys;
mod list;
mod log;
mod prompt;
mod time;

use bactrian_analysis::live::warnings::{Seeker, Warning};
use bactrian_live::{Action, Database};
use ratatui::layout::Rect;

use super::layout::Layout;
use super::lists::{self, Cell, Folds, Row, RowId, Tone};
use super::measure::{Measure, Part, Place, parts};
use crate::session::Status;

pub use list::List;
pub use log::LogView;
pub use prompt::{Prompt, Purpose};
pub use time::{Motion, Time};

/// A view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// The program as a whole.
    #[default]
    Overview,
    /// Places of allocation.
    Sites,
    /// The runtime's own numbers.
    Gc,
    /// What the program wrote.
    Log,
    /// Points, counters and stopwatches.
    Points,
    /// Numbers, truth values, texts.
    Values,
    /// Marked values.
    Tags,
    /// Hash tables.
    Tables,
    /// Trees and graphs.
    Trees,
    /// Distributions and pieces of work.
    Spans,
}

impl Tab {
    /// All, in the order of their keys: first what all programs have, then what few let be observed.
    pub const ALL: [Tab; 10] = [
        Tab::Overview,
        Tab::Sites,
        Tab::Gc,
        Tab::Log,
        Tab::Points,
        Tab::Values,
        Tab::Tags,
        Tab::Tables,
        Tab::Trees,
        Tab::Spans,
    ];

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Tab::Overview => "Overview",
            Tab::Points => "Points",
            Tab::Values => "Values",
            Tab::Tags => "Tags",
            Tab::Tables => "Tables",
            Tab::Trees => "Trees",
            Tab::Log => "Log",
            Tab::Gc => "GC",
            Tab::Sites => "Sites",
            Tab::Spans => "Spans",
        }
    }

    /// The key that shows it.
    pub fn key(self) -> char {
        char::from(b'0' + (self as u8 + 1) % 10)
    }

    fn of_key(key: char) -> Option<Tab> {
        Tab::ALL.into_iter().find(|tab| tab.key() == key)
    }

    /// The next of those that are shown, or the one before.
    fn shifted(self, by: usize, is_shown: impl Fn(Tab) -> bool) -> Tab {
        let nth = |steps: usize| Tab::ALL[(self as usize + steps * by) % Tab::ALL.len()];
        (1..Tab::ALL.len()).map(nth).find(|tab| is_shown(*tab)).unwrap_or(self)
    }
}

/// What lies over the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// Which keys there are; the first line that is seen.
    Help(usize),
    /// One observer, or a place of allocation; which of its numbers is chosen.
    Details(Subject, usize),
    /// All marked numbers together; which of them is chosen.
    Chart(usize),
    /// What a warning means.
    Warning(Warning),
}

/// What details are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The observer.
    pub place: Place,
    /// The place of allocation, of those that it has.
    pub site: Option<String>,
}

impl Subject {
    /// Its numbers at a moment.
    pub fn measures(&self, database: &Database, at: u64) -> Vec<Measure> {
        let place = self.place;
        let parts = match (place.series(database), &self.site) {
            (None, _) => Vec::new(),
            (Some(_), Some(site)) => {
                vec![Part::SiteRate(site.clone()), Part::SiteLive(site.clone())]
            }
            (Some(series), None) => parts(series, at),
        };
        parts.into_iter().map(|part| Measure { place, part }).collect()
    }
}

/// What is to be done after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing more.
    None,
    /// The user wants to leave.
    Quit,
    /// The program is asked for something.
    Wish(Action),
}

/// What the user sees and has chosen.
#[derive(Debug)]
pub struct State {
    /// The view.
    pub tab: Tab,
    /// The moment.
    pub time: Time,
    /// What lies over the view.
    pub over: Over,
    /// Only what contains this is listed.
    pub search: String,
    /// A line that is being written.
    pub prompt: Option<Prompt>,
    /// What was said last, and whether it is bad news.
    pub message: Option<(String, bool)>,
    /// What charts show.
    pub marked: Vec<Measure>,
    /// Whether lines of a chart have a scale of their own each.
    pub is_normalised: bool,
    /// What is folded in trees.
    pub folds: Folds,
    /// Which part of the log is seen.
    pub log: LogView,
    /// What to worry about, at the moment.
    pub warnings: Vec<Warning>,
    /// The rows of the view.
    pub rows: Vec<Row>,
    /// How long ago that was.
    message_age: u64,
    /// Whether the program's end has been noticed.
    knows_the_end: bool,
    lists: [List; Tab::ALL.len()],
    screen: Rect,
    seeker: Seeker,
    /// Whether sampling was asked for last.
    sampling: Option<bool>,
}

/// What was said is read after so many nanoseconds; then the line is free for what is true all the time.
const MESSAGE_STAYS: u64 = 10_000_000_000;

impl Default for State {
    fn default() -> State {
        State {
            tab: Tab::default(),
            time: Time::default(),
            over: Over::Nothing,
            search: String::new(),
            prompt: None,
            message: None,
            marked: Vec::new(),
            is_normalised: false,
            folds: Folds::default(),
            log: LogView::default(),
            warnings: Vec::new(),
            rows: Vec::new(),
            message_age: 0,
            knows_the_end: false,
            lists: Default::default(),
            screen: Rect::new(0, 0, 80, 24),
            seeker: Seeker::default(),
            sampling: None,
        }
    }
}

impl State {
    /// Takes note that so much time has passed and that something may have come. Says whether the screen changes by it.
    pub fn advance(&mut self, database: &Database, passed: u64) -> bool {
        self.message_age = self.message_age.saturating_add(passed);
        let is_old = self.message.is_some() && self.message_age > MESSAGE_STAYS;
        let is_news = database.ended().is_some() && !self.knows_the_end;
        self.knows_the_end = database.ended().is_some();
        if is_old || is_news {
            self.message = None;
        }
        let is_busy = self.is_busy(database);
        self.time.advance(database, passed) || is_old || is_news || is_busy
    }

    /// Whether there is more to be sought for what is shown.
    pub fn is_busy(&self, database: &Database) -> bool {
        (self.tab == Tab::Log && self.log.is_looking(database))
            || self.seeker.is_seeking(self.time.at())
    }

    /// Takes note of how large the screen is.
    pub fn resize(&mut self, screen: Rect) {
        self.screen = screen;
    }

    /// Something for the user to read.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = Some((message.into(), false));
        self.message_age = 0;
    }

    /// Something that did not work.
    pub fn complain(&mut self, message: impl Into<String>) {
        self.message = Some((message.into(), true));
        self.message_age = 0;
    }

    /// The present view's list.
    pub fn list(&self) -> &List {
        &self.lists[self.tab as usize]
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab as usize]
    }

    /// The row that is chosen.
    pub fn chosen(&self) -> Option<&Row> {
        self.rows.get(self.list().position())
    }

    fn page(&self) -> usize {
        Layout::of(self.screen).page(self.tab).max(1)
    }

    /// Makes what is to be drawn: to be called after everything that changes something, before it is drawn.
    pub fn settle(&mut self, database: &Database) {
        let at = self.time.at();
        if let Some(warnings) = self.seeker.seek(database, at) {
            self.warnings = warnings;
        }
        if self.tab == Tab::Log {
            self.log.look(database, &self.search);
        }
        self.rows = match self.tab {
            Tab::Overview => self.warnings.iter().map(warning_row).collect(),
            Tab::Log => Vec::new(),
            tab => lists::rows(tab, database, at, &self.search, &self.folds),
        };
        if let Some((column, is_descending)) = self.list().sorted {
            lists::sort(&mut self.rows, column, is_descending);
        }
        let page = self.page();
        let rows = std::mem::take(&mut self.rows);
        self.list_mut().settle(&rows, page);
        self.rows = rows;
        self.keep_choice_inside(database);
    }

    /// What lies over the view may have fewer rows than before.
    fn keep_choice_inside(&mut self, database: &Database) {
        match &mut self.over {
            Over::Chart(chosen) => *chosen = (*chosen).min(self.marked.len().saturating_sub(1)),
            Over::Details(subject, chosen) => {
                let count = subject.measures(database, self.time.at()).len();
                *chosen = (*chosen).min(count.saturating_sub(1));
            }
            _ => {}
        }
    }

    /// Whether nothing more will come.
    fn is_over(database: &Database, status: &Status) -> bool {
        matches!(status, Status::Over | Status::Replay) || database.ended().is_some()
    }
}

fn warning_row(warning: &Warning) -> Row {
    Row {
        id: RowId::Warning(warning.name, warning.subject.clone()),
        cells: vec![Cell { text: warning.sentence.clone(), number: None }],
        tone: Tone::Plain,
        measure: None,
    }
}
