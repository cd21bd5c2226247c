//! Debug files, which have the symbols that were stripped from an executable: beside it, or where packages
//! install them.
//!
//! `objcopy --only-keep-debug` makes them. A debug file belongs to the executable with the same build id;
//! without a build id, none is used.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::{DebugSymbols, Identity};
use bactrian_trace::Input;

/// Where packages install them.
const INSTALLED: &str = "usr/lib/debug";

/// The debug file of an executable.
#[derive(Debug)]
pub struct DebugFile {
    build_id: Vec<u8>,
    file: Input,
}

impl DebugFile {
    /// Finds the debug file of an executable with these bytes, whose path is below `root`.
    pub fn find(executable: &[u8], path: &Path, root: Option<&Path>) -> Option<DebugFile> {
        let identity = Identity::read(executable)?;
        let path = if root.is_none() { std::path::absolute(path).ok()? } else { path.to_owned() };
        let root = root.unwrap_or(Path::new("/"));
        candidates(&path, root, identity).into_iter().find_map(|path| {
            // Opening a pipe would block until its other end is opened.
            fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            let file = Input::open(&path).ok()?;
            let found = DebugFile { build_id: identity.build_id.to_owned(), file };
            found.symbols().is_some().then_some(found)
        })
    }

    /// All symbols of the executable.
    pub fn symbols(&self) -> Option<DebugSymbols<'_>> {
        DebugSymbols::read(&self.file, &self.build_id)
    }
}

/// Possible debug files of an executable, the likeliest first. `root` is the directory that paths are
/// relative to.
fn candidates(executable: &Path, root: &Path, identity: Identity<'_>) -> Vec<PathBuf> {
    let Identity { build_id, link } = identity;
    let path = executable.strip_prefix("/").unwrap_or(executable);
    let mut found = Vec::new();
    if let Some((first, rest)) = build_id.split_first() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let name = format!("{}.debug", hex(rest));
        found.push(root.join(INSTALLED).join(".build-id").join(hex(&[*first])).join(name));
    }
    let (Some(folder), Some(own)) = (path.parent(), path.file_name()) else { return found };
    let mut usual = own.to_owned();
    usual.push(".debug");
    // Only a file name is accepted, not a path.
    let link = link.map(OsStr::from_bytes).filter(|link| !link.as_bytes().contains(&b'/'));
    for name in link.into_iter().chain([&*usual]) {
        let beside = root.join(folder);
        found.extend([beside.join(name), beside.join(".debug").join(name)]);
        found.push(root.join(INSTALLED).join(folder).join(name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_files_are_searched_where_debuggers_look() {
        let check = |link: Option<&[u8]>, expected: &[&str]| {
            let identity = Identity { build_id: &[0xab, 0x0c, 1], link };
            let found = candidates(Path::new("/opt/a/server"), Path::new("/"), identity);
            let found: Vec<_> = found.iter().map(|path| path.to_str().expect("text")).collect();
            assert_eq!(found, expected);
        };
        let usual = [
            "/usr/lib/debug/.build-id/ab/0c01.debug",
            "/opt/a/server.debug",
            "/opt/a/.debug/server.debug",
            "/usr/lib/debug/opt/a/server.debug",
        ];
        check(None, &usual);
        check(Some(b"../x"), &usual);
        let named = ["/opt/a/x.sym", "/opt/a/.debug/x.sym", "/usr/lib/debug/opt/a/x.sym"];
        check(Some(b"x.sym"), &[&usual[..1], &named, &usual[1..]].concat());
        let nothing = Identity { build_id: &[], link: None };
        assert!(candidates(Path::new("/"), Path::new("/"), nothing).is_empty());
    }
}
