//! Specifications name the same versions as the code.

use super::{Problem, Text, Tree};

struct Promise {
    document: &'static str,
    /// The line that the document must contain; `{NAME}` stands for the value of a constant.
    line: &'static str,
    /// The file that defines these constants.
    source: &'static str,
}

const PROMISES: &[Promise] = &[
    Promise {
        document: "docs/formats/memtrace.md",
        line: "Specification: reads {READS}, writes {WRITES}",
        source: "crates/trace/src/lib.rs",
    },
    Promise {
        document: "docs/formats/heap.md",
        line: "Specification: version {VERSION}",
        source: "crates/snapshot/src/lib.rs",
    },
    Promise {
        document: "docs/formats/gc.md",
        line: "Specification: version {FORMAT_VERSION}",
        source: "crates/advice/src/file.rs",
    },
    Promise {
        document: "docs/json.md",
        line: "Schema version: {SCHEMA_VERSION}",
        source: "crates/analysis/src/lib.rs",
    },
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    PROMISES.iter().filter_map(|promise| compare(tree, promise).err()).collect()
}

fn compare(tree: &Tree, promise: &Promise) -> Result<(), Problem> {
    let open = |path: &str| {
        let missing = || Problem { path: path.to_owned(), line: 0, what: "is missing".to_owned() };
        tree.text(path).ok_or_else(missing)
    };
    let document = open(promise.document)?;
    let expected = fill_in(promise.line, open(promise.source)?)?;
    let start = promise.line.split_once('{').map_or(promise.line, |(start, _)| start);
    match document.numbered_lines().find(|(_, line)| line.starts_with(start)) {
        Some((_, line)) if line == expected => Ok(()),
        Some((number, line)) => Err(document.problem(
            number,
            format!("says {line:?}, but by {} it is {expected:?}", promise.source),
        )),
        None => Err(document.problem(0, format!("has no line {expected:?}"))),
    }
}

/// Inserts the values of constants into a line.
fn fill_in(line: &str, source: &Text) -> Result<String, Problem> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, name, after)) = next_name(rest) {
        let value = constant(&source.content, name)
            .ok_or_else(|| source.problem(0, format!("has no `pub const {name}`")))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    Ok(filled + rest)
}

fn next_name(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

fn constant<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let declared = source.lines().find_map(|line| {
        line.strip_prefix("pub const ")?.strip_prefix(name)?.strip_prefix(':')?.strip_suffix(';')
    })?;
    declared.split_once(" = ").map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISE: Promise =
        Promise { document: "a.md", line: "Reads {READS}, writes {WRITES}", source: "lib.rs" };
    const SOURCE: &str = "pub const READS: R<u16> = 1..=3;\npub const WRITES: R<u16> = 2..=3;\n";

    fn said(files: &[(&str, &str)]) -> Option<String> {
        compare(&Tree::of(files), &PROMISE).err().map(|problem| problem.to_string())
    }

    #[test]
    fn matching_document_is_accepted() {
        let document = "# A\n\nReads 1..=3, writes 2..=3\n";
        assert_eq!(said(&[("a.md", document), ("lib.rs", SOURCE)]), None);
    }

    #[test]
    fn differing_or_missing_versions_are_reported() {
        let table = [
            (Some("Reads 1..=2, writes 2..=3\n"), Some(SOURCE), "a.md:1: says"),
            (Some("# A\n"), Some(SOURCE), "a.md: has no line"),
            (
                Some("Reads 1..=3\n"),
                Some("pub const READS: u8 = 1;\n"),
                "lib.rs: has no `pub const",
            ),
            (None, Some(SOURCE), "a.md: is missing"),
            (Some("Reads 1..=3\n"), None, "lib.rs: is missing"),
        ];
        for (document, source, expected) in table {
            let files: Vec<_> = [("a.md", document), ("lib.rs", source)]
                .into_iter()
                .filter_map(|(path, content)| Some((path, content?)))
                .collect();
            let said = said(&files).unwrap_or_default();
            assert!(said.starts_with(expected), "{said} should be {expected}");
        }
    }
}
