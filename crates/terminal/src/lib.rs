//! The terminal view.
//!
//! State and drawing are separate: [`state`] handles keys and time and draws nothing; [`draw`] draws what it
//! is given and changes nothing. Both see the program only through the database, at one moment
//! ([`state::Time`]), so it makes no difference to them whether that is the present or a minute ago. `lists/`
//! makes the rows that both need; [`measure`] is anything that can be drawn as a line.
//!
//! The screen is drawn at most ten times per second, and only when something has changed, so it stays calm
//! over a slow connection too.

mod columns;
mod draw;
mod layout;
mod lists;
mod look;
mod search;
mod session;
mod state;
mod terminal;
#[cfg(test)]
mod tests;

use std::io;
use std::time::{Duration, Instant};

use bactrian_analysis::live::measure;
use crossterm::event::{self, Event, KeyEventKind};

use self::draw::Scene;
use self::state::{Effect, State};
use self::terminal::Terminal;

pub use self::columns::{Programs, run_columns};
pub use self::look::Look;
pub use self::session::{Message, Publisher, Session, Status, Wish};

/// How the view is displayed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the terminal can display.
    pub look: Look,
}

/// Why the view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user quit.
    Left,
    /// A signal asked for it.
    Asked,
}

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// How often new messages are polled for.
const LOOK: Duration = Duration::from_millis(50);

/// A program in view, alone or among others.
pub trait Viewed {
    /// Its session; None when it is no longer observed. Implementations keep receiving from the programs
    /// beside it.
    fn session(&mut self) -> Option<&mut Session>;

    /// Whether something may have changed that the session does not report, because something else receives
    /// its messages.
    fn may_have_changed(&self) -> bool {
        false
    }
}

impl Viewed for Session {
    fn session(&mut self) -> Option<&mut Session> {
        Some(self)
    }
}

/// Shows a program until the user quits or a signal asks for it.
///
/// # Errors
/// If there is no terminal, or it is lost.
pub fn run(
    viewed: &mut dyn Viewed,
    options: Options,
    is_asked_to_end: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let mut terminal = Terminal::take()?;
    crossterm::style::force_color_output(options.look.has_colours);
    let mut state = State::default();
    let mut drawn: Option<Instant> = None;
    let mut before = Instant::now();
    let mut is_changed = true;
    loop {
        is_changed |= viewed.may_have_changed();
        let Some(session) = viewed.session() else { return Ok(Ended::Left) };
        let is_loading = !session.is_over();
        is_changed |= take_in(session, &mut state);
        if *session.status() == Status::Replay && is_loading {
            // Everything that a recording brings at first is history: its markers must not stop the view.
            state.time.passes_over(session.database());
        }
        let passed = before.elapsed();
        before = Instant::now();
        let passed = u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX);
        is_changed |= state.advance(session.database(), passed);
        if is_asked_to_end() {
            return Ok(Ended::Asked);
        }
        let since_drawn = drawn.map(|drawn| drawn.elapsed());
        if is_changed && since_drawn.is_none_or(|since| since >= FRAME) {
            show(&mut terminal, &mut state, session, options)?;
            drawn = Some(Instant::now());
            is_changed = false;
        }
        let until_due = drawn.map_or(Duration::ZERO, |drawn| FRAME.saturating_sub(drawn.elapsed()));
        let wait = if is_changed { until_due.min(LOOK) } else { LOOK };
        if event::poll(wait)? {
            match key(&mut state, session)? {
                Some(ended) => return Ok(ended),
                None => is_changed = true,
            }
        }
    }
}

/// Receives what has arrived. Returns whether the screen changes.
fn take_in(session: &mut Session, state: &mut State) -> bool {
    let status = session.status().clone();
    let came = session.take_in();
    let mut is_changed = *session.status() != status;
    match came {
        Ok(any) => is_changed |= any,
        Err(error) => {
            state.complain(format!("the recording cannot be written: {error}"));
            is_changed = true;
        }
    }
    while let Some(notice) = session.notice() {
        state.say(notice);
        is_changed = true;
    }
    is_changed
}

fn show(
    terminal: &mut Terminal,
    state: &mut State,
    session: &Session,
    options: Options,
) -> io::Result<()> {
    terminal.screen.autoresize()?;
    let size = terminal.screen.size()?;
    state.resize(ratatui::layout::Rect::new(0, 0, size.width, size.height));
    state.settle(session.database());
    let scene =
        Scene { state, database: session.database(), status: session.status(), look: options.look };
    terminal.screen.draw(|frame| scene.draw(frame.buffer_mut()))?;
    Ok(())
}

/// Reads one key and executes its effect.
fn key(state: &mut State, session: &mut Session) -> io::Result<Option<Ended>> {
    let Event::Key(key) = event::read()? else { return Ok(None) };
    if key.kind == KeyEventKind::Release {
        return Ok(None);
    }
    state.settle(session.database());
    let status = session.status().clone();
    match state.key(key, session.database(), &status) {
        Effect::None => {}
        Effect::Quit => return Ok(Some(Ended::Left)),
        Effect::Wish(action) => {
            if let Err(reason) = session.wish(action) {
                state.complain(reason);
            }
        }
    }
    Ok(None)
}
