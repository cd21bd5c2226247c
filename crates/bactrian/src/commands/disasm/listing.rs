//! Listings: in code order with source lines in between, or in source order with instructions in between.

use std::collections::BTreeMap;
use std::io::Write;

use bactrian_ocaml::bytecode::{EventLocation, Function, FunctionKind, Instruction, Pc};
use serde_json::{Value, json};

use super::profile::Profile;
use super::{View, describe};
use crate::failure::Failure;
use crate::output::{BAD, Console, FAINT, HEADING, show_number, show_share, visible};

/// Width of instruction numbers.
const NUMBER: usize = 8;
/// Width of word counts.
const WORDS: usize = 12;
/// Width of shares.
const SHARE: usize = 9;

/// Prints the listing in code order.
pub fn print(view: &mut View<'_>, console: &mut Console) -> Result<(), Failure> {
    print_head(view, console)?;
    for function in view.functions.clone() {
        print_heading(view, function, console)?;
        let mut last = None;
        for instruction in view.program.within(function.start, function.end) {
            let place = view.program.place(&instruction).map(|place| place.location);
            if let Some(place) = place
                && last != Some((&place.file, place.line))
            {
                last = Some((&place.file, place.line));
                print_place(view, instruction.at, place, console)?;
            }
            print_instruction(view, &instruction, console)?;
        }
    }
    Ok(())
}

fn print_head(view: &View<'_>, console: &mut Console) -> Result<(), Failure> {
    let View { program, functions, profile, .. } = view;
    let out = console.out();
    let (shown, all) = (functions.len(), program.functions.len());
    let debug = if program.debug.is_some() { "" } else { ", without debug information" };
    let part =
        if shown == all { String::new() } else { format!(", {shown} of {all} pieces shown") };
    writeln!(
        out,
        "{HEADING}bytecode of OCaml {}{HEADING:#}: {} words of code{debug}{part}",
        program.version,
        program.code.end(),
    )?;
    if let Some(profile) = profile {
        let (here, all) = (profile.sum(), profile.all());
        let share = if all > 0.0 { show_share(here / all) } else { String::new() };
        let error = match profile.of_trace.error.as_str() {
            "" | "exact" => String::new(),
            error => format!(" {error}"),
        };
        writeln!(out, "{all:.0} words{error} allocated, {here:.0} ({share}) by its instructions")?;
    }
    Ok(())
}

fn print_heading(
    view: &View<'_>,
    function: &Function<'_>,
    console: &mut Console,
) -> Result<(), Failure> {
    let what = match function.kind {
        FunctionKind::Function => "",
        FunctionKind::Entry => " (a module begins)",
        FunctionKind::Initialisation => " (runs once)",
    };
    let margin = if view.profile.is_some() { WORDS + SHARE + 2 } else { 0 };
    let name = visible(&function.name);
    writeln!(console.out(), "\n{:margin$}{HEADING}{name}{HEADING:#}{what}", "")?;
    Ok(())
}

fn print_place(
    view: &mut View<'_>,
    at: Pc,
    place: &EventLocation<'_>,
    console: &mut Console,
) -> Result<(), Failure> {
    let margin = if view.profile.is_some() { WORDS + SHARE + 2 } else { 0 };
    let unit = view.program.debug.as_ref().and_then(|debug| debug.unit_at(at));
    let text = view.sources.line(&place.file, place.line, unit);
    let text = text.map(|text| format!("  {}", visible(text.trim_start()))).unwrap_or_default();
    let (file, line) = (visible(&place.file), place.line);
    writeln!(console.out(), "{:margin$}{FAINT}{file}:{line}{text}{FAINT:#}", "")?;
    Ok(())
}

fn print_instruction(
    view: &View<'_>,
    instruction: &Instruction<'_>,
    console: &mut Console,
) -> Result<(), Failure> {
    let text = view.program.show(instruction);
    let text = visible(&text);
    let at = instruction.at;
    let out = console.out();
    if let Some(profile) = &view.profile {
        write_margin(profile, profile.words(at), out)?;
    }
    writeln!(out, "{at:>NUMBER$}  {text}")?;
    Ok(())
}

/// Writes the words and their share, highlighted if large.
fn write_margin(
    profile: &Profile,
    words: Option<f64>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match words {
        Some(words) => {
            let share = show_share(words / profile.all().max(f64::MIN_POSITIVE));
            let is_hot = profile.is_hot(words);
            let (style, mark) = if is_hot { (BAD, '*') } else { (HEADING, ' ') };
            write!(out, "{style}{words:>WORDS$.0}{share:>SHARE$} {mark}{style:#}")?;
        }
        None => write!(out, "{:width$}", "", width = WORDS + SHARE + 2)?,
    }
    Ok(())
}

/// The instructions of a file by line, and one position in its code.
#[derive(Default)]
struct File<'a> {
    lines: BTreeMap<u32, Vec<Instruction<'a>>>,
    at: Pc,
}

