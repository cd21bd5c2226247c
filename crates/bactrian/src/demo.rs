//! What `bactrian view --demo` shows: a trace and three snapshots of a small server that leaks (`programs/leaky_cache.ml`), with
//! its source and its types. They were recorded beforehand (`cargo xtask demo --write`), so that nothing is needed to look at
//! them: no OCaml, no network, no program.

use std::fs;
use std::io;
use std::path::PathBuf;

use bactrian_capture::temporary::TemporaryFolder;
use flate2::read::GzDecoder;

/// The files that are shown, packed.
const SHOWN: &[(&str, &[u8])] = &[
    ("leaky_cache.ctf", include_bytes!("../demo/leaky_cache.ctf.gz")),
    ("leaky_cache.1.heap", include_bytes!("../demo/leaky_cache.1.heap.gz")),
    ("leaky_cache.2.heap", include_bytes!("../demo/leaky_cache.2.heap.gz")),
    ("leaky_cache.3.heap", include_bytes!("../demo/leaky_cache.3.heap.gz")),
];
/// What snapshots and traces look for beside them.
const TYPES: (&str, &[u8]) = ("leaky_cache.types", include_bytes!("../demo/leaky_cache.types.gz"));
const SOURCE: (&str, &[u8]) =
    ("leaky_cache.ml", include_bytes!("../../../programs/leaky_cache.ml"));

/// The files in a folder that only this user can look into, until this is dropped.
pub struct Demo {
    folder: TemporaryFolder,
}

impl Demo {
    /// Puts the files down.
    pub fn new() -> io::Result<Demo> {
        let folder = TemporaryFolder::new("demo")?;
        for (name, packed) in SHOWN.iter().chain([&TYPES]) {
            let mut file = fs::File::create(folder.file(name))?;
            io::copy(&mut GzDecoder::new(*packed), &mut file)?;
        }
        fs::write(folder.file(SOURCE.0), SOURCE.1)?;
        Ok(Demo { folder })
    }

    /// The files that are shown.
    pub fn files(&self) -> Vec<PathBuf> {
        SHOWN.iter().map(|(name, _)| self.folder.file(name)).collect()
    }
}
