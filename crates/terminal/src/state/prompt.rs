//! A line that the user writes.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a line is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Only what contains it is listed.
    Search,
    /// Milliseconds between values of an observer.
    Period(bactrian_live::ObserverId, String),
    /// What a snapshot is called.
    Snapshot,
    /// What a marker says.
    Marker,
}

/// A line that is being written.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What for.
    pub purpose: Purpose,
    /// What it is so far.
    pub text: String,
    /// The first letter takes the place of the text that is there: what was proposed, not written.
    is_proposed: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It goes on.
    NotYet,
    /// It is done.
    Done,
    /// It is not wanted any more.
    Given,
}

impl Prompt {
    /// With a text that is gone on with.
    pub fn going_on(purpose: Purpose, text: String) -> Prompt {
        Prompt { purpose, text, is_proposed: false }
    }

    /// With a text that is taken as it is, or replaced.
    pub fn proposing(purpose: Purpose, text: String) -> Prompt {
        Prompt { purpose, text, is_proposed: true }
    }

    /// What it asks for.
    pub fn question(&self) -> String {
        match &self.purpose {
            Purpose::Search => "search: ".to_owned(),
            Purpose::Period(_, name) => format!("milliseconds between values of {name}: "),
            Purpose::Snapshot => "name of the snapshot: ".to_owned(),
            Purpose::Marker => "marker for all who watch: ".to_owned(),
        }
    }

    /// Takes a key in.
    pub fn key(&mut self, key: KeyEvent) -> Written {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_proposed = std::mem::take(&mut self.is_proposed);
        match key.code {
            KeyCode::Enter => return Written::Done,
            KeyCode::Esc => return Written::Given,
            KeyCode::Char('u') if is_control => self.text.clear(),
            KeyCode::Char('w') if is_control => {
                let kept = self.text.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(kept);
            }
            KeyCode::Char(c) if !is_control => {
                if is_proposed {
                    self.text.clear();
                }
                self.text.push(c);
            }
            KeyCode::Backspace => {
                self.text.pop();
            }
            _ => {}
        }
        Written::NotYet
    }
}
