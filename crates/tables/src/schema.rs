//! The tables and the meaning of their columns. Names are the same everywhere: in a query, in a Parquet file,
//! in an object store.
//!
//! Columns are only ever added, at the end; a reader of a file of an earlier version uses the columns that the
//! file has.

/// The version of the schema, in the metadata of files.
pub const VERSION: u32 = 2;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 64-bit integers.
    Whole,
    /// Floating-point numbers.
    Real,
    /// Booleans.
    Truth,
    /// Texts.
    Text,
}

impl ColumnKind {
    /// The name of the type in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Whole => "BIGINT",
            Real => "DOUBLE",
            Truth => "BOOLEAN",
            Text => "VARCHAR",
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnKind,
    /// Whether values may be null.
    pub is_nullable: bool,
    /// Its meaning, for the documentation.
    pub about: &'static str,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What a row is, for the documentation.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: ColumnKind, about: &'static str) -> Column {
    Column { name, kind, is_nullable: false, about }
}

const fn nullable(name: &'static str, kind: ColumnKind, about: &'static str) -> Column {
    Column { name, kind, is_nullable: true, about }
}

use ColumnKind::{Real, Text, Truth, Whole};

/// Of a snapshot: its blocks.
pub const BLOCKS: Table = Table {
    name: "blocks",
    about: "A block of the heap",
    columns: &[
        column("id", Whole, "its number, for joins and for `bactrian heap show @ID`"),
        column("address", Whole, "its address in the program"),
        column("class", Text, "its class: its type, or its tag and size if the type is unknown"),
        nullable("type", Text, "its type, if known"),
        column(
            "kind",
            Text,
            "its kind by its tag: structured, string, float, closure, custom and so on",
        ),
        column("tag", Whole, "its tag"),
        column("words", Whole, "its size in words of 8 bytes, including the header"),
        nullable("retained", Whole, "its retained size in bytes; null if no root reaches it"),
        column("reachable", Truth, "whether a root reaches it"),
        nullable("idom", Whole, "its immediate dominator; null if that is a root or several roots"),
        nullable(
            "root",
            Text,
            "the module, stack or other root that dominates it; null if only several roots together do",
        ),
        nullable("site", Text, "its allocation site, if it was sampled"),
        nullable("age", Real, "seconds from its allocation to the snapshot"),
        column("generation", Text, "minor, major or static"),
    ],
};

/// Of a snapshot: its pointers.
pub const EDGES: Table = Table {
    name: "edges",
    about: "A pointer from one block to another",
    columns: &[
        column("from", Whole, "the block that contains the pointer"),
        nullable(
            "field",
            Whole,
            "the field; null for the stack of a continuation and the data of an ephemeron",
        ),
        column("to", Whole, "the block that it points to"),
    ],
};

/// Of a snapshot: the pointers of roots.
pub const ROOTS: Table = Table {
    name: "roots",
    about: "A pointer from a root to a block",
    columns: &[
        column("holder", Whole, "the number of the root, for `bactrian heap show @HOLDER`"),
        column("kind", Text, "globals, stacks, finalisers and so on"),
        column("name", Text, "the name of the root"),
        column("to", Whole, "the block that it points to"),
    ],
};

/// Of a snapshot: its classes.
pub const CLASSES: Table = Table {
    name: "classes",
    about: "All blocks of one class",
    columns: &[
        column("class", Text, "the class"),
        column("kind", Text, "type, string, float, closure, custom and so on"),
        column("blocks", Whole, "how many"),
        column("bytes", Whole, "their size in bytes, including headers"),
        column("retained", Whole, "their retained size in bytes"),
    ],
};

/// Of a snapshot that records them: the beginnings of strings.
pub const STRINGS: Table = Table {
    name: "strings",
    about: "A string or bytes",
    columns: &[
        column("id", Whole, "its block"),
        column("length", Whole, "its length in bytes"),
        nullable(
            "text",
            Text,
            "its beginning, if the snapshot keeps it; bytes that are not UTF-8 are replaced",
        ),
    ],
};

/// Of a trace: sampled allocations.
pub const OBJECTS: Table = Table {
    name: "objects",
    about: "A sampled allocation. It represents its samples divided by the rate: `sum(samples) / any_value(rate) * 8` estimates bytes",
    columns: &[
        column("id", Whole, "its number in the trace"),
        column("time", Real, "the time of its allocation, in seconds since the start"),
        column("domain", Whole, "the domain that allocated it"),
        column("words", Whole, "its size in words, without the header"),
        column("samples", Whole, "the number of its words that were sampled"),
        column("rate", Real, "samples per allocated word; 1 if every allocation was recorded"),
        column("heap", Text, "minor, major or external"),
        column("stack", Whole, "its stack"),
        nullable("promoted", Real, "the time of its promotion"),
        nullable(
            "collected",
            Real,
            "the time of its collection; null if it was not collected before the end of the trace",
        ),
        nullable("lifetime", Real, "seconds from its allocation to its collection"),
    ],
};

