//! `export --to parquet`: any kind of file as Parquet tables.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bactrian_export::{WrittenTable, write_parquet};
use bactrian_live::recording::Player;
use bactrian_live::{Database, Limits};
use bactrian_tables::{RecordingTables, Tables};

use crate::failure::{Failure, Status};
use crate::output::{Console, show_number};

/// The name of the format.
pub const PARQUET: &str = "parquet";

/// Writes tables to a directory, which is created if necessary, and prints a summary.
pub fn write(
    tables: &dyn Tables,
    output: Option<&Path>,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(folder) = output.filter(|folder| *folder != Path::new("-")) else {
        let what = "parquet is a folder of files, one for each table: give -o FOLDER";
        return Err(Failure::Usage(what.to_owned()));
    };
    fs::create_dir_all(folder).with_context(|| {
        format!(
            "cannot create folder \
        {}",
            folder.display()
        )
    })?;
    let written = write_parquet(tables, folder)
        .with_context(|| format!("cannot write tables into {}", folder.display()))?;
    for WrittenTable { name, rows } in written {
        let path = folder.join(format!("{name}.parquet"));
        writeln!(console.out(), "{}: {}", path.display(), show_number(rows as u64, "row"))?;
    }
    Ok(())
}

/// Reads a complete recording of live numbers.
pub fn read_recording(
    path: &Path,
    strict: bool,
    console: &mut Console,
) -> Result<Database, Failure> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut player =
        Player::new(file).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    // Nothing must be forgotten.
    let mut database = Database::new(Limits { window: Duration::MAX, memory: usize::MAX });
    let mut damage = None;
    for event in player.by_ref() {
        match event {
            Ok(event) => database.add(event),
            Err(error) => damage = Some(error.to_string()),
        }
    }
    if player.is_cut() {
        damage = Some("it is truncated".to_owned());
    }
    if let Some(damage) = damage {
        let what = format!("{}: {damage}", path.display());
        if strict {
            return Err(Failure::Input(anyhow::anyhow!(what)));
        }
        console.warn(&format!("{what}; everything before that is used"))?;
    }
    Ok(database)
}

/// Writes the tables of a recording.
pub fn write_recording(
    path: &Path,
    strict: bool,
    output: Option<&Path>,
    console: &mut Console,
) -> Result<Status, Failure> {
    let database = read_recording(path, strict, console)?;
    write(&RecordingTables::new(Arc::new(database)), output, console)?;
    Ok(Status::Done)
}
