//! Tables that are made automatically for a program, and cached.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::Version;
use bactrian_private::PrivateFolder;

use super::sources::build_of;
use super::{Compiler, LinkedModule, Sources, TypesError, helper};
use crate::cache::{self, Fingerprint};

/// If a program is not where it was built, the fraction of its modules, not counting the standard library,
/// that must belong to installed libraries for their types to be worthwhile. The compiler itself is such a
/// program.
const WORTHWHILE: f64 = 0.9;
/// The directory of tables in the user's cache directory.
const FOLDER: Option<&str> = Some("types");

/// The table of a program that is still where it was built, or consists of installed libraries, with the
/// plugins that it has loaded; made now or earlier. None if nothing is known about its types.
///
/// # Errors
/// If there is a build, but no table can be made of it.
pub fn table_for(
    (program, plugins): (&Path, &[String]),
    version: Version,
    modules: &[LinkedModule],
    note: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, TypesError> {
    let Ok(program) = fs::canonicalize(program) else { return Ok(None) };
    let build = build_of(&program);
    let compiler = match Compiler::find(version, None) {
        Ok(compiler) => compiler,
        Err(error) if build.is_some() => return Err(error),
        Err(_) => return Ok(None),
    };
    let mut places: Vec<_> = build.iter().cloned().collect();
    for plugin in plugins.iter().filter_map(|plugin| build_of(Path::new(plugin))) {
        if !places.contains(&plugin) {
            places.push(plugin);
        }
    }
    let linked: Vec<_> = [program].into_iter().chain(plugins.iter().map(PathBuf::from)).collect();
    let is_built_here = !places.is_empty();
    places.push(libraries(&compiler));
    let sources = Sources::of_modules(modules, &places);
    let is_standard = |file: &&PathBuf| file.parent() == Some(&compiler.library);
    let standard = sources.files().iter().filter(is_standard).count();
    let [found, all] =
        [sources.files().len(), modules.len()].map(|count| (count - standard) as f64);
    if found == 0.0 || !is_built_here && found < WORTHWHILE * all {
        return Ok(None);
    }
    let name = format!("{:016x}.types", print(&compiler, &sources, &linked));
    let path = |folder: &PrivateFolder| folder.path().join(&name);
    let is_there = |folder: PrivateFolder| folder.find(&name).ok().map(|_| path(&folder));
    if let Some(kept) = cache::find(FOLDER, is_there) {
        return Ok(Some(kept));
    }
    let helper = helper::installed(&compiler, note)?;
    note(&format!("reading the types of {} modules (once)", sources.files().len()));
    let made = cache::in_first(FOLDER, |folder| Ok(path(folder)));
    let path = made.map_err(|error| TypesError::Io(PathBuf::from(&name), error))?;
    helper::run(&helper, (&sources, &linked), &compiler, &path)?;
    Ok(Some(path))
}

/// Where libraries are installed: beside the standard library (opam), or in it (Debian).
fn libraries(compiler: &Compiler) -> PathBuf {
    let own = &compiler.library;
    let above = own.parent().filter(|_| own.ends_with("lib/ocaml"));
    let above = above.filter(|above| above.join("findlib").is_dir() || above.join("dune").is_dir());
    above.unwrap_or(own).to_owned()
}

/// Distinguishes builds by their files, and by the modification times of these.
fn print(compiler: &Compiler, sources: &Sources, linked: &[PathBuf]) -> u64 {
    let mut print = Fingerprint::new().with(helper::name(compiler).as_bytes());
    for file in sources.files().iter().chain(linked) {
        print = print.with(file.as_os_str().as_encoded_bytes());
        if let Ok(metadata) = fs::metadata(file) {
            print = print.with(&metadata.len().to_le_bytes());
            print = print
                .with(&metadata.mtime().to_le_bytes())
                .with(&metadata.mtime_nsec().to_le_bytes());
        }
    }
    print.number()
}
