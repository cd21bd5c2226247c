//! The view as a user sees it: keys go in, a screen comes out.
//!
//! Screens are in `golden/` as text. `UPDATE_GOLDEN=1 cargo test` rewrites them; review the changes before
//! keeping them.

mod frames;
mod screens;
mod uses;

#[path = "../../../bactrian/tests/live_view/recorded.rs"]
mod recorded;

use std::sync::LazyLock;

use bactrian_live::{Database, Event, Limits};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::draw::Scene;
use super::look::Look;
use super::state::{Effect, State};
use crate::session::Status;

pub use recorded::SECOND;

/// A user in front of a screen.
pub struct User {
    pub state: State,
    pub database: Database,
    pub status: Status,
    pub look: Look,
    pub screen: Rect,
    /// The effect of the last key.
    pub effect: Effect,
}

impl User {
    /// A user who looks at the end of the tests' server recording.
    pub fn of_server(width: u16, height: u16) -> User {
        let mut user = User::of(Vec::new(), width, height);
        static EVENTS: LazyLock<Vec<Event>> = LazyLock::new(recorded::events);
        EVENTS.iter().for_each(|event| user.database.add(event.clone()));
        user.state.time.passes_over(&user.database);
        user.comes(Vec::new());
        user
    }

    /// A user who looks at a program with these events.
    pub fn of(events: Vec<Event>, width: u16, height: u16) -> User {
        let mut user = User {
            state: State::default(),
            database: Database::new(Limits::default()),
            status: Status::Live,
            look: Look { has_colours: true, is_unicode: true },
            screen: Rect::new(0, 0, width, height),
            effect: Effect::None,
        };
        user.comes(events);
        user
    }

    /// Events arrive from the program.
    pub fn comes(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.database.add(event));
        self.passes(0);
    }

    /// Time passes.
    pub fn passes(&mut self, nanos: u64) {
        self.state.advance(&self.database, nanos);
        self.settle();
    }

    fn settle(&mut self) {
        self.state.resize(self.screen);
        self.state.settle(&self.database);
        // Searches that proceed in steps are complete after some frames.
        while self.state.is_busy(&self.database) {
            self.state.settle(&self.database);
        }
    }

    /// Types keys: characters, and names of other keys in angle brackets.
    pub fn types(&mut self, keys: &str) -> &mut User {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (key, after) = match named.and_then(|(name, after)| Some((key(name)?, after))) {
                Some((key, after)) => (key, after),
                None => (KeyEvent::from(KeyCode::Char(first)), &rest[first.len_utf8()..]),
            };
            self.effect = self.state.key(key, &self.database, &self.status);
            self.settle();
            rest = after;
        }
        self
    }

    /// The screen's text, without colours.
    pub fn sees(&self) -> String {
        let buffer = self.buffer();
        let rows = (0..self.screen.height).map(|y| {
            let row: String = (0..self.screen.width).map(|x| buffer[(x, y)].symbol()).collect();
            row.trim_end().to_owned()
        });
        rows.map(|row| row + "\n").collect()
    }

    pub fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::empty(self.screen);
        let User { state, database, status, look, .. } = self;
        Scene { state, database, status, look: *look }.draw(&mut buffer);
        buffer
    }

    /// The row of the screen that contains a text.
    pub fn row_with(&self, text: &str) -> Option<String> {
        self.sees().lines().find(|line| line.contains(text)).map(str::to_owned)
    }
}

fn key(name: &str) -> Option<KeyEvent> {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" | "shift-left" => KeyCode::Left,
        "right" | "shift-right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "page up" => KeyCode::PageUp,
        "page down" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        "ctrl-c" => KeyCode::Char('c'),
        _ => return None,
    };
    let modifiers = match name {
        _ if name.starts_with("shift-") => KeyModifiers::SHIFT,
        _ if name.starts_with("ctrl-") => KeyModifiers::CONTROL,
        _ => KeyModifiers::NONE,
    };
    Some(KeyEvent::new(code, modifiers))
}
