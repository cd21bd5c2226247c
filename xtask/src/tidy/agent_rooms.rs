//! The agent's rooms: folders that use only the rooms below them, and whose files do not use each other in a
//! cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_code::code_only;
use super::{Problem, Text, Tree};

const AGENT: &str = "crates/agent/src/";

/// Each room, and the rooms that it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("runtime", &[]),
    ("keeper", &[]),
    ("record", &["runtime", "keeper"]),
    ("snapshot", &["runtime", "keeper"]),
    ("entry", &["runtime", "keeper", "record", "snapshot"]),
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let files = tree.with_extension(&["rs"]).filter_map(|text| {
        let (room, file) = text.path.strip_prefix(AGENT)?.split_once('/')?;
        Some((text, room, file.strip_suffix(".rs")?))
    });
    let files: Vec<_> = files.collect();
    let mut problems = Vec::new();
    let mut arrows: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for &(text, room, file) in &files {
        let Some((_, below)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            let what = format!("{room:?} is no room of the agent: give it a place in {}", file!());
            problems.push(text.problem(0, what));
            continue;
        };
        for Path { line, parts } in paths(text) {
            let (of, name) = match parts.as_slice() {
                [first, of, rest @ ..] if first == "crate" => (of.as_str(), rest.first()),
                [first, rest @ ..] if first == "super" => (room, rest.first()),
                _ => continue,
            };
            if of != room && !below.contains(&of) {
                let what = format!("{room}/ must not use {of}/ (see ARCHITECTURE.md)");
                problems.push(text.problem(line, what));
            }
            if let Some(name) = name.filter(|_| of == room && file != "mod") {
                arrows.entry((room, file)).or_default().insert(name.clone());
            }
        }
    }
    for &(text, room, file) in &files {
        if let Some(circle) = circle_through(&arrows, room, file) {
            problems.push(text.problem(0, format!("part of a circle: {}", circle.join(", "))));
        }
    }
    problems
}

/// The shortest cycle through a file, if there is one.
fn circle_through(
    arrows: &BTreeMap<(&str, &str), BTreeSet<String>>,
    room: &str,
    file: &str,
) -> Option<Vec<String>> {
    let mut ways = vec![vec![file.to_owned()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let used = way.last().and_then(|last| arrows.get(&(room, last.as_str())));
            for name in used.into_iter().flatten() {
                if name == file {
                    return Some(way);
                }
                if seen.insert(name.clone()) {
                    longer.push([&way[..], std::slice::from_ref(name)].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

/// A path that begins with `crate` or `super`, written out.
struct Path {
    line: usize,
    parts: Vec<String>,
}

fn paths(text: &Text) -> Vec<Path> {
    let code = code_only(&text.content);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if code[..at].ends_with(is_name) {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        expand(&code[at..], &mut Vec::new(), &mut |parts| {
            found.push(Path { line, parts: parts.to_vec() });
        });
    }
    found
}

/// Calls `each` with the paths of a `use` tree such as `a::{b, c::d}`; returns the rest of the text.
fn expand<'a>(text: &'a str, before: &mut Vec<String>, each: &mut dyn FnMut(&[String])) -> &'a str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    before.push(text[..end].to_owned());
    let mut rest = &text[end..];
    if let Some(group) = rest.strip_prefix("::{") {
        rest = group;
        while !rest.trim_start().starts_with('}') && !rest.trim_start().is_empty() {
            rest = expand(rest, before, each);
            // A rename (`as`) says nothing about where the import is from.
            rest = rest.trim_start_matches(|c| c != ',' && c != '}');
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = rest.trim_start().strip_prefix('}').unwrap_or("");
    } else if let Some(inner) = rest.strip_prefix("::") {
        rest = expand(inner, before, each);
    } else {
        each(before);
    }
    before.pop();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    fn agent(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("{AGENT}{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        said(check, &files)
    }

    #[test]
    fn rooms_use_the_rooms_below() {
        let uses = "use crate::runtime::{agent, walk::Walker};\nuse crate::snapshot;\n";
        assert_eq!(agent(&[("entry/mod.rs", uses)]), [""; 0]);
        assert_eq!(
            agent(&[("record/a.rs", uses)]),
            [
                "crates/agent/src/record/a.rs:2: record/ must not use snapshot/ (see ARCHITECTURE.md)"
            ]
        );
        assert_eq!(
            agent(&[("runtime/a.rs", "fn f() { crate::record::b() }\n")]),
            [
                "crates/agent/src/runtime/a.rs:1: runtime/ must not use record/ (see ARCHITECTURE.md)"
            ]
        );
    }

    #[test]
    fn files_of_a_room_form_no_cycle() {
        let line = [
            ("record/a.rs", "use super::{b, c};\n"),
            ("record/b.rs", "use super::c::C;\n"),
            ("record/c.rs", "use super::Room;\n"),
        ];
        assert_eq!(agent(&line), [""; 0]);
        let circle = [line[0], line[1], ("record/c.rs", "use crate::record::{x, a as y};\n")];
        let said = agent(&circle);
        assert_eq!(said.len(), 3, "{said:?}");
        assert_eq!(said[0], "crates/agent/src/record/a.rs: part of a circle: a, c");
    }

    #[test]
    fn new_room_must_be_declared() {
        assert!(agent(&[("misc/a.rs", "")])[0].contains("is no room of the agent"));
    }
}
