//! Stores of profiles in the page, which asks the engine as `bactrian fleet` does.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use bactrian_tables::schema::SUMMARIES;
use bactrian_web::FleetEngine;
use serde_json::Value;

use super::{Level, missing};
use crate::engine;
use crate::engine::process::{self, Limits};
use crate::python_engine::OtherEngine;

/// Limits of an answer. Object stores are slow, and users see the progress and may cancel.
const LIMITS: Limits = Limits { bytes: 64 << 20, time: Duration::from_secs(3600) };

/// Whether a path names a store of profiles: the address of an object store, or a folder with those of its tables.
pub fn is_store(path: &Path) -> bool {
    let levels = [Level::Minute, Level::Hour, Level::Day];
    let mut tables = levels.iter().map(|level| level.folders().0).chain([SUMMARIES.name]);
    path.to_str().is_some_and(|text| text.contains("://"))
        || tables.any(|table| path.join(table).is_dir())
}

/// Answers the page's questions about a store, by our engine or by another (`--engine`). Ours is searched for each time, since it
/// may have been built in the meantime.
pub fn engine_for_page(store: &Path, other: Option<&OtherEngine>) -> FleetEngine {
    let store = store.as_os_str().to_owned();
    let other = other.map(|other| format!("--engine={other}"));
    Box::new(move |options| {
        let engine = match other {
            Some(_) => env::current_exe().map_err(|error| error.to_string())?,
            None => engine::find().ok_or_else(|| missing().to_string())?,
        };
        let words = ["fleet", "--json", "--progress"].into_iter().chain(other.as_deref());
        let words = words.chain(options.iter().map(String::as_str)).chain(["--"]);
        let words = words.map(OsStr::new).chain([store.as_os_str()]);
        let told = process::ask(&engine, words, LIMITS)?;
        match told {
            Value::Object(mut envelope) => Ok(envelope.remove("result").unwrap_or_default()),
            _ => Err(format!("{} printed no answer", engine.display())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_folders_of_tables_or_addresses() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(is_store(&crates.join("fleet/tests/fixtures/version_1")));
        assert!(is_store(Path::new("s3://profiles/production")));
        assert!(!is_store(&crates.join("fleet/tests/fixtures")));
        assert!(!is_store(Path::new("localhost:8080")));
    }
}
