//! A question to a snapshot, and the command line that asks the same.

use std::fmt::Display;
use std::str::FromStr;

use bactrian_analysis::heap::{Found, Heap, NotFound};
use serde::Serialize;

use crate::answer::{Answer, Failure};
use crate::api::overview::lost;
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

/// Takes options from a question, and writes down those that differ from what the command does by itself.
pub struct Asking<'e> {
    pub heap: &'e Heap,
    query: &'e Query,
    command: CommandLine,
}

impl<'e> Asking<'e> {
    /// This verb of `bactrian heap`, of the file that is asked about.
    pub fn new(
        evidence: &'e Evidence,
        query: &'e Query,
        verb: &str,
    ) -> Result<Asking<'e>, Failure> {
        let at = query.read_or("file", 0)?;
        let (path, heap) = evidence.heap(at)?;
        let command = CommandLine::new(&format!("heap {verb}")).file(path);
        let options = &evidence.file(at)?.options;
        let command = options.iter().fold(command, |command, word| command.word(word));
        Ok(Asking { heap, query, command })
    }

    fn put(&mut self, add: impl FnOnce(CommandLine) -> CommandLine) {
        let command = std::mem::replace(&mut self.command, CommandLine::new(""));
        self.command = add(command);
    }

    /// A number, or what the command takes if nothing is said.
    pub fn number<T>(&mut self, name: &str, otherwise: T) -> Result<T, Failure>
    where
        T: FromStr + Display + PartialEq,
    {
        let value = self.query.read(name)?.filter(|value: &T| *value != otherwise);
        if let Some(value) = &value {
            self.put(|command| command.option(name, &value.to_string()));
        }
        Ok(value.unwrap_or(otherwise))
    }

    /// A percentage, as a share.
    pub fn percentage(&mut self, name: &str, otherwise: f64) -> Result<f64, Failure> {
        let percent = self.number(name, otherwise)?;
        match (0.0..=100.0).contains(&percent) {
            true => Ok(percent / 100.0),
            false => Err(Failure::Wrong(format!("{name} is a percentage, from 0 to 100"))),
        }
    }

    /// Whether an option without a value is there.
    pub fn flag(&mut self, name: &str) -> bool {
        let is_there = self.query.has(name);
        self.put(|command| command.flag(name, is_there));
        is_there
    }

    /// An option's text.
    pub fn text(&mut self, name: &str) -> Option<&'e str> {
        let text = self.query.get(name)?;
        self.put(|command| command.option(name, text));
        Some(text)
    }

    /// All texts of an option that may be repeated.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        let texts = self.query.iter().filter(|(known, _)| *known == name);
        let texts: Vec<String> = texts.map(|(_, text)| text.to_owned()).collect();
        for text in &texts {
            self.put(|command| command.option(name, text));
        }
        texts
    }

    /// What the command takes as an argument without a name.
    pub fn operand(&mut self, name: &str) -> Result<&'e str, Failure> {
        let text = self.query.need(name)?;
        self.put(|command| command.word(text));
        Ok(text)
    }

    /// What a text stands for.
    pub fn find(&self, text: &str) -> Result<Found, Failure> {
        self.heap.find(text).map_err(not_found)
    }

    /// The answer that the command prints, with what is lost of the snapshot.
    pub fn answer(self, result: impl Serialize) -> Result<Answer, Failure> {
        Ok(Answer::new(self.command, result)?.with_notes(lost(self.heap)))
    }
}

/// There is no such block, row or class.
pub fn not_found(error: NotFound) -> Failure {
    Failure::Wrong(error.to_string())
}
