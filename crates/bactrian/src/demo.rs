//! The data of `bactrian view --demo`: a trace and three snapshots of a small server that leaks
//! (`programs/leaky_cache.ml`), with its source and its type table. They were recorded in advance
//! (`cargo xtask demo --write`), so that viewing them needs no OCaml, network or program.

use std::fs;
use std::io;
use std::path::PathBuf;

use bactrian_capture::temporary::TemporaryFolder;
use flate2::read::GzDecoder;

/// The shown files, compressed.
const SHOWN: &[(&str, &[u8])] = &[
    ("leaky_cache.ctf", include_bytes!("../demo/leaky_cache.ctf.gz")),
    ("leaky_cache.1.heap", include_bytes!("../demo/leaky_cache.1.heap.gz")),
    ("leaky_cache.2.heap", include_bytes!("../demo/leaky_cache.2.heap.gz")),
    ("leaky_cache.3.heap", include_bytes!("../demo/leaky_cache.3.heap.gz")),
];
/// Files that are searched for beside snapshots and traces.
const TYPES: (&str, &[u8]) = ("leaky_cache.types", include_bytes!("../demo/leaky_cache.types.gz"));
const SOURCE: (&str, &[u8]) =
    ("leaky_cache.ml", include_bytes!("../../../programs/leaky_cache.ml"));

/// The files in a directory that only this user can read, until dropped.
pub struct Demo {
    folder: TemporaryFolder,
}

impl Demo {
    /// Writes the files.
    pub fn new() -> io::Result<Demo> {
        let folder = TemporaryFolder::new("demo")?;
        for (name, packed) in SHOWN.iter().chain([&TYPES]) {
            let mut file = fs::File::create(folder.file(name))?;
            io::copy(&mut GzDecoder::new(*packed), &mut file)?;
        }
        fs::write(folder.file(SOURCE.0), SOURCE.1)?;
        Ok(Demo { folder })
    }

    /// The shown files.
    pub fn files(&self) -> Vec<PathBuf> {
        SHOWN.iter().map(|(name, _)| self.folder.file(name)).collect()
    }
}
