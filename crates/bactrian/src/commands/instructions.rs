//! `bactrian top --by instruction`: allocations by bytecode instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use bactrian_analysis::{By, Filter, Label, Measure, Of, TraceFile, top};
use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_trace::{Losses, Source, TraceInfo};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Align, Console, HEADING, Table, show_error, show_share, visible};

/// Whether word counts include the header of each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// Include the header word of each block: the space that blocks take in the heap
    WithHeader,
    /// Count only the words inside blocks
    #[default]
    WithoutHeader,
}

/// What an instruction allocated.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its number: how many words of code stand before it. None of native code.
    pub instruction: Option<u32>,
    /// Words that it allocated.
    pub words: f64,
    /// Blocks.
    pub blocks: f64,
    /// Its function; the C primitive if it calls one.
    pub function: String,
    /// Where in the source.
    pub place: Option<String>,
    /// The instruction itself.
    pub text: Option<String>,
}

/// What all instructions allocated.
#[derive(Debug, Serialize)]
pub struct Instructions {
    /// Whether headers are counted.
    pub words: Header,
    /// Words in all.
    pub all: f64,
    /// How much sampling leaves open: `exact` or `±3.1 %`.
    pub error: String,
    /// By words.
    pub rows: Vec<Row>,
    /// What could not be read.
    #[serde(skip)]
    pub losses: Losses,
    /// Whether the trace tells instructions at all.
    #[serde(skip)]
    pub is_bytecode: bool,
    /// Places that are those of no instruction of the program, or of one in another function.
    #[serde(skip)]
    pub strange: usize,
}

/// Reads the program file named in the trace, if it exists.
pub fn program_file(trace: &TraceFile) -> (PathBuf, Vec<u8>) {
    let path = PathBuf::from(TraceInfo::text(&trace.info().executable).into_owned());
    let bytes = fs::read(&path).unwrap_or_default();
    (path, bytes)
}

/// Sums a trace by instruction, with those of `program` if it is available.
pub fn instructions(
    trace: &TraceFile,
    filter: &Filter,
    header: Header,
    program: Option<&Program<'_>>,
) -> Instructions {
    // Memory outside the heap has no words.
    let mut filter = filter.clone();
    filter.sources.retain(|source| *source != Source::External);
    if filter.sources.is_empty() {
        filter.sources = vec![Source::Minor, Source::Major];
    }
    let ask = |measure| top(trace, &filter, By::Instruction, measure);
    let bytes = ask(Measure::bytes(Of::Allocated));
    let objects = ask(Measure::objects(Of::Allocated));
    let word = f64::from(trace.info().word_bits) / 8.0;
    let mut rows: BTreeMap<(Option<u32>, String), Row> = BTreeMap::new();
    let mut strange = BTreeSet::new();
    let mut is_bytecode = false;
    for (answer, is_bytes) in [(&bytes, true), (&objects, false)] {
        for found in answer.rows.iter().filter(|row| row.own.value > 0.0) {
            is_bytecode |= found.label.instruction.is_some();
            let number = number(&found.label, program).unwrap_or_else(|place| {
                strange.insert(place);
                None
            });
            let name = if number.is_some() { String::new() } else { found.label.text() };
            let row = rows
                .entry((number, name))
                .or_insert_with(|| Row::new(number, &found.label, program));
            match is_bytes {
                true => row.words += found.own.value / word,
                false => row.blocks += found.own.value,
            }
        }
    }
    let mut all = bytes.all.value / word;
    let mut rows: Vec<_> = rows.into_values().collect();
    if header == Header::WithoutHeader {
        // Byte counts include a header for each block.
        all -= objects.all.value;
        rows.iter_mut().for_each(|row| row.words -= row.blocks);
    }
    rows.sort_by(|a, b| b.words.total_cmp(&a.words).then(a.instruction.cmp(&b.instruction)));
    let error = show_error(&bytes.all);
    let strange = strange.len();
    Instructions { words: header, all, error, rows, losses: bytes.losses, is_bytecode, strange }
}

/// The instruction number of a label; None for native code. The interpreter's pc is within an instruction or
/// just after it; the program resolves which, and a pc that does not fit the program is an error.
fn number(label: &Label, program: Option<&Program<'_>>) -> Result<Option<u32>, u64> {
    let (Some(place), Some(program)) = (label.instruction, program) else {
        return Ok(label.instruction.and_then(|place| u32::try_from(place).ok()));
    };
    let found = u32::try_from(place).ok().and_then(|place| program.before(Pc(place)));
    let found = found.ok_or(place)?;
    let name = label.name.as_str();
    let function = program.function_at(found.at);
    let fits = function.is_some_and(|function| function.name == name)
        || program.primitive_of(&found) == Some(name)
        || name.is_empty()
        || name.starts_with('[');
    if fits { Ok(Some(found.at.0)) } else { Err(place) }
}

impl Row {
    fn new(number: Option<u32>, label: &Label, program: Option<&Program<'_>>) -> Row {
        let mut row = Row {
            instruction: number,
            words: 0.0,
            blocks: 0.0,
            function: label.name.clone(),
            place: label.place(),
            text: None,
        };
        if let Some(program) = program
            && let Some(instruction) = number.and_then(|number| program.instruction(Pc(number)))
        {
            if let Some(function) = program.function_at(instruction.at) {
                row.function = function.name.to_string();
            }
            if let Some(place) = program.place(&instruction) {
                row.place = Some(format!("{}:{}", place.location.file, place.location.line));
            }
            row.text = Some(program.show(&instruction));
        }
        row
    }
}

impl Instructions {
    /// Prints a table.
    pub fn print(&self, console: &mut Console) -> Result<(), Failure> {
        let headers = match self.words {
            Header::WithHeader => "headers counted",
            Header::WithoutHeader => "headers not counted",
        };
        writeln!(
            console.out(),
            "{HEADING}words allocated by instruction{HEADING:#}, {headers}: {:.0} ({}) in all",
            self.all,
            self.error,
        )?;
        let mut table = Table::new(&[
            ("words", Align::Right),
            ("", Align::Right),
            ("number", Align::Right),
            ("instruction", Align::Left),
            ("function", Align::Left),
            ("place", Align::Left),
        ]);
        for row in &self.rows {
            table.row(vec![
                format!("{:.0}", row.words),
                show_share(row.words / self.all.max(f64::MIN_POSITIVE)),
                row.instruction.map_or(String::new(), |number| number.to_string()),
                row.text.as_deref().map_or(String::new(), |text| visible(text).into_owned()),
                visible(&row.function).into_owned(),
                row.place.as_deref().map_or(String::new(), |place| visible(place).into_owned()),
            ]);
        }
        table.print(console)?;
        Ok(())
    }

    /// Warns if the trace does not match the program in this file.
    pub fn warn(
        &self,
        program: &Path,
        is_read: bool,
        console: &mut Console,
    ) -> Result<(), Failure> {
        let program = program.display();
        if !self.is_bytecode {
            let what = "the trace has no bytecode instructions: bactrian record writes them";
            console.warn(what)?;
        } else if !is_read {
            let what = "the instructions are unknown: cannot read the bytecode of";
            console.warn(&format!("{what} {program}"))?;
        } else if self.strange > 0 {
            let what = "instructions of the trace do not match";
            let strange = self.strange;
            console.warn(&format!("{strange} {what} {program}: is it a different build?"))?;
        }
        Ok(())
    }
}