/// Of a trace: distinct stacks.
pub const STACKS: Table = Table {
    name: "stacks",
    about: "An allocating stack",
    columns: &[
        column("stack", Whole, "its number"),
        nullable("leaf", Text, "the allocating function; null if there are no frames"),
        nullable("file", Text, "its file"),
        nullable("line", Whole, "its line"),
        column("depth", Whole, "its number of frames"),
    ],
};

/// Of a trace: the frames of these stacks.
pub const FRAMES: Table = Table {
    name: "frames",
    about: "A frame of a stack",
    columns: &[
        column("stack", Whole, "the stack"),
        column("position", Whole, "0 for the allocating function, 1 for its caller and so on"),
        column("function", Text, "the function"),
        nullable("file", Text, "its file"),
        nullable("line", Whole, "the line of the call"),
    ],
};

/// Of a recording: numbers over time.
pub const VALUES: Table = Table {
    name: "values",
    about: "A number that changed. A number without a new row has not changed",
    columns: &[
        column("time", Real, "the time, in seconds since the program's start"),
        column("observer", Text, "the observer, with its labels"),
        column("kind", Text, "point, gauge, histogram and so on"),
        column("part", Text, "which of its numbers; empty if it has only one"),
        nullable("value", Real, "the number"),
        nullable(
            "text",
            Text,
            "the text instead of a number, or the reason why the observer failed",
        ),
    ],
};

/// Of a fleet: the samples of a stack in one minute of a program.
pub const SAMPLES: Table = Table {
    name: "samples",
    about: "A stack in one minute of a program on a machine. It represents its samples divided by the rate: `sum(samples / rate) * 8` estimates bytes",
    columns: &[
        column("time", Whole, "the start of the minute, in seconds since 1970"),
        column("service", Text, "the service"),
        nullable("version", Text, "its version, if it was given"),
        column("host", Text, "the machine"),
        column("pid", Whole, "the process"),
        column("start", Whole, "the start of the process, in seconds since 1970"),
        column("build_id", Text, "the build of the program"),
        nullable("ocaml", Text, "the version of OCaml"),
        column("labels", Text, "all other labels: `zone=a,team=b`"),
        column(
            "stack_id",
            Whole,
            "the stack, for joins with `stacks`: the same wherever this program runs",
        ),
        column("rate", Real, "samples per allocated word"),
        column("blocks", Whole, "allocations sampled in this minute"),
        column("samples", Whole, "the number of their words that were sampled"),
        column("promoted", Whole, "samples of promoted blocks"),
        column("live_blocks", Whole, "sampled blocks that are alive at the end of the minute"),
        column("live", Whole, "their samples"),
    ],
};

/// Of a fleet: stacks of all its programs.
pub const FLEET_STACKS: Table = Table {
    name: "stacks",
    about: "A stack of a program. Each run adds its own stacks, so a stack of a build may have one row for each run",
    columns: &[
        column("stack_id", Whole, "its number"),
        column("build_id", Text, "the build of the program"),
        nullable("leaf", Text, "the allocating function; null if there are no frames"),
        nullable("file", Text, "its file"),
        nullable("line", Whole, "its line"),
        column("frames", Text, "all frames, one per line, innermost first"),
    ],
};

/// Of a fleet: what the runtime of a program counted in a minute.
pub const RUNTIME: Table = Table {
    name: "runtime",
    about: "One minute of a program on a machine, as counted by its runtime and the kernel, with a row for each profile in `samples`. Counts are null where `ship` could not read them: it runs on another machine, or the program has ended",
    columns: &[
        column("time", Whole, "the start of the minute, in seconds since 1970"),
        column("service", Text, "the service"),
        nullable("version", Text, "its version, if it was given"),
        column("host", Text, "the machine"),
        column("pid", Whole, "the process"),
        column("start", Whole, "the start of the process, in seconds since 1970"),
        column("build_id", Text, "the build of the program"),
        nullable("ocaml", Text, "the version of OCaml"),
        column("labels", Text, "all other labels: `zone=a,team=b`"),
        nullable("heap", Whole, "bytes of the major heap at the end of the minute"),
        nullable(
            "live",
            Whole,
            "bytes of it that are not free: live blocks, and dead blocks that are not swept yet",
        ),
        nullable("free", Whole, "bytes of it that are free"),
        nullable("rss", Whole, "resident bytes of the process"),
        nullable(
            "seconds",
            Real,
            "the time covered by the following columns, which ends with the minute: `sum(minor_collections) / sum(seconds)` is a rate",
        ),
        nullable("minor_collections", Whole, "minor collections"),
        nullable("major_collections", Whole, "completed major collections"),
        nullable("compactions", Whole, "compactions of the heap"),
        nullable("allocated_words", Whole, "allocated words"),
        nullable("promoted_words", Whole, "words promoted from the minor heaps to the major heap"),
        nullable(
            "pauses",
            Whole,
            "collector pauses in all domains; null unless the agent or the runtime's event ring measures them",
        ),
        nullable(
            "pause_seconds",
            Real,
            "their sum; divided by `seconds` it is the share of time in the collector",
        ),
        nullable("pause_median", Real, "their median, in seconds; null in sums of hours and days"),
        nullable("pause_max", Real, "the longest, in seconds"),
        nullable("trace", Text, "the path of the trace on the machine, for `bactrian view` there"),
    ],
};

