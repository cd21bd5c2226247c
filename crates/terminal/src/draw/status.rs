//! The lines around the view: the program, the tabs, and the last message.

use bactrian_analysis::live::numbers::show_clock;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Scene, cut, put, put_right};
use crate::layout::right_of;
use crate::lists;
use crate::session::Status;
use crate::state::{Motion, Tab};

pub fn header(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (look, time) = (scene.look, &scene.state.time);
    let cpu = scene.database.cpu_at(scene.at()).filter(|cpu| *cpu > 0);
    let cpu = cpu.map_or_else(|| "-".to_owned(), show_clock);
    let clocks = format!("wall {:>7}  cpu {cpu:>7}", show_clock(scene.at()));
    let motion = match time.motion() {
        Motion::Live => match (scene.status, scene.database.ended()) {
            (Status::Replay, _) => scene.span("recording", look.faint()),
            (Status::Lost(_), _) => scene.span("lost", look.bad()),
            (_, Some(_)) | (Status::Over, _) => scene.span("ended", look.faint()),
            (Status::Live, None) => Span::styled(look.sign("● live", "* live"), look.good()),
        },
        Motion::Paused => {
            let text =
                format!("{} -{}", look.sign("‖ paused", "|| paused"), time.delay(scene.database));
            Span::styled(text, look.warning())
        }
        Motion::Playing => {
            let sign = look.sign("▶", ">");
            let text = format!("{sign} playing {}x -{}", time.speed(), time.delay(scene.database));
            Span::styled(text, look.warning())
        }
    };
    let right = Line::from(vec![motion, Span::raw("  "), Span::raw(clocks)]);
    let room = usize::from(area.width).saturating_sub(right.width() + 2);
    let program = scene.database.program();
    let name = program.name.rsplit('/').next().unwrap_or_default();
    let name = if name.is_empty() { "waiting for a program" } else { name };
    let name = cut(name, room, look);
    let mut about = Vec::new();
    if program.pid != 0 {
        about.push(format!("pid {}", program.pid));
    }
    if !program.runtime.is_empty() {
        about.push(program.runtime.clone());
    }
    let about_room = room.saturating_sub(Span::raw(name.as_str()).width() + 2);
    let about = cut(&about.join(", "), about_room, look);
    let left = vec![
        Span::styled(name, look.heading()),
        Span::raw("  "),
        Span::styled(about, look.faint()),
    ];
    put(buffer, area, 0, &Line::from(left));
    put_right(buffer, area, 0, &right);
}

pub fn tabs(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let look = scene.look;
    let is_wide = area.width >= 100;
    let mut spans = Vec::new();
    // Empty views are not offered; their keys still work, and explain what the view would show.
    let is_shown =
        |tab: &Tab| *tab == scene.state.tab || !lists::is_empty(*tab, scene.database, scene.at());
    for tab in Tab::ALL.into_iter().filter(is_shown) {
        if !spans.is_empty() {
            spans.push(Span::raw(if is_wide { "  " } else { " " }));
        }
        let text = format!("{} {}", tab.key(), tab.title());
        let is_chosen = tab == scene.state.tab;
        spans.push(Span::styled(text, if is_chosen { look.chosen() } else { look.heading() }));
    }
    put(buffer, area, 0, &Line::from(spans));
}

const HINTS: &str =
    "? help  q quit  / search  s sort  space mark  c chart  p pause  \u{2190} \u{2192} time";
const ASCII_HINTS: &str =
    "? help  q quit  / search  s sort  space mark  c chart  p pause  <- -> time";

/// The prompt, the last message, the status or the keys.
pub fn status(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (state, look) = (scene.state, scene.look);
    let room = usize::from(area.width);
    if let Some(prompt) = &state.prompt {
        let question = look.text(&prompt.question());
        let text = look.text(&prompt.text);
        let line = vec![
            Span::styled(question, look.heading()),
            Span::raw(text),
            Span::styled(" ", look.chosen()),
        ];
        return put(buffer, area, 0, &Line::from(line));
    }
    let mut spans = Vec::new();
    if !state.search.is_empty() {
        let search = format!("/{} ", state.search);
        spans.push(scene.span(&search, look.warning()));
        spans.push(Span::styled("(Esc clears)  ", look.faint()));
    }
    let (text, style) = match (&state.message, state.time.reason(), scene.status) {
        (Some((message, true)), ..) => (message.clone(), look.bad()),
        (Some((message, false)), ..) => (message.clone(), look.heading()),
        (None, Some(marker), _) => {
            (format!("marker: {marker}  (l goes on live, P plays on from here)"), look.warning())
        }
        (None, None, Status::Lost(reason)) => {
            (format!("connection lost: {reason}; trying again"), look.bad())
        }
        (None, None, _) => match scene.database.ended() {
            Some((at, reason)) => {
                let text = format!("ended at {}: {reason}  (? help, q quit)", show_clock(at));
                (text, look.warning())
            }
            None if !state.search.is_empty() => (String::new(), look.faint()),
            None => (look.sign(HINTS, ASCII_HINTS).to_owned(), look.faint()),
        },
    };
    spans.push(Span::styled(cut(&text, room, look), style));
    let line = Line::from(spans);
    put(buffer, area, 0, &line);
    let free = right_of(area, u16::try_from(line.width()).unwrap_or(area.width));
    let warnings = match state.warnings.len() {
        0 => String::new(),
        count => format!("  {}{count}", look.sign("▲", "!")),
    };
    let marked = match state.marked.len() {
        0 => String::new(),
        count => format!("  {count} marked"),
    };
    let both = Line::from(vec![
        Span::styled(marked, look.faint()),
        Span::styled(warnings.clone(), look.warning()),
    ]);
    let warnings = Line::styled(warnings, look.warning());
    // As much of it as fits.
    let fits = |line: &&Line<'_>| line.width() <= usize::from(free.width);
    if let Some(line) = [&both, &warnings].into_iter().find(fits) {
        put_right(buffer, free, 0, line);
    }
}
