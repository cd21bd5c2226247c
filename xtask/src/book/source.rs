//! What mdBook reads: the documents, and a chapter for every other file of the repository that they lead to, directly or through
//! another one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::tidy::links::{place_of_targets, resolve};
use crate::tidy::{Text, Tree};

const CONTENTS: &str = "docs/SUMMARY.md";
/// The page that the contents are shown beside.
const FIRST: &str = "docs/introduction.md";

/// Writes the source of the book into an empty folder.
pub fn write(folder: &Path) -> Outcome {
    let tree = Tree::read()?;
    // It may be there from an earlier run.
    fs::remove_dir_all(folder).ok();
    let mut book = Book { tree: &tree, chapters: BTreeMap::new(), waiting: Vec::new() };
    for path in tree.paths.iter().filter(|path| path.starts_with("docs/")) {
        match tree.text(path) {
            Some(text) if path != CONTENTS && path.ends_with(".md") => {
                let text = book.document(text);
                put(folder, &place(path), &text)?;
            }
            _ => copy(folder, path)?,
        }
    }
    while let Some(path) = book.waiting.pop() {
        let text = book.chapter(&path);
        put(folder, &place(&path), &text)?;
    }
    let contents = folder.join(place(CONTENTS));
    let mut text = fs::read_to_string(&contents).map_err(|error| format!("{CONTENTS}: {error}"))?;
    text.push_str("\n# Files of the repository\n\n");
    for (path, place) in &book.chapters {
        let _ = writeln!(text, "- [{path}]({place})");
    }
    fs::write(&contents, text).map_err(|error| format!("{}: {error}", contents.display()))
}

fn put(folder: &Path, place: &str, text: &str) -> Outcome {
    let file = folder.join(place);
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(&file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// Copies a file of the documents, such as a picture.
fn copy(folder: &Path, path: &str) -> Outcome {
    let file = folder.join(place(path));
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    let copied = made.and_then(|()| fs::copy(crate::command::root().join(path), &file));
    copied.map(|_| ()).map_err(|error| format!("{path}: {error}"))
}

/// Where a file of the repository is in the book.
fn place(path: &str) -> String {
    match path.strip_prefix("docs/") {
        Some(path) => path.to_owned(),
        // A README would become the index of its folder, but links to it would not.
        None => format!("repository/{}.md", path.strip_suffix(".md").unwrap_or(path))
            .replace("README", "index"),
    }
}

struct Book<'a> {
    tree: &'a Tree,
    /// Files and folders outside of the documents, with their places.
    chapters: BTreeMap<String, String>,
    /// Those of them that are not written yet.
    waiting: Vec<String>,
}

impl Book<'_> {
    /// A document whose links lead to pages of the book.
    fn document(&mut self, document: &Text) -> String {
        let mut text = document.content.clone();
        // From the last on, so that the places of the others stay.
        for (range, _) in place_of_targets(document).into_iter().rev() {
            let target = text[range.clone()].to_owned();
            let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
            if path.is_empty() || path.contains(':') {
                continue;
            }
            if let Some(path) = resolve(&document.path, path) {
                let link = self.link(&document.path, &path) + anchor;
                text.replace_range(range, &link);
            }
        }
        text
    }

    /// The link from a document to a file or a folder, which gets a chapter if it has none.
    fn link(&mut self, from: &str, path: &str) -> String {
        let path = if path == CONTENTS { FIRST } else { path };
        let place_of_path = place(path);
        if !path.starts_with("docs/") && !self.chapters.contains_key(path) {
            self.chapters.insert(path.to_owned(), place_of_path.clone());
            self.waiting.push(path.to_owned());
        }
        let up = "../".repeat(place(from).matches('/').count());
        format!("{up}{place_of_path}")
    }

    /// A file that is no document, or the names in a folder.
    fn chapter(&mut self, path: &str) -> String {
        match self.tree.text(path) {
            Some(text) if path.ends_with(".md") => self.document(text),
            Some(text) => {
                let language = match path.rsplit_once('.').map(|(_, extension)| extension) {
                    Some("ml") => "ocaml",
                    Some("rs") => "rust,noplayground",
                    Some("yml") => "yaml",
                    Some("json") => "json",
                    _ => "text",
                };
                format!("# {path}\n\n~~~~~{language}\n{}\n~~~~~\n", text.content.trim_end())
            }
            None => {
                let folder = format!("{path}/");
                let names = self.tree.paths.iter().filter_map(|known| known.strip_prefix(&folder));
                let names = names.filter(|name| !name.contains('/'));
                let list: String = names.map(|name| format!("- {name}\n")).collect();
                format!("# {path}\n\n{list}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_book() {
        let tree = Tree::of(&[
            (
                "docs/guide/a.md",
                "[b](../b.md#c), [c](../../x/y.ml), [x](../../x/) and `[d](../../x/z)`; [e](https://e.org)\n",
            ),
            ("docs/b.md", "# B\n\n[all](SUMMARY.md), [here](#b), [r](../x/README.md)\n"),
            ("x/y.ml", "let () = ()\n"),
            ("x/README.md", "[y](y.ml), [b](../docs/b.md)\n"),
        ]);
        let mut book = Book { tree: &tree, chapters: BTreeMap::new(), waiting: Vec::new() };
        let mut of = |path: &str| {
            let text = tree.text(path).expect("it is there");
            if path.starts_with("docs/") { book.document(text) } else { book.chapter(path) }
        };
        assert_eq!(
            of("docs/guide/a.md"),
            "[b](../b.md#c), [c](../repository/x/y.ml.md), [x](../repository/x.md) and `[d](../../x/z)`; [e](https://e.org)\n"
        );
        assert_eq!(
            of("docs/b.md"),
            "# B\n\n[all](introduction.md), [here](#b), [r](repository/x/index.md)\n"
        );
        assert_eq!(of("x/README.md"), "[y](../../repository/x/y.ml.md), [b](../../b.md)\n");
        assert_eq!(of("x/y.ml"), "# x/y.ml\n\n~~~~~ocaml\nlet () = ()\n~~~~~\n");
        assert_eq!(book.chapter("x"), "# x\n\n- README.md\n- y.ml\n");
        let chapters: Vec<&str> = book.chapters.keys().map(String::as_str).collect();
        assert_eq!(chapters, ["x", "x/README.md", "x/y.ml"]);
    }
}