/// Of a fleet: what snapshots of heaps hold.
pub const SUMMARIES: Table = Table {
    name: "heaps",
    about: "The blocks of one class that one root holds, in a snapshot of a heap. Rows that are and retain less than a thousandth of the heap are added up, as the class `[others]` without a root. Apart from these, sums of `bytes` and `retained` over all roots are those of `bactrian heap types`, and the sum of `bytes` over all classes is what the root retains",
    columns: &[
        column("time", Whole, "when the snapshot was taken, in seconds since 1970"),
        column("service", Text, "the service"),
        nullable("version", Text, "its version, if it was given"),
        column("host", Text, "the machine"),
        column("pid", Whole, "the process"),
        column("build_id", Text, "the build of the program"),
        column("ocaml", Text, "the version of OCaml"),
        column("labels", Text, "all other labels: `zone=a,team=b`"),
        column(
            "snapshot",
            Whole,
            "identifies the snapshot: the time at which it was taken, in microseconds since 1970",
        ),
        nullable("path", Text, "the path of the snapshot on the machine, if it was kept"),
        column(
            "class",
            Text,
            "their class: their type, or their tag and size if the type is unknown",
        ),
        column("kind", Text, "type, string, float, closure, custom and so on"),
        nullable(
            "root",
            Text,
            "the module, stack or other root that dominates them; null if only several roots together do, or none",
        ),
        column("reachable", Truth, "whether any root reaches them"),
        column("blocks", Whole, "how many"),
        column("bytes", Whole, "their shallow size in bytes, including headers"),
        column("retained", Whole, "their retained size in bytes"),
    ],
};

/// The tables of a fleet.
pub const OF_FLEETS: &[&Table] = &[&SAMPLES, &FLEET_STACKS, &RUNTIME, &SUMMARIES];
/// The tables of a snapshot.
pub const OF_HEAPS: &[&Table] = &[&BLOCKS, &EDGES, &ROOTS, &CLASSES, &STRINGS];
/// The tables of a trace.
pub const OF_TRACES: &[&Table] = &[&OBJECTS, &STACKS, &FRAMES];
/// The tables of a recording.
pub const OF_RECORDINGS: &[&Table] = &[&VALUES];

/// All tables, in the format of `docs/tables.md`.
pub fn document() -> String {
    let mut text = String::new();
    for (title, tables) in [
        ("Of a snapshot", OF_HEAPS),
        ("Of a trace", OF_TRACES),
        ("Of a recording of live numbers", OF_RECORDINGS),
        ("Of a fleet", OF_FLEETS),
    ] {
        text += &format!("## {title}\n\n");
        for table in tables {
            text += &format!(
                "### {}\n\n{}.\n\n| column | | |\n|---|---|---|\n",
                table.name, table.about
            );
            for Column { name, kind, is_nullable, about } in table.columns {
                let null = if *is_nullable { ", may be null" } else { "" };
                text += &format!("| `{name}` | {}{null} | {about} |\n", kind.sql());
            }
            text += "\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_column_names_are_unique() {
        let all: Vec<&Table> = [OF_HEAPS, OF_TRACES, OF_RECORDINGS].concat();
        for (at, table) in all.iter().enumerate() {
            // A fleet's `stacks` table is another one than a trace's, and no query uses both.
            let is_other = |other: &&Table| other.name != table.name;
            assert!(all[..at].iter().all(is_other), "{}", table.name);
            for (at, column) in table.columns.iter().enumerate() {
                let before = &table.columns[..at];
                assert!(before.iter().all(|other| other.name != column.name), "{}", column.name);
            }
        }
    }

    #[test]
    fn the_document_is_made_from_the_schema() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
        let text = std::fs::read_to_string(&path).expect("the document");
        let (before, _) = text.split_once("<!-- made from the schema -->\n").expect("its mark");
        let expected = format!(
            "{before}<!-- made from the schema -->\n\n{}",
            document().trim_end().to_owned() + "\n"
        );
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, expected).expect("room");
            return;
        }
        assert_eq!(text, expected, "UPDATE_GOLDEN=1 writes it anew");
    }
}
