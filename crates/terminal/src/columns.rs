//! Several programs at once: one column for each, and their sum in the first.

use std::io;
use std::time::{Duration, Instant};

use bactrian_analysis::live::glance::GLANCES;
use bactrian_analysis::live::warnings;
use bactrian_live::Database;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::draw::{cut, put};
use super::session::{Session, Status};
use super::terminal::Terminal;
use super::{Ended, FRAME, LOOK, Look, Options, Viewed};

/// A changing set of programs.
pub trait Programs {
    /// Discovers new programs and receives what has arrived from all of them.
    fn take_in(&mut self);

    /// The known programs, in a stable order.
    fn sessions(&mut self) -> Vec<&mut Session>;

    /// What is searched for, in words.
    fn title(&self) -> String;
}

/// The widths of the row titles and of a column.
const TITLE: usize = 14;
const COLUMN: usize = 13;
/// How often warnings are looked for in all programs.
const WARNED_EVERY: Duration = Duration::from_secs(2);

/// What the user has selected.
#[derive(Debug, Default)]
pub struct Columns {
    /// The selected program, as an index into `drawn`.
    chosen: usize,
    /// Process ids in the order of the last drawing. Programs before the selected one may come and go.
    drawn: Vec<u32>,
    /// The first visible column.
    first: usize,
    /// Warnings, with the process id.
    warnings: Vec<(u32, String)>,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// Quit.
    Quit,
    /// Show one program only, by its process id.
    Open(u32),
}

impl Columns {
    /// Handles a key; `count` is the number of programs.
    pub fn key(&mut self, key: KeyCode, count: usize) -> Asked {
        let last = count.saturating_sub(1);
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Asked::Quit,
            KeyCode::Enter => {
                return self.drawn.get(self.chosen).map_or(Asked::Nothing, |pid| Asked::Open(*pid));
            }
            KeyCode::Left | KeyCode::Char('h') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Right | KeyCode::Char('l') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(8),
            KeyCode::PageDown => self.chosen = (self.chosen + 8).min(last),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            _ => {}
        }
        Asked::Nothing
    }

    /// Looks for warnings.
    pub fn seek(&mut self, programs: &[&Database]) {
        let of = |database: &&Database| {
            let (pid, found) = (database.program().pid, warnings::find(database, database.last()));
            found.into_iter().map(move |warning| (pid, warning.sentence)).collect::<Vec<_>>()
        };
        self.warnings = programs.iter().flat_map(of).collect();
    }

    /// Draws the programs, with the status of each.
    pub fn draw(
        &mut self,
        programs: &[(&Database, &Status)],
        wanted: &str,
        look: Look,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let running = programs.iter().filter(|(_, status)| **status == Status::Live).count();
        let head = format!("{wanted}: {running} running, {} ended", programs.len() - running);
        put(buffer, area, 0, &Line::styled(look.text(&head), look.heading()));
        if programs.is_empty() {
            let text = "  None is running; programs are shown as soon as they start.";
            put(buffer, area, 2, &Line::styled(text, look.faint()));
        }
        // The columns that fit beside the row titles and the sum.
        let room = usize::from(area.width).saturating_sub(TITLE + COLUMN) / COLUMN;
        let room = room.max(1);
        let now: Vec<u32> = programs.iter().map(|(database, _)| database.program().pid).collect();
        let chosen = self.drawn.get(self.chosen);
        let place = chosen.and_then(|chosen| now.iter().position(|pid| pid == chosen));
        self.chosen = place.unwrap_or(self.chosen).min(now.len().saturating_sub(1));
        self.drawn = now;
        self.first = self.first.clamp((self.chosen + 1).saturating_sub(room), self.chosen);
        self.first = self.first.min(programs.len().saturating_sub(room));
        let seen = || programs.iter().enumerate().skip(self.first).take(room);
        let row = |title: &str, all: String, cells: &dyn Fn(&Database, &Status) -> String| {
            let mut spans = vec![
                Span::styled(format!(" {title:<width$}", width = TITLE - 1), look.faint()),
                Span::styled(look.text(&format!("{all:>COLUMN$}")), look.heading()),
            ];
            spans.extend(seen().map(|(place, (database, status))| {
                let cell = cut(&cells(database, status), COLUMN - 1, look);
                let style = match (place == self.chosen, **status == Status::Live) {
                    (true, _) => look.chosen(),
                    (false, true) => ratatui::style::Style::new(),
                    (false, false) => look.faint(),
                };
                Span::styled(format!("{cell:>COLUMN$}"), style)
            }));
            Line::from(spans)
        };
        if !programs.is_empty() {
            put(
                buffer,
                area,
                2,
                &row("program", "all".to_owned(), &|it, _| it.program().name.clone()),
            );
            put(
                buffer,
                area,
                3,
                &row("process", programs.len().to_string(), &|it, _| it.program().pid.to_string()),
            );
            put(
                buffer,
                area,
                4,
                &row("", String::new(), &|_, status| match status {
                    Status::Live => String::new(),
                    _ => "ended".to_owned(),
                }),
            );
            for (line, glance) in (5..).zip(GLANCES) {
                let live = programs.iter().filter(|(_, status)| **status == Status::Live);
                let all = glance.of_all(live.map(|(database, _)| *database));
                let all = all.map_or(String::new(), |all| glance.show(Some(all)));
                put(
                    buffer,
                    area,
                    line,
                    &row(glance.title, all, &|it, _| glance.show(glance.of(it))),
                );
            }
        }
        let below = 6 + GLANCES.len() as u16;
        self.draw_warnings(look, area, below, buffer);
        let hidden = programs.len().saturating_sub(room);
        let keys = match hidden {
            0 => "q quit  <- -> choose  Enter open".to_owned(),
            _ => format!("q quit  <- -> choose, {hidden} more  Enter open"),
        };
        put(buffer, area, area.height.saturating_sub(1), &Line::styled(keys, look.faint()));
    }

    fn draw_warnings(&self, look: Look, area: Rect, first: u16, buffer: &mut Buffer) {
        let room = area.height.saturating_sub(first + 1);
        for (line, (pid, sentence)) in (first..first.saturating_add(room)).zip(&self.warnings) {
            let text = format!(" {} {pid}: {sentence}", look.sign("▲", "!"));
            let text = cut(&text, usize::from(area.width), look);
            put(buffer, area, line, &Line::styled(text, look.warning()));
        }
    }
}

