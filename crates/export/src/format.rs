//! The export formats, and the profile that each one needs.

use std::fmt;
use std::str::FromStr;

use bactrian_analysis::{By, Measure, Of, Unit};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Folded stacks, for flame graphs.
    Folded,
    /// The format of Go's pprof.
    Pprof,
    /// Speedscope's own format.
    Speedscope,
    /// The Firefox Profiler's own format.
    Firefox,
    /// A table, for spreadsheets and scripts.
    Csv,
    /// The stack tree, for scripts.
    Json,
}

const fn measure(unit: Unit, of: Of) -> Measure {
    Measure { unit, of }
}

/// In the order of Go's heap profiles.
const BYTES_AND_OBJECTS: &[Measure] = &[
    measure(Unit::Objects, Of::Allocated),
    measure(Unit::Bytes, Of::Allocated),
    measure(Unit::Objects, Of::LiveAtEnd),
    measure(Unit::Bytes, Of::LiveAtEnd),
];

const BYTES: &[Measure] =
    &[measure(Unit::Bytes, Of::Allocated), measure(Unit::Bytes, Of::LiveAtEnd)];

impl Format {
    /// Every format.
    pub const ALL: &[Format] = &[
        Format::Folded,
        Format::Pprof,
        Format::Speedscope,
        Format::Firefox,
        Format::Csv,
        Format::Json,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Folded => "folded",
            Format::Pprof => "pprof",
            Format::Speedscope => "speedscope",
            Format::Firefox => "firefox",
            Format::Csv => "csv",
            Format::Json => "json",
        }
    }

    /// The file extension, after the first dot; tools recognise files by it.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Folded => "folded",
            Format::Pprof => "pb.gz",
            Format::Speedscope => "speedscope.json",
            Format::Firefox => "firefox.json",
            Format::Csv => "csv",
            Format::Json => "json",
        }
    }

    /// The level of detail of stacks that its tools can show.
    pub fn by(self) -> By {
        match self {
            // A flame graph by lines instead of functions would be fragmented.
            Format::Folded => By::Function,
            _ => By::Site,
        }
    }

    /// The measures that its tools can show; the first is their default.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Format::Folded => &BYTES[..1],
            Format::Speedscope | Format::Firefox => BYTES,
            Format::Pprof | Format::Csv | Format::Json => BYTES_AND_OBJECTS,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        write!(f, "there is no format `{}`; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = Format::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_name() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(*format));
        }
        let unknown = "svg".parse::<Format>().map_err(|error| error.to_string());
        let said =
            "there is no format `svg`; there are folded, pprof, speedscope, firefox, csv, json";
        assert_eq!(unknown, Err(said.to_owned()));
    }
}
