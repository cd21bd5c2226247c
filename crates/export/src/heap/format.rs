//! The export formats for heaps.

use std::fmt;
use std::str::FromStr;

/// A format of another tool for heap snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeapFormat {
    /// Java's heap dumps.
    Hprof,
    /// Chrome DevTools' heap snapshots.
    Heapsnapshot,
    /// The dominator tree in the format of Go's pprof.
    Pprof,
    /// The largest entries of the dominator tree, for Graphviz.
    Dot,
    /// Classes or blocks, for scripts.
    Json,
    /// Classes or blocks, for spreadsheets.
    Csv,
}

impl HeapFormat {
    /// Every format.
    pub const ALL: &[HeapFormat] = &[
        HeapFormat::Hprof,
        HeapFormat::Heapsnapshot,
        HeapFormat::Pprof,
        HeapFormat::Dot,
        HeapFormat::Json,
        HeapFormat::Csv,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HeapFormat::Hprof => "hprof",
            HeapFormat::Heapsnapshot => "heapsnapshot",
            HeapFormat::Pprof => "pprof",
            HeapFormat::Dot => "dot",
            HeapFormat::Json => "json",
            HeapFormat::Csv => "csv",
        }
    }

    /// The file extension, after the first dot; tools recognise files by it.
    pub fn extension(self) -> &'static str {
        match self {
            HeapFormat::Pprof => "pb.gz",
            other => other.name(),
        }
    }

    /// Whether it is binary and unsuitable for terminals.
    pub fn is_binary(self) -> bool {
        matches!(self, HeapFormat::Hprof | HeapFormat::Pprof)
    }
}

impl fmt::Display for HeapFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a format for heaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownHeapFormat(String);

impl fmt::Display for UnknownHeapFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = HeapFormat::ALL.iter().map(|format| format.name()).collect();
        write!(f, "there is no format `{}` for heaps; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownHeapFormat {}

impl FromStr for HeapFormat {
    type Err = UnknownHeapFormat;

    fn from_str(name: &str) -> Result<HeapFormat, UnknownHeapFormat> {
        let found = HeapFormat::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| UnknownHeapFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_name() {
        for format in HeapFormat::ALL {
            assert_eq!(format.name().parse(), Ok(*format));
        }
        let unknown = "svg".parse::<HeapFormat>().map_err(|error| error.to_string());
        let said = "there is no format `svg` for heaps; there are hprof, heapsnapshot, pprof, dot, json, csv";
        assert_eq!(unknown, Err(said.to_owned()));
    }
}