/// Shows programs until the user quits or a signal asks for it.
///
/// # Errors
/// If there is no terminal, or it is lost.
pub fn run_columns(
    programs: &mut dyn Programs,
    options: Options,
    is_asked_to_end: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let mut columns = Columns::default();
    loop {
        let pid = match choose(programs, &mut columns, options, is_asked_to_end)? {
            Ok(pid) => pid,
            Err(ended) => return Ok(ended),
        };
        let mut one = OneOf { programs: &mut *programs, pid };
        if super::run(&mut one, options, is_asked_to_end)? == Ended::Asked {
            return Ok(Ended::Asked);
        }
    }
}

/// One of several programs. Messages of the others are received too: they must not back up while the user
/// looks at this one.
struct OneOf<'a> {
    programs: &'a mut dyn Programs,
    pid: u32,
}

impl Viewed for OneOf<'_> {
    fn session(&mut self) -> Option<&mut Session> {
        self.programs.take_in();
        let mut sessions = self.programs.sessions().into_iter();
        sessions.find(|session| session.database().program().pid == self.pid)
    }

    fn may_have_changed(&self) -> bool {
        true
    }
}

/// Shows the columns until a program is selected or the view ends.
fn choose(
    programs: &mut dyn Programs,
    columns: &mut Columns,
    options: Options,
    is_asked_to_end: &dyn Fn() -> bool,
) -> io::Result<Result<u32, Ended>> {
    let mut terminal = Terminal::take()?;
    crossterm::style::force_color_output(options.look.has_colours);
    let mut drawn: Option<Instant> = None;
    let mut warned: Option<Instant> = None;
    loop {
        if is_asked_to_end() {
            return Ok(Err(Ended::Asked));
        }
        programs.take_in();
        let wanted = programs.title();
        let sessions = programs.sessions();
        let shown: Vec<_> =
            sessions.iter().map(|session| (session.database(), session.status())).collect();
        if warned.is_none_or(|last| last.elapsed() >= WARNED_EVERY) {
            columns.seek(&shown.iter().map(|(database, _)| *database).collect::<Vec<_>>());
            warned = Some(Instant::now());
        }
        if drawn.is_none_or(|last| last.elapsed() >= FRAME) {
            terminal.screen.autoresize()?;
            terminal.screen.draw(|frame| {
                let area = frame.area();
                columns.draw(&shown, &wanted, options.look, area, frame.buffer_mut());
            })?;
            drawn = Some(Instant::now());
        }
        let count = shown.len();
        if event::poll(LOOK)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            let is_interrupt =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            match columns.key(key.code, count) {
                _ if is_interrupt => return Ok(Err(Ended::Left)),
                Asked::Nothing => drawn = None,
                Asked::Quit => return Ok(Err(Ended::Left)),
                Asked::Open(pid) => return Ok(Ok(pid)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bactrian_live::{
        Declaration, Event, Limits, ObserverId, ObserverKind, Program, Stamp, Unit, Value, names,
    };

    use super::*;

    fn program(pid: u32) -> Database {
        let mut database = Database::new(Limits::default());
        let (name, runtime) = ("flow".to_owned(), "OCaml 5.2".to_owned());
        database.add(Event::Hello(Program { name, pid, runtime, ..Program::default() }));
        let (id, kind, unit) = (ObserverId(1), ObserverKind::Gauge, Unit::Bytes);
        let (name, labels, period_ms) = (names::RSS.to_owned(), Vec::new(), 100);
        database.add(Event::Declare(Declaration { id, kind, name, labels, unit, period_ms }));
        database.add(Event::Tick(Stamp { at: 1_000_000_000, cpu: 0 }));
        database.add(Event::Update(id, Value::Int(i64::from(pid) * 1_000_000)));
        database
    }

    fn seen(columns: &mut Columns, programs: &[Database], width: u16) -> String {
        let (live, over) = (Status::Live, Status::Over);
        let programs: Vec<_> = programs
            .iter()
            .map(|it| (it, if it.program().pid == 3 { &over } else { &live }))
            .collect();
        let area = Rect::new(0, 0, width, 24);
        let mut buffer = Buffer::empty(area);
        let look = Look { has_colours: false, is_unicode: false };
        columns.draw(&programs, "flow", look, area, &mut buffer);
        let line =
            |y: u16| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
        (0..24).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn programs_are_columns_and_their_sum_is_first() {
        let programs: Vec<Database> = (1..=30).map(program).collect();
        let mut columns = Columns::default();
        let small = seen(&mut columns, &programs, 60);
        assert!(small.starts_with("flow: 29 running, 1 ended\n"), "{small}");
        assert!(
            small.contains(" memory              462 MB      1.00 MB      2.00 MB\n"),
            "{small}"
        );
        assert!(small.contains("28 more"), "{small}");
        // As many columns as fit; the selected one is always visible.
        assert_eq!(columns.key(KeyCode::End, 30), Asked::Nothing);
        let small = seen(&mut columns, &programs, 60);
        assert!(small.contains("29.0 MB      30.0 MB\n"), "{small}");
        assert_eq!(columns.key(KeyCode::Enter, 30), Asked::Open(30));
        // The selected program may end.
        let few = seen(&mut columns, &programs[..2], 60);
        assert!(few.contains("1.00 MB      2.00 MB\n"), "{few}");
        assert_eq!(columns.key(KeyCode::Enter, 2), Asked::Open(2));
        // A program before it leaves without changing the selection.
        seen(&mut columns, &programs[1..], 60);
        assert_eq!(columns.key(KeyCode::Enter, 29), Asked::Open(2));
        let wide = seen(&mut columns, &programs, 500);
        assert!(wide.contains("ended") && !wide.contains("more"), "{wide}");
        for width in [0, 1, 20, 40] {
            seen(&mut columns, &[], width);
            seen(&mut columns, &programs, width);
        }
        assert_eq!(columns.key(KeyCode::Char('q'), 0), Asked::Quit);
        seen(&mut columns, &[], 60);
        assert_eq!(columns.key(KeyCode::Enter, 0), Asked::Nothing);
    }
}
