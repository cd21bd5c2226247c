//! Tables with columns of fixed width, so that only digits change.

use bactrian_analysis::live::memory_use::NOT_SEEN;
use bactrian_live::{Value, names};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Scene, cut, put, wrap};
use crate::lists::{self, Column, Row, Tone};
use crate::look::Look;
use crate::state::Tab;

/// Width of the mark of a row.
const MARK: usize = 2;

pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (state, look) = (scene.state, scene.look);
    let columns = fitting(lists::columns(state.tab), area.width.into());
    put(buffer, area, 0, &headings(scene, &columns));
    if state.rows.is_empty() {
        let text = match state.search.is_empty() {
            true => nothing(scene),
            false => format!("Nothing here contains \"{}\".", state.search),
        };
        let width = usize::from(area.width).saturating_sub(2 * MARK);
        for (row, line) in (2..area.height).zip(wrap(&text, width, look)) {
            put(buffer, area, row, &Line::styled(format!("  {line}"), look.faint()));
        }
        return;
    }
    let list = state.list();
    let page = usize::from(area.height.saturating_sub(1));
    let seen = state.rows.iter().enumerate().skip(list.top()).take(page);
    for (line, (position, row)) in (1..).zip(seen) {
        let is_chosen = position == list.position();
        let is_marked = row.measure.as_ref().is_some_and(|measure| state.marked.contains(measure));
        put(buffer, area, line, &shown(row, &columns, is_chosen, is_marked, look));
    }
    if state.tab == Tab::Sites {
        let width = usize::from(area.width).saturating_sub(2 * MARK);
        let lines = wrap(NOT_SEEN, width, look);
        // Below the last row, separated by an empty line, if there is space.
        let first = u16::try_from(state.rows.len()).unwrap_or(u16::MAX).saturating_add(2);
        if usize::from(area.height.saturating_sub(first)) >= lines.len() {
            for (row, line) in (first..).zip(lines) {
                put(buffer, area, row, &Line::styled(format!("  {line}"), look.faint()));
            }
        }
    }
}

/// What an empty view says.
fn nothing(scene: &Scene<'_>) -> String {
    let at = scene.at();
    let said = match scene.state.tab {
        Tab::Points => "The program counts nothing: Point, Time and Counter are shown here.",
        Tab::Values => "The program shows no values: Value and Gauge are shown here.",
        Tab::Tags => "The program tags no values: Tag is shown here.",
        Tab::Tables => "The program shows no hash tables: Hashtable is shown here.",
        Tab::Trees => "The program shows no trees: Tree is shown here.",
        Tab::Gc => "No data from the runtime has arrived yet.",
        Tab::Sites => {
            match scene.database.named_at(names::SITES, at).and_then(|series| series.at(at)) {
                Some((_, Value::Failed(reason))) => {
                    return format!("Allocations are unknown: {reason}");
                }
                _ => "Allocations are not sampled: press a to sample.",
            }
        }
        Tab::Spans => "The program measures no distributions: Histogram and Span are shown here.",
        Tab::Overview | Tab::Log => "",
    };
    said.to_owned()
}

/// A column with its actual width and its index among all columns.
#[derive(Clone, Copy)]
struct Fitting {
    position: usize,
    column: Column,
    width: usize,
}

/// The largest width of a name column, so that numbers stay near their names on wide screens.
const MOST_NAME: usize = 80;

/// As many columns as fit, from the left; flexible columns get the remaining width.
fn fitting(columns: &[Column], width: usize) -> Vec<Fitting> {
    let taken = |columns: &[Column]| -> usize {
        let widths = columns.iter().map(|column| usize::from(column.width));
        MARK + widths.sum::<usize>() + columns.len().saturating_sub(1)
    };
    let mut count = columns.len();
    while count > 1 && taken(&columns[..count]) > width {
        count -= 1;
    }
    let kept = &columns[..count];
    let free = width.saturating_sub(taken(kept));
    let flexible = kept.iter().filter(|column| column.is_flexible).count().max(1);
    let fit = |(position, column): (usize, &Column)| {
        let least = usize::from(column.width).min(width.saturating_sub(MARK));
        let wide = (least + free / flexible).min(MOST_NAME.max(least));
        let width = if column.is_flexible { wide } else { least };
        Fitting { position, column: *column, width }
    };
    kept.iter().enumerate().map(fit).collect()
}

fn headings(scene: &Scene<'_>, columns: &[Fitting]) -> Line<'static> {
    let look = scene.look;
    let mut spans = vec![Span::raw(" ".repeat(MARK))];
    for (number, fit) in columns.iter().enumerate() {
        let sign = match scene.state.list().sorted {
            Some((column, true)) if column == fit.position => look.sign("▼", "v"),
            Some((column, false)) if column == fit.position => look.sign("▲", "^"),
            _ => "",
        };
        if number > 0 {
            spans.push(Span::raw(" "));
        }
        let title = format!("{}{sign}", fit.column.title);
        spans.push(Span::styled(aligned(&title, fit, look), look.heading()));
    }
    Line::from(spans)
}

fn aligned(text: &str, fit: &Fitting, look: Look) -> String {
    let text = cut(text, fit.width, look);
    let free = " ".repeat(fit.width.saturating_sub(Span::raw(text.as_str()).width()));
    if fit.column.is_number { format!("{free}{text}") } else { format!("{text}{free}") }
}

fn shown(
    row: &Row,
    columns: &[Fitting],
    is_chosen: bool,
    is_marked: bool,
    look: Look,
) -> Line<'static> {
    let style = match row.tone {
        Tone::Plain => Style::new(),
        Tone::Faint => look.faint(),
        Tone::Bad => look.bad(),
    };
    let style = if is_chosen { style.patch(look.chosen()) } else { style };
    let mut text = String::new();
    // A sentence instead of numbers takes all their space.
    let is_sentence = row.cells.len() == 2 && columns.len() > 2 && row.tone != Tone::Plain;
    for (number, fit) in columns.iter().enumerate() {
        let Some(cell) = row.cells.get(fit.position) else {
            text.push_str(&" ".repeat(fit.width + usize::from(number > 0)));
            continue;
        };
        if number > 0 {
            text.push(' ');
        }
        if is_sentence && number == 1 {
            let width = columns[1..].iter().map(|fit| fit.width + 1).sum::<usize>() - 1;
            let sentence = cut(&cell.text, width, look);
            let free = width.saturating_sub(Span::raw(sentence.as_str()).width());
            text.push_str(&sentence);
            text.push_str(&" ".repeat(free));
            break;
        }
        text.push_str(&aligned(&cell.text, fit, look));
    }
    let mark = if is_marked { look.sign("✓ ", "* ") } else { "  " };
    Line::from(vec![Span::styled(mark, look.warning()), Span::styled(text, style)])
}
