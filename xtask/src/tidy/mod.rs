//! Checks of what compiler and lints do not see: the map of crates, the length of files, `unsafe`, links and
//! versions in documents, leftovers, plain English. Each check has its own file and is a function from files to problems, so
//! that it can be tested without a repository.

mod agent_rooms;
mod arrows;
mod glossary;
mod headers;
mod leftovers;
mod length;
pub mod links;
mod machine_paths;
mod rust_code;
mod unsafe_code;
mod versions;
mod whitespace;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::command::{output, root};

/// The files of the repository: tracked, or new and not ignored.
#[derive(Default)]
pub struct Tree {
    /// Every path from the root, including files that are not text.
    pub paths: BTreeSet<String>,
    texts: Vec<Text>,
}

pub struct Text {
    pub path: String,
    pub content: String,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    /// From 1; 0 if the problem concerns the whole file.
    line: usize,
    what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

const CHECKS: &[fn(&Tree) -> Vec<Problem>] = &[
    agent_rooms::check,
    arrows::check,
    glossary::check,
    headers::check,
    leftovers::check,
    length::check,
    links::check,
    machine_paths::check,
    unsafe_code::check,
    versions::check,
    whitespace::check,
];

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    check()
}

/// Runs all checks and prints the problems.
pub fn check() -> Outcome {
    let tree = Tree::read()?;
    let mut problems: Vec<_> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        1 => Err("1 problem".to_owned()),
        n => Err(format!("{n} problems")),
    }
}

impl Tree {
    pub fn read() -> Result<Tree, String> {
        // The checkout may belong to another user, as in containers; listing files is harmless.
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "ls-files", "-z"]);
        git.args(["--cached", "--others", "--exclude-standard"]);
        let listed = output(git.current_dir(root()))?;
        let mut tree = Tree::default();
        for path in listed.split_terminator('\0') {
            // A listed file may be deleted.
            let Ok(bytes) = fs::read(root().join(path)) else { continue };
            tree.paths.insert(path.to_owned());
            if let Ok(content) = String::from_utf8(bytes) {
                tree.texts.push(Text { path: path.to_owned(), content });
            }
        }
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// The text files with one of these extensions.
    fn with_extension(&self, extensions: &[&str]) -> impl Iterator<Item = &Text> {
        let extensions = extensions.to_vec();
        self.texts.iter().filter(move |text| {
            let extension = text.path.rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|extension| extensions.contains(&extension))
        })
    }

    pub fn text(&self, path: &str) -> Option<&Text> {
        self.texts.iter().find(|text| text.path == path)
    }
}

impl Text {
    /// Lines with their numbers, from 1.
    fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.content.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    fn problem(&self, line: usize, what: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line, what: what.into() }
    }
}

#[cfg(test)]
impl Tree {
    /// A tree of text files, for the tests of checks.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let texts: Vec<_> = files
            .iter()
            .map(|&(path, content)| Text { path: path.to_owned(), content: content.to_owned() })
            .collect();
        Tree { paths: texts.iter().map(|text| text.path.clone()).collect(), texts }
    }
}

/// The output of a check for some files, one line for each problem.
#[cfg(test)]
fn said(check: fn(&Tree) -> Vec<Problem>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files)).iter().map(Problem::to_string).collect()
}
