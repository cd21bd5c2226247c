//! The rows of each view's list, with sortable cells, at one moment.

mod points;
mod runtime;
mod sites;
mod spans;
mod tables;
mod tags;
mod tree;
mod values;

use std::cmp::Ordering;

use bactrian_live::{Database, ObserverKind, Series, Value, names};

use super::measure::{Measure, ObserverIndex, full_name};
use super::search::Search;
use super::state::Tab;

pub use tree::{Folds, NodePath, definition};

/// A column of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Its width; for a flexible column, the minimum.
    pub width: u16,
    /// Whether it gets the remaining width.
    pub is_flexible: bool,
    /// Whether it contains numbers, which are right-aligned.
    pub is_number: bool,
}

impl Column {
    const fn text(title: &'static str) -> Column {
        Column { title, width: 16, is_flexible: true, is_number: false }
    }

    const fn number(title: &'static str, width: u16) -> Column {
        Column { title, width, is_flexible: false, is_number: true }
    }
}

/// The tone of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Normal.
    #[default]
    Plain,
    /// It has ended or has no value yet.
    Faint,
    /// It failed.
    Bad,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowId {
    /// An observer.
    Observer(ObserverIndex),
    /// An allocation site.
    Site(ObserverIndex, String),
    /// A node of an observer's tree.
    Node(NodePath),
    /// A warning, by its rule and its subject.
    Warning(&'static str, String),
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is about.
    pub id: RowId,
    /// The cells, by column.
    pub cells: Vec<Cell>,
    /// Its tone.
    pub tone: Tone,
    /// What a chart draws if the row is marked.
    pub measure: Option<Measure>,
}

impl Row {
    /// The observer that the row is about.
    pub fn place(&self) -> Option<ObserverIndex> {
        match &self.id {
            RowId::Observer(place) | RowId::Site(place, _) => Some(*place),
            RowId::Node(path) => Some(path.place),
            RowId::Warning(..) => None,
        }
    }
}

/// A cell of a row.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The text shown.
    pub text: String,
    /// The sort key, if the cell is numeric.
    pub number: Option<f64>,
}

impl Cell {
    fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), number: None }
    }

    fn number(number: f64, text: String) -> Cell {
        Cell { text, number: Some(number) }
    }

    fn maybe(number: Option<f64>, show: impl Fn(f64) -> String) -> Cell {
        number.map_or_else(Cell::nothing, |number| Cell::number(number, show(number)))
    }

    fn nothing() -> Cell {
        Cell::text("-")
    }
}

/// The columns of a view; empty if it is not a list.
pub fn columns(tab: Tab) -> &'static [Column] {
    match tab {
        Tab::Overview | Tab::Log => &[],
        Tab::Points => points::COLUMNS,
        Tab::Values => values::COLUMNS,
        Tab::Tags => tags::COLUMNS,
        Tab::Tables => tables::COLUMNS,
        Tab::Trees => tree::COLUMNS,
        Tab::Gc => runtime::COLUMNS,
        Tab::Sites => sites::COLUMNS,
        Tab::Spans => spans::COLUMNS,
    }
}

/// The rows of a view at a moment whose names contain `search`, in the order of declaration.
pub fn rows(tab: Tab, database: &Database, at: u64, search: &str, folds: &Folds) -> Vec<Row> {
    let search = Search::new(search);
    let is_wanted = |name: &str| search.finds(name);
    let there = database.series().enumerate().map(|(place, series)| (ObserverIndex(place), series));
    let there = there.filter(|(_, series)| database.is_known(series, at));
    let there = there.filter(|(_, series)| belongs(tab, series));
    match tab {
        Tab::Sites => {
            let all = there.flat_map(|(place, series)| sites::rows(place, series, at));
            all.filter(|row| is_wanted(&row.cells[0].text)).collect()
        }
        Tab::Trees => {
            let named = there.filter(|(_, series)| {
                is_wanted(&full_name(series)) || tree::mentions(series, at, is_wanted)
            });
            named.flat_map(|(place, series)| tree::rows(place, series, at, folds)).collect()
        }
        _ => {
            let named = there.filter(|(_, series)| is_wanted(&full_name(series)));
            named.map(|(place, series)| row(tab, database, place, series, at)).collect()
        }
    }
}

/// Sorts rows by a column. The sort is stable; rows without a number come last.
pub fn sort(rows: &mut [Row], column: usize, is_descending: bool) {
    let directed = |order: Ordering| if is_descending { order.reverse() } else { order };
    rows.sort_by(|one, other| match (one.cells.get(column), other.cells.get(column)) {
        (Some(one), Some(other)) => match (one.number, other.number) {
            (Some(one), Some(other)) => directed(one.total_cmp(&other)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => directed(one.text.cmp(&other.text)),
        },
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
}

/// Whether a view has nothing to show at a moment.
pub fn is_empty(tab: Tab, database: &Database, at: u64) -> bool {
    match tab {
        Tab::Overview => false,
        Tab::Log => database.log().next().is_none(),
        _ => !database.series().any(|series| database.is_known(series, at) && belongs(tab, series)),
    }
}

/// Whether a view shows an observer.
pub fn belongs(tab: Tab, series: &Series) -> bool {
    let declaration = &series.declaration;
    if names::is_reserved(&declaration.name) && declaration.kind != ObserverKind::Sites {
        return tab == Tab::Gc;
    }
    match declaration.kind {
        ObserverKind::Point | ObserverKind::Time | ObserverKind::Counter => tab == Tab::Points,
        ObserverKind::Int
        | ObserverKind::Float
        | ObserverKind::Bool
        | ObserverKind::Text
        | ObserverKind::Gauge => tab == Tab::Values,
        ObserverKind::Tag => tab == Tab::Tags,
        ObserverKind::Table => tab == Tab::Tables,
        ObserverKind::Tree => tab == Tab::Trees,
        ObserverKind::Histogram | ObserverKind::Span => tab == Tab::Spans,
        ObserverKind::Sites => tab == Tab::Sites,
    }
}

fn row(tab: Tab, database: &Database, place: ObserverIndex, series: &Series, at: u64) -> Row {
    let value = series.at(at).map(|(_, value)| value);
    let measure = Measure::of(place, series, at);
    let name = Cell::text(full_name(series));
    let id = RowId::Observer(place);
    let (tone, said) = match value {
        None => (Tone::Faint, Some("nothing yet".to_owned())),
        Some(Value::Failed(reason)) => (Tone::Bad, Some(format!("failed: {reason}"))),
        Some(Value::Collected) => (Tone::Faint, Some("collected".to_owned())),
        Some(Value::Killed) => (Tone::Faint, Some("no longer observed".to_owned())),
        Some(_) => (Tone::Plain, None),
    };
    let cells = match (said, value) {
        (Some(said), _) => vec![Cell::text(said)],
        (None, None) => Vec::new(),
        (None, Some(value)) => match tab {
            Tab::Points => points::cells(database, series, value, at),
            Tab::Values => values::cells(series, value),
            Tab::Tags => tags::cells(database, series, value, at),
            Tab::Tables => tables::cells(database, series, value, at),
            Tab::Gc => runtime::cells(database, series, value, at),
            Tab::Spans => spans::cells(database, series, value, at),
            _ => Vec::new(),
        },
    };
    let stopped = series.declaration.period_ms == 0 && tone == Tone::Plain;
    let name = if stopped { Cell::text(format!("{} (stopped)", name.text)) } else { name };
    let tone = if stopped { Tone::Faint } else { tone };
    Row { id, cells: [name].into_iter().chain(cells).collect(), tone, measure }
}