/// Prints the listing in source order.
pub fn print_sources(view: &mut View<'_>, console: &mut Console) -> Result<(), Failure> {
    print_head(view, console)?;
    let program = view.program;
    let mut files: BTreeMap<&str, File<'_>> = BTreeMap::new();
    let mut without_place = 0;
    for function in &view.functions {
        for instruction in program.within(function.start, function.end) {
            let Some(place) = program.place(&instruction) else {
                without_place += 1;
                continue;
            };
            let file = files.entry(&place.location.file).or_default();
            file.at = instruction.at;
            file.lines.entry(place.location.line).or_default().push(instruction);
        }
    }
    for (name, file) in files {
        print_file(view, name, &file, console)?;
    }
    if without_place > 0 {
        let what = show_number(without_place, "instruction");
        console.note(&format!("{what} more without a known source location"))?;
    }
    Ok(())
}

fn print_file(
    view: &mut View<'_>,
    name: &str,
    file: &File<'_>,
    console: &mut Console,
) -> Result<(), Failure> {
    let unit = view.program.debug.as_ref().and_then(|debug| debug.unit_at(file.at));
    // For a file that is shown in part, the context of the shown lines.
    let is_whole = view.functions.len() == view.program.functions.len();
    let source = view.sources.lines(name, unit).map(<[String]>::to_vec);
    let margin = if view.profile.is_some() { WORDS + SHARE + 2 } else { 0 };
    let lost = if source.is_some() {
        ""
    } else {
        " (not found; give its folder with \
        --source-dir)"
    };
    writeln!(console.out(), "\n{:margin$}{HEADING}{}{HEADING:#}{lost}", "", visible(name))?;
    let first = file.lines.keys().next().copied().unwrap_or(1);
    let last = file.lines.keys().next_back().copied().unwrap_or(0);
    let numbers: Vec<u32> = match &source {
        Some(lines) if is_whole => (1..=lines.len().try_into().unwrap_or(last)).collect(),
        Some(lines) => (first..=last.min(lines.len().try_into().unwrap_or(last))).collect(),
        None => file.lines.keys().copied().collect(),
    };
    for number in numbers {
        let instructions = file.lines.get(&number).map_or(&[][..], Vec::as_slice);
        if let Some(profile) = &view.profile {
            let words = instructions.iter().filter_map(|one| profile.words(one.at));
            let words = words.reduce(|all, one| all + one);
            write_margin(profile, words, console.out())?;
        }
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let text = index.and_then(|index| source.as_ref()?.get(index)).map_or("", String::as_str);
        let line = format!("{number:>NUMBER$}  {}", visible(text));
        writeln!(console.out(), "{}", line.trim_end())?;
        for instruction in instructions {
            let words = view.profile.as_ref().map(|profile| profile.words(instruction.at));
            // With a profile, only instructions that allocate.
            if words == Some(None) {
                continue;
            }
            let text = view.program.show(instruction);
            let (at, text) = (instruction.at, visible(&text));
            let words = words.flatten().map(|words| format!(": {words:.0}")).unwrap_or_default();
            let out = console.out();
            writeln!(
                out,
                "{:margin$}{:NUMBER$}  {FAINT}{at:>NUMBER$}  {text}{words}{FAINT:#}",
                "", ""
            )?;
        }
    }
    Ok(())
}

/// The complete listing as JSON.
pub fn as_json(view: &View<'_>) -> Value {
    let functions = view.functions.iter().map(|function| {
        let instructions = view.program.within(function.start, function.end);
        let instructions: Vec<_> = instructions.map(|one| instruction_json(view, &one)).collect();
        json!({
            "name": function.name,
            "kind": match function.kind {
                FunctionKind::Function => "function",
                FunctionKind::Entry => "entry",
                FunctionKind::Initialisation => "initialisation",
            },
            "module": function.module,
            "start": function.start.0,
            "end": function.end.0,
            "instructions": instructions,
        })
    });
    let mut result = json!({
        "program": describe(view.program),
        "functions": functions.collect::<Vec<_>>(),
    });
    if let Some(profile) = &view.profile {
        result["words"] = json!({ "all": profile.all(), "by_instructions": profile.sum() });
    }
    result
}

fn instruction_json(view: &View<'_>, instruction: &Instruction<'_>) -> Value {
    let mut value = json!({
        "number": instruction.at.0,
        "text": view.program.show(instruction),
    });
    if let Some(place) = view.program.place(instruction) {
        value["file"] = json!(place.location.file);
        value["line"] = json!(place.location.line);
        if place.is_own {
            value["columns"] = json!([place.location.start_char, place.location.end_char]);
        }
    }
    if let Some(words) = view.profile.as_ref().and_then(|profile| profile.words(instruction.at)) {
        value["words"] = json!(words);
    }
    value
}
