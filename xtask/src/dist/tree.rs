//! The files of an installation, laid out as under `/usr`: the program, its man pages and completions, which it prints itself,
//! and its documents.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{archive, copy, fresh, names, release::Release, write};
use crate::Outcome;
use crate::command::{output, succeed};

/// Where each shell looks for completions, below `share`.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "bash-completion/completions/bactrian"),
    ("zsh", "zsh/site-functions/_bactrian"),
    ("fish", "fish/vendor_completions.d/bactrian.fish"),
];
pub const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub struct Tree {
    /// The folder of the files, with the name that it has in the archive.
    pub folder: PathBuf,
    /// Contains only that folder.
    pub parent: PathBuf,
}

pub fn lay_out(release: &Release, binary: &Path) -> Result<Tree, String> {
    let parent = release.work.join("tree");
    fresh(&parent)?;
    let folder = parent.join(format!("{}-x86_64-linux", release.name()));
    let share = folder.join("share");
    copy(binary, &folder.join("bin/bactrian"))?;
    for (shell, path) in COMPLETIONS {
        let text = output(Command::new(binary).args(["completions", shell]))?;
        write(&share.join(path), &text)?;
    }
    let pages = share.join("man/man1");
    succeed(Command::new(binary).arg("man").arg(&pages))?;
    for page in names(&pages)? {
        archive::gzip_file(&pages.join(page))?;
    }
    add_documents(release, &share.join("doc/bactrian"))?;
    Ok(Tree { folder, parent })
}

/// Puts the query engine into the same folder, so that both archives can be unpacked over each other: `bactrian` looks for it in
/// its own folder.
pub fn lay_out_engine(release: &Release, engine: &Path) -> Result<PathBuf, String> {
    let parent = release.work.join("tree-query");
    fresh(&parent)?;
    let folder = parent.join(format!("{}-x86_64-linux", release.name()));
    copy(engine, &folder.join("bin/bactrian-query"))?;
    add_documents(release, &folder.join("share/doc/bactrian"))?;
    Ok(parent)
}

fn add_documents(release: &Release, folder: &Path) -> Outcome {
    DOCUMENTS.iter().try_for_each(|name| copy(&release.source.join(name), &folder.join(name)))
}
