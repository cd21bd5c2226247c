//! The documents as a book: `cargo xtask book` writes it into `target/book`.
//!
//! mdBook is installed once, into an ignored folder. Links between documents are checked by tidy, the commands of the guides by
//! `crates/bactrian/tests/documents.rs`. This checks that the contents name every document, and that every link of the book
//! leads to a page. Files outside of docs/ get one if a document links to them ([`source`]).

mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, output, root, succeed};

const MDBOOK: &str = "0.5.4";

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    check_contents()?;
    let mdbook = mdbook()?;
    let source = "target/book-source";
    source::write(&root().join(source))?;
    succeed(Command::new(mdbook).arg("build").env("MDBOOK_BOOK__SRC", source).current_dir(root()))?;
    check_links(&root().join("target/book"))?;
    println!("target/book/index.html");
    Ok(())
}

/// All relative links of the pages lead to a file.
fn check_links(book: &Path) -> Outcome {
    let mut pages = BTreeSet::new();
    find(book, book, "html", &mut pages)?;
    for page in pages {
        let path = book.join(&page);
        let text = fs::read_to_string(&path).map_err(|error| format!("{page}: {error}"))?;
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let target = link.split(['#', '?']).next().unwrap_or_default();
            let is_elsewhere = target.is_empty() || target.contains(':');
            if !is_elsewhere && !path.with_file_name("").join(target).exists() {
                return Err(format!("{page} of the book: the link to {link} is dead"));
            }
        }
    }
    Ok(())
}

/// Installs mdBook unless this version is there.
fn mdbook() -> Result<PathBuf, String> {
    let folder = root().join(".cache/mdbook");
    let program = folder.join("bin/mdbook");
    let version = output(Command::new(&program).arg("--version"));
    if version.is_ok_and(|version| version.contains(MDBOOK)) {
        return Ok(program);
    }
    println!("-- installing mdBook {MDBOOK}");
    let mut install = cargo(&format!("install mdbook --locked --version {MDBOOK} --root"));
    succeed(install.arg(&folder))?;
    Ok(program)
}

/// Every document is a chapter, and every chapter a document.
fn check_contents() -> Outcome {
    let docs = root().join("docs");
    let contents = fs::read_to_string(docs.join("SUMMARY.md"))
        .map_err(|error| format!("docs/SUMMARY.md: {error}"))?;
    let chapters = chapters(&contents);
    let mut documents = BTreeSet::new();
    find(&docs, &docs, "md", &mut documents)?;
    documents.remove("SUMMARY.md");
    if let Some(name) = documents.symmetric_difference(&chapters).next() {
        return Err(format!(
            "docs/{name}: a document that docs/SUMMARY.md does not name, or the reverse"
        ));
    }
    Ok(())
}

/// The files that the contents name: `- [Title](file.md)`.
fn chapters(contents: &str) -> BTreeSet<String> {
    let file = |line: &str| Some(line.rsplit_once("](")?.1.strip_suffix(')')?.to_owned());
    contents.lines().filter_map(file).collect()
}

/// The files with an extension in a folder, relative to `top`.
fn find(folder: &Path, top: &Path, extension: &str, found: &mut BTreeSet<String>) -> Outcome {
    let context = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(context)? {
        let path = entry.map_err(context)?.path();
        if path.is_dir() {
            find(&path, top, extension, found)?;
        } else if path.extension().is_some_and(|end| end == extension)
            && let Ok(name) = path.strip_prefix(top)
        {
            found.insert(name.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_are_the_targets_of_the_contents() {
        let contents =
            "# Title\n\n[Start](a.md)\n- [One](guide/one.md)\n  - [Two](two.md)\n\nText\n";
        let expected = ["a.md", "guide/one.md", "two.md"].map(str::to_owned);
        assert_eq!(chapters(contents), BTreeSet::from(expected));
    }

    #[test]
    fn the_contents_name_every_document() {
        assert_eq!(check_contents(), Ok(()));
    }
}
