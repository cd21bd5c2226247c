//! Output files: complete or not at all, and for their owner only, because they contain a program's data.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

use super::Console;
use crate::failure::Failure;

/// Writes the file at `path` with `write`; `-` is standard output. If that fails, nothing is left behind.
pub fn write_file(
    path: &Path,
    console: &mut Console,
    write: impl FnOnce(&mut dyn Write, &mut Console) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        console.flush()?;
        // Not through the console, which would remove escape sequences from binary data.
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = write(&mut out, console).and_then(|()| Ok(out.flush()?));
        return match written {
            // The reader has seen enough.
            Err(failure) if failure.is_broken_pipe() => Ok(()),
            written => written,
        };
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let context = || format!("cannot write {}", path.display());
    // Anything but a regular file, such as /dev/null, is written to and not replaced.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let file = std::fs::File::create(path).with_context(context)?;
        let mut out = BufWriter::new(file);
        write(&mut out, console)?;
        out.flush().with_context(context)?;
        return Ok(());
    }
    let file = tempfile::NamedTempFile::new_in(folder).with_context(context)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out, console)?;
    let file = out.into_inner().map_err(|error| error.into_error()).with_context(context)?;
    file.persist(path).map_err(|error| error.error).with_context(context)?;
    Ok(())
}

/// The path relative to the current directory, if it is below it.
pub fn shortened(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}
