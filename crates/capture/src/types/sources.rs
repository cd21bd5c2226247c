//! The `.cmt` files of a build.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bactrian_ocaml::Version;
use bactrian_ocaml::bytecode::version_of_file;

use super::TypesError;

/// The maximal number of directories searched; a user who names the root of a disk means something else.
const MOST_FOLDERS: usize = 200_000;
/// How many directories above a program are searched for its build.
const FAR: usize = 6;

/// The `.cmt` files for a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: Vec<PathBuf>,
    /// Where they were searched for.
    places: Vec<PathBuf>,
}

/// A module that a program was linked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedModule {
    /// Its name, such as `Stdlib__Map`.
    pub name: String,
    /// The digest of its `.cmx` file.
    pub implementation: Option<[u8; 16]>,
}

impl Sources {
    /// All files in these directories, recursively, and files that are named themselves.
    pub fn within(places: &[PathBuf]) -> Sources {
        let mut files = Vec::new();
        for place in places {
            if place.is_dir() { search(place, &mut files) } else { files.push(place.clone()) }
        }
        Sources { files, places: places.to_owned() }
    }

    /// The files of the modules that a program was linked from, as far as they are in these places. If there
    /// are several for one module, the one with the right digest, or the first.
    pub fn of_modules(modules: &[LinkedModule], places: &[PathBuf]) -> Sources {
        let mut by_name: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for file in Sources::within(places).files {
            by_name.entry(unit_name(&file)).or_default().push(file);
        }
        let linked = modules.iter().filter_map(|module| {
            let candidates = by_name.get(&module.name)?;
            let fits = |file: &&PathBuf| {
                digest_of(file).is_some_and(|own| Some(own) == module.implementation)
            };
            // Files are opened only if there is a choice.
            let chosen = if candidates.len() > 1 { candidates.iter().find(fits) } else { None };
            chosen.or(candidates.first()).cloned()
        });
        Sources { files: linked.collect(), places: places.to_owned() }
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Adds the files of a directory, without its subdirectories and without duplicates.
    pub fn add_folder(&mut self, folder: &Path) {
        for file in entries(folder).into_iter().filter(|path| is_cmt(path)) {
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        }
    }

    /// The version of the compiler that wrote them.
    ///
    /// # Errors
    /// If there is no version, or more than one.
    pub fn version(&self) -> Result<Version, TypesError> {
        let mut versions: BTreeMap<Version, usize> = BTreeMap::new();
        for version in self.files.iter().filter_map(|file| version_of(file)) {
            *versions.entry(version).or_default() += 1;
        }
        let mut versions = versions.into_keys();
        match (versions.next(), versions.next()) {
            (Some(version), None) => Ok(version),
            (Some(one), Some(other)) => Err(TypesError::Mixed(one, other)),
            (None, _) => Err(TypesError::NoFiles(self.places.clone())),
        }
    }
}

/// Where a program was built: the `_build` directory that contains it, or that is beside or above it;
/// otherwise its own directory, if that contains `.cmt` files.
pub(crate) fn build_of(program: &Path) -> Option<PathBuf> {
    let program = fs::canonicalize(program).ok()?;
    let folders = program.ancestors().skip(1);
    let is_build = |folder: &&Path| folder.file_name().is_some_and(|name| name == "_build");
    if let Some(build) = folders.clone().find(is_build) {
        return Some(build.to_owned());
    }
    let own = program.parent()?;
    if entries(own).iter().any(|path| is_cmt(path)) {
        return Some(own.to_owned());
    }
    folders.take(FAR).map(|folder| folder.join("_build")).find(|build| build.is_dir())
}

/// Finds `.cmt` files. Links are not followed, so this terminates.
fn search(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut waiting = vec![folder.to_owned()];
    let mut left = MOST_FOLDERS;
    while let Some(folder) = waiting.pop() {
        let Some(fewer) = left.checked_sub(1) else { return };
        left = fewer;
        for path in entries(&folder) {
            if is_cmt(&path) {
                files.push(path);
            } else if path.file_name().is_some_and(|name| name != ".git")
                && !path.is_symlink()
                && path.is_dir()
            {
                waiting.push(path);
            }
        }
    }
}

/// The sorted entries of a directory; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_cmt(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "cmt")
}

/// The compilation unit of a file: the compiler names files after units, except for the case of the first
/// letter.
fn unit_name(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn version_of(file: &Path) -> Option<Version> {
    let mut beginning = [0; 12];
    File::open(file).ok()?.read_exact(&mut beginning).ok()?;
    version_of_file(&beginning)
}

/// The digest at the end of the `.cmx` file that belongs to a `.cmt` file: beside it, or where dune puts it.
fn digest_of(file: &Path) -> Option<[u8; 16]> {
    let beside = file.with_extension("cmx");
    let name = beside.file_name()?;
    let native = file.parent()?.parent()?.join("native").join(name);
    let mut digest = [0; 16];
    let mut file = File::open(&beside).or_else(|_| File::open(native)).ok()?;
    file.seek(SeekFrom::End(-(digest.len() as i64))).ok()?;
    file.read_exact(&mut digest).ok()?;
    Some(digest)
}
