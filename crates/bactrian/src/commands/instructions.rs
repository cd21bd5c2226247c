//! `bactrian top --by instruction`: what each instruction of bytecode allocated, and what it is.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::{By, Filter, Label, Measure, Of, TraceFile, top};
use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_trace::{Losses, TraceInfo};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Align, Console, HEADING, Table, show_error, show_share, visible};

/// Whether words count the header of each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// The word before each block too: what the heap has to hold
    WithHeader,
    /// Only what is in blocks
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
    /// The program's file, if it could not be read.
    #[serde(skip)]
    pub missing: Option<PathBuf>,
}

/// Adds a trace up by instructions.
pub fn instructions(trace: &TraceFile, filter: &Filter, header: Header) -> Instructions {
    let path = PathBuf::from(TraceInfo::text(&trace.info().executable).into_owned());
    let file = fs::read(&path).unwrap_or_default();
    let program = Program::read(&file).ok();
    let ask = |measure| top(trace, filter, By::Instruction, measure);
    let bytes = ask(Measure::bytes(Of::Allocated));
    let objects = ask(Measure::objects(Of::Allocated));
    let word = f64::from(trace.info().word_bits) / 8.0;
    let mut rows: BTreeMap<(Option<u32>, String), Row> = BTreeMap::new();
    for (answer, is_bytes) in [(&bytes, true), (&objects, false)] {
        for found in answer.rows.iter().filter(|row| row.own.value > 0.0) {
            let number = number(&found.label, program.as_ref());
            let name = if number.is_some() { String::new() } else { found.label.text() };
            let row = rows
                .entry((number, name))
                .or_insert_with(|| Row::new(number, &found.label, program.as_ref()));
            match is_bytes {
                true => row.words += found.own.value / word,
                false => row.blocks += found.own.value,
            }
        }
    }
    let mut all = bytes.all.value / word;
    let mut rows: Vec<_> = rows.into_values().collect();
    if header == Header::WithoutHeader {
        // Bytes count a header for each block.
        all -= objects.all.value;
        rows.iter_mut().for_each(|row| row.words -= row.blocks);
    }
    rows.sort_by(|a, b| b.words.total_cmp(&a.words).then(a.instruction.cmp(&b.instruction)));
    let is_bytecode = rows.iter().any(|row| row.instruction.is_some());
    Instructions {
        words: header,
        all,
        error: show_error(&bytes.all),
        rows,
        losses: bytes.losses,
        missing: Some(path).filter(|_| is_bytecode && program.is_none()),
    }
}

/// The number of the instruction that a label is of. The interpreter says where it is when it is within an
/// instruction or just after it; with the program at hand that is told apart.
fn number(label: &Label, program: Option<&Program<'_>>) -> Option<u32> {
    let place = u32::try_from(label.instruction?).ok()?;
    let found = program.and_then(|program| program.before(Pc(place)));
    Some(found.map_or(place, |found| found.at.0))
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
        if let Some(missing) = &self.missing {
            let what = "what the instructions are is not known: cannot read the bytecode of";
            console.warn(&format!("{what} {}", missing.display()))?;
        }
        Ok(())
    }
}
