//! A line that the user edits.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The purpose of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The text that listed rows must contain.
    Search,
    /// The milliseconds between values of an observer.
    Period(bactrian_live::ObserverId, String),
    /// The name of a snapshot.
    Snapshot,
    /// The text of a marker.
    Marker,
}

/// A prompt that is being edited.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its purpose.
    pub purpose: Purpose,
    /// The text so far.
    pub text: String,
    /// The text is a proposal, which the first typed character replaces.
    is_proposed: bool,
}

/// The state after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Editing continues.
    NotYet,
    /// The user confirmed.
    Done,
    /// The user cancelled.
    Given,
}

impl Prompt {
    /// A prompt that continues to edit a text.
    pub fn going_on(purpose: Purpose, text: String) -> Prompt {
        Prompt { purpose, text, is_proposed: false }
    }

    /// A prompt with a proposed text, which is accepted or replaced.
    pub fn proposing(purpose: Purpose, text: String) -> Prompt {
        Prompt { purpose, text, is_proposed: true }
    }

    /// The question shown before the text.
    pub fn question(&self) -> String {
        match &self.purpose {
            Purpose::Search => "search: ".to_owned(),
            Purpose::Period(_, name) => format!("milliseconds between values of {name}: "),
            Purpose::Snapshot => "name of the snapshot: ".to_owned(),
            Purpose::Marker => "marker for all clients: ".to_owned(),
        }
    }

    /// Handles a key.
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
