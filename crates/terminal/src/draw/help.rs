//! The keys, and what warnings mean.

use bactrian_analysis::live::numbers::show_clock;
use bactrian_analysis::live::warnings::Warning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Scene, put, wrap};

/// Keys and what they do, by heading. The guide has the same list.
pub const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "views",
        &[
            ("1 .. 9, 0", "show a view"),
            ("Tab, Shift-Tab", "next view, the one before"),
            ("?", "this help"),
            ("q, Ctrl-C", "quit"),
        ],
    ),
    (
        "lists",
        &[
            ("Up, Down, k, j", "choose"),
            ("PgUp, PgDn, Home, End", "choose further away"),
            ("/", "search: show only lines with a text; Esc: all"),
            ("s, S", "sort by the next column; the other way round"),
            ("Enter", "details; in a tree, fold or unfold"),
            ("i", "details, in trees too"),
            ("e, E", "unfold all trees by one step, fold them"),
        ],
    ),
    (
        "charts",
        &[
            ("Space", "mark or unmark a number for the chart"),
            ("c", "chart of all that is marked"),
            ("C", "nothing is marked"),
            ("y", "in the chart: a separate scale for each line"),
            ("z, Z", "charts show less or more time"),
        ],
    ),
    (
        "time",
        &[
            ("p", "pause (data keeps arriving), and go back to live"),
            ("l", "live"),
            ("P", "play on from here; again: pause"),
            ("+, -", "play faster, slower"),
            ("Left, Right", "back and forth by a tenth of a chart"),
            ("Shift-Left, Shift-Right, {, }", "by a whole chart"),
            ("[, ]", "by one moment"),
            ("<, >", "to the first moment, the last"),
            ("n, N", "to the next marker, the one before"),
            ("M", "whether markers pause the view"),
        ],
    ),
    (
        "the program",
        &[
            ("x", "stop the chosen observer, or resume it"),
            ("r", "change its period"),
            ("h", "request a heap snapshot"),
            ("a", "start or stop sampling allocations"),
            ("m", "set a marker that all clients see"),
        ],
    ),
];

/// Width of the key names.
const KEY: usize = 31;

pub fn draw(scene: &Scene<'_>, top: usize, area: Rect, buffer: &mut Buffer) {
    let look = scene.look;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (heading, keys) in KEYS {
        lines.push(Line::styled(format!(" {heading}"), look.heading()));
        lines.extend(keys.iter().map(|(key, does)| {
            Line::from(vec![
                Span::styled(format!("   {key:<KEY$}"), look.line(0)),
                Span::raw(*does),
            ])
        }));
        lines.push(Line::default());
    }
    lines.pop();
    let is_long = lines.len() > usize::from(area.height);
    let height = usize::from(area.height).saturating_sub(usize::from(is_long));
    let top = top.min(lines.len().saturating_sub(height));
    for (row, line) in (0..).zip(lines.iter().skip(top).take(height)) {
        put(buffer, area, row, line);
    }
    if is_long {
        let more = if top + height < lines.len() { " Down shows more" } else { " Up shows more" };
        put(buffer, area, area.height.saturating_sub(1), &Line::styled(more, look.faint()));
    }
}

/// Draws a warning in full.
pub fn explain(scene: &Scene<'_>, warning: &Warning, area: Rect, buffer: &mut Buffer) {
    let look = scene.look;
    let width = usize::from(area.width).saturating_sub(4).min(96);
    let plain = Style::new();
    let mut lines = vec![
        (warning.name.to_owned(), look.heading()),
        (format!("since {}", show_clock(warning.since)), look.faint()),
        (String::new(), plain),
    ];
    lines.extend(
        wrap(&warning.sentence, width, look).into_iter().map(|line| (line, look.warning())),
    );
    lines.push((String::new(), plain));
    lines.extend(wrap(warning.advice, width, look).into_iter().map(|line| (line, plain)));
    lines.push((String::new(), plain));
    lines.push(("Enter or Esc closes".to_owned(), look.faint()));
    for (row, (line, style)) in (1..).zip(lines) {
        put(buffer, area, row, &Line::styled(format!("  {line}"), style));
    }
}
