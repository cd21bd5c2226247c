//! The user's state, independent of drawing: keys and time come in, only requests go out.

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
use super::measure::{Measure, ObserverIndex, Part, parts};
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
    /// Allocation sites.
    Sites,
    /// Numbers of the runtime.
    Gc,
    /// The program's log.
    Log,
    /// Points, counters and stopwatches.
    Points,
    /// Numbers, booleans, strings.
    Values,
    /// Tagged values.
    Tags,
    /// Hash tables.
    Tables,
    /// Trees and graphs.
    Trees,
    /// Histograms and spans.
    Spans,
}

impl Tab {
    /// All views in the order of their keys: first those that every program has, then those that few programs
    /// use.
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

    /// The title.
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

    /// The key that selects it.
    pub fn key(self) -> char {
        char::from(b'0' + (self as u8 + 1) % 10)
    }

    fn of_key(key: char) -> Option<Tab> {
        Tab::ALL.into_iter().find(|tab| tab.key() == key)
    }

    /// The next shown view, or with a large `by` the previous one.
    fn shifted(self, by: usize, is_shown: impl Fn(Tab) -> bool) -> Tab {
        let nth = |steps: usize| Tab::ALL[(self as usize + steps * by) % Tab::ALL.len()];
        (1..Tab::ALL.len()).map(nth).find(|tab| is_shown(*tab)).unwrap_or(self)
    }
}

/// An overlay over the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// No overlay.
    Nothing,
    /// The keys; with the first visible line.
    Help(usize),
    /// An observer or an allocation site; with the index of the selected number.
    Details(Subject, usize),
    /// All marked numbers; with the index of the selected one.
    Chart(usize),
    /// The explanation of a warning.
    Warning(Warning),
}

/// What the details are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The observer.
    pub place: ObserverIndex,
    /// The allocation site, if the observer has several.
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

/// What to do after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Quit.
    Quit,
    /// Send a request to the program.
    Wish(Action),
}

/// The user's state.
#[derive(Debug)]
pub struct State {
    /// The selected view.
    pub tab: Tab,
    /// The moment that is shown.
    pub time: Time,
    /// The overlay.
    pub over: Over,
    /// Only rows that contain this text are listed.
    pub search: String,
    /// The prompt that is being edited.
    pub prompt: Option<Prompt>,
    /// The last message, and whether it is an error.
    pub message: Option<(String, bool)>,
    /// The numbers in the chart.
    pub marked: Vec<Measure>,
    /// Whether each line of a chart has its own scale.
    pub is_normalised: bool,
    /// The folded nodes of trees.
    pub folds: Folds,
    /// The visible part of the log.
    pub log: LogView,
    /// The warnings at the moment that is shown.
    pub warnings: Vec<Warning>,
    /// The rows of the view.
    pub rows: Vec<Row>,
    /// The age of the message, in nanoseconds.
    message_age: u64,
    /// Whether the program's end has been noticed.
    knows_the_end: bool,
    lists: [List; Tab::ALL.len()],
    screen: Rect,
    seeker: Seeker,
    /// The last requested sampling state.
    sampling: Option<bool>,
}

/// How long a message stays, in nanoseconds; then its line shows the status again.
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
    /// Notes that `passed` nanoseconds are over and that events may have arrived. Returns whether the screen
    /// changes.
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

    /// Whether a search for what is shown is still going on.
    pub fn is_busy(&self, database: &Database) -> bool {
        (self.tab == Tab::Log && self.log.is_looking(database))
            || self.seeker.is_seeking(self.time.at())
    }

    /// Sets the screen's size.
    pub fn resize(&mut self, screen: Rect) {
        self.screen = screen;
    }

    /// Shows a message.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = Some((message.into(), false));
        self.message_age = 0;
    }

    /// Shows an error message.
    pub fn complain(&mut self, message: impl Into<String>) {
        self.message = Some((message.into(), true));
        self.message_age = 0;
    }

    /// The list of the current view.
    pub fn list(&self) -> &List {
        &self.lists[self.tab as usize]
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab as usize]
    }

    /// The selected row.
    pub fn chosen(&self) -> Option<&Row> {
        self.rows.get(self.list().position())
    }

    fn page(&self) -> usize {
        Layout::of(self.screen).page(self.tab).max(1)
    }

    /// Computes what is drawn: to be called after every change, before drawing.
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

    /// The overlay may have fewer rows than before.
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

    /// Whether nothing more will arrive.
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
