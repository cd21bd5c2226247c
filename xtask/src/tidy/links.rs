//! Links between documents lead somewhere: to a file of the repository and, with `#`, to a heading.

use std::collections::HashMap;
use std::ops::Range;

use super::{Problem, Text, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in tree.with_extension(&["md"]) {
        for (line, target) in links(document) {
            if let Err(why) = follow(tree, document, target) {
                problems
                    .push(document.problem(line, format!("the link to {target} is dead: {why}")));
            }
        }
    }
    problems
}

fn follow(tree: &Tree, from: &Text, target: &str) -> Result<(), &'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let path = if path.is_empty() { Some(from.path.clone()) } else { resolve(&from.path, path) };
    let path = path.ok_or("it leads out of the repository")?;
    let folder = format!("{path}/");
    let exists = tree.paths.contains(&path)
        || path.is_empty()
        || tree.paths.iter().any(|known| known.starts_with(&folder));
    if !exists {
        return Err("there is no such file");
    }
    match (anchor, tree.text(&path)) {
        (Some(anchor), Some(text)) if path.ends_with(".md") => {
            let found = anchors(text).iter().any(|known| known == anchor);
            found.then_some(()).ok_or("there is no such heading")
        }
        _ => Ok(()),
    }
}

/// The path, from the root of the repository, of a link in the document `from`.
pub fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Lines outside fenced blocks, with their numbers.
fn prose(document: &Text) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    document.numbered_lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// The targets of all links, inline or by reference, with their lines.
fn links(document: &Text) -> Vec<(usize, &str)> {
    place_of_targets(document)
        .into_iter()
        .map(|(range, line)| (line, &document.content[range]))
        .collect()
}

/// Where the targets of all links stand in the document, and their lines.
pub fn place_of_targets(document: &Text) -> Vec<(Range<usize>, usize)> {
    let mut places = Vec::new();
    let start = document.content.as_ptr().addr();
    let mut found = |line: usize, target: &str| {
        let target = target_only(target);
        let from = target.as_ptr().addr() - start;
        places.push((from..from + target.len(), line));
    };
    for (number, line) in prose(document) {
        if let Some((label, target)) = line.split_once("]: ")
            && label.starts_with('[')
        {
            found(number, target);
            continue;
        }
        // Every second piece is code.
        for piece in line.split('`').step_by(2) {
            for (at, _) in piece.match_indices("](") {
                let rest = &piece[at + 2..];
                found(number, rest.split_once(')').map_or(rest, |(link, _)| link));
            }
        }
    }
    places
}

/// A link target without title and angle brackets.
fn target_only(link: &str) -> &str {
    let link = link.trim().split_once(" \"").map_or(link.trim(), |(target, _)| target);
    link.strip_prefix('<').and_then(|link| link.strip_suffix('>')).unwrap_or(link).trim()
}

/// The anchors that GitHub generates for headings.
fn anchors(document: &Text) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(document).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let anchors = headings.map(|title| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let lower: String = title.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = lower.replace(' ', "-");
        let again = seen.entry(anchor.clone()).and_modify(|n| *n += 1).or_insert(0);
        if *again == 0 { anchor } else { format!("{anchor}-{again}") }
    });
    anchors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    const FORMAT: (&str, &str) =
        ("docs/formats/a.md", "# The `A` format, v2\n\n## Notes\n\n```\n# no\n```\n## Notes\n");

    fn check_line(line: &str) -> Vec<String> {
        said(check, &[("docs/guide.md", &format!("# Guide\n{line}\n")), FORMAT])
    }

    #[test]
    fn valid_links_are_accepted() {
        for line in [
            "[a](formats/a.md) and [b](../docs/formats/)",
            "[a](formats/a.md#the-a-format-v2), [b](formats/a.md#notes-1), [c](#guide)",
            "![a](<formats/a.md> \"title\")",
            "[a]: formats/a.md#notes",
            "[a](https://example.org/none.md) [b](mailto:a@example.org)",
            "`[a](none.md)`",
        ] {
            assert_eq!(check_line(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn dead_links_are_found() {
        for line in [
            "[a](none.md)",
            "see `b` and [a](formats/none.md)",
            "[a](formats/a.md#no)",
            "[a](#none)",
            "[a]: none.md",
            "[a](../../outside.md)",
        ] {
            let said = check_line(line);
            assert_eq!(said.len(), 1, "{line}");
            assert!(said[0].starts_with("docs/guide.md:2: the link to "), "{said:?}");
        }
    }
}
