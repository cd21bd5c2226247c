//! `bactrian info` of a heap snapshot.

use std::io::Write;

use bactrian_analysis::heap::{Contents, Info, contents, info};
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_snapshot::Snapshot;
use serde::Serialize;

use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::open::{account, snapshot_progress};
use crate::output::{Align, Console, Table, line, print_json, show_date, show_number, show_share};

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    info: &'a Info,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<&'a Contents>,
}

/// The arguments.
pub struct Question<'a> {
    pub file: &'a TraceArg,
    pub full: bool,
    pub json: bool,
}

pub fn run(
    snapshot: &Snapshot,
    question: &Question<'_>,
    console: &mut Console,
) -> Result<Status, Failure> {
    let Question { file, full, json } = question;
    let facts = info(snapshot);
    // Only a complete read finds all damage, and --strict must not accept what other commands reject.
    let contents =
        (*full || file.strict).then(|| contents(snapshot, &mut snapshot_progress(snapshot)));
    let losses = contents.as_ref().map_or(snapshot.losses(), |contents| &contents.losses);
    if *json {
        let answer = Answer { info: &facts, contents: contents.as_ref() };
        print_json(console, "info", &file.file, losses, &answer)?;
    } else {
        print_facts(&facts, console)?;
        if let Some(contents) = &contents {
            print_contents(contents, console)?;
        }
    }
    for gap in &facts.gaps {
        console.warn(gap)?;
    }
    for (what, count) in &facts.oddities {
        console.warn(&format!("found in the program's memory: {count} {what}"))?;
    }
    account(&file.file, file.strict, losses, console)?;
    Ok(Status::Done)
}

fn print_facts(facts: &Info, console: &mut Console) -> Result<(), Failure> {
    line(console, "program", &facts.program)?;
    line(console, "arguments", &facts.arguments.join(" "))?;
    line(console, "host", &facts.host)?;
    line(console, "pid", &facts.pid.to_string())?;
    line(console, "OCaml", &format!("{}, {} code", facts.ocaml, facts.code))?;
    let since = facts.since_start.map(|time| format!(", {} after start", show_time(time.0)));
    line(console, "taken", &format!("{}{}", show_date(facts.taken), since.unwrap_or_default()))?;
    let number = match facts.sequence {
        0 => String::new(),
        number => format!("; snapshot {number} of the process"),
    };
    line(console, "because", &format!("{}{number}", reason(facts.reason)))?;
    line(console, "name", facts.name.as_deref().unwrap_or_default())?;
    line(console, "taken by", way(facts.way))?;
    if let Some(pause) = facts.pause {
        line(console, "pause", &format!("{:.1} ms", pause * 1e3))?;
    }
    if facts.skipped.total() > 0 {
        let skipped = &facts.skipped;
        let what = format!(
            "{} before this one: {} for too many copies, {} for memory, {} for disk",
            skipped.total(),
            skipped.copies,
            skipped.memory,
            skipped.disk
        );
        line(console, "skipped", &what)?;
    }
    line(console, "trace", facts.trace.as_deref().unwrap_or_default())?;
    let blocks = format!(
        "{}, {} with headers, {}",
        show_number(facts.blocks, "block"),
        show_bytes(facts.bytes as f64),
        show_number(facts.pointers, "pointer")
    );
    line(console, "blocks", &blocks)?;
    let roots: Vec<_> =
        facts.roots.iter().map(|row| format!("{} {}", row.count, row.kind)).collect();
    line(console, "roots", &roots.join(", "))?;
    let threads = show_number(facts.threads, "thread");
    line(console, "threads", &format!("{threads}, {}", show_number(facts.domains, "domain")))?;
    for (name, count) in [
        ("finalisers", facts.finalisers),
        ("weak", facts.ephemerons),
        ("continuations", facts.continuations),
        ("samples", facts.samples),
    ] {
        if count > 0 {
            line(console, name, &count.to_string())?;
        }
    }
    print_memory(facts, console)?;
    let share = match facts.bytes {
        0 => String::new(),
        bytes => format!(", {} of the blocks", show_share(facts.file_bytes as f64 / bytes as f64)),
    };
    let file = format!(
        "heap snapshot version {}, {}{share}, {}, written by {}",
        facts.format_version,
        show_bytes(facts.file_bytes as f64),
        show_number(facts.groups, "group"),
        facts.writer
    );
    line(console, "file", &file)
}

fn print_memory(facts: &Info, console: &mut Console) -> Result<(), Failure> {
    let memory = &facts.memory;
    for (name, bytes) in [
        ("resident", memory.resident),
        ("mapped heap", memory.mapped_heap),
        ("free", memory.free),
        ("fragments", memory.fragments),
        ("unreachable", memory.unreachable),
        ("minor heaps", memory.minor_heaps),
        ("event rings", memory.rings),
        ("external", memory.external),
        ("fiber stacks", memory.fiber_stacks.filter(|bytes| *bytes > 0)),
    ] {
        if let Some(bytes) = bytes {
            line(console, name, &show_bytes(bytes as f64))?;
        }
    }
    Ok(())
}

fn print_contents(contents: &Contents, console: &mut Console) -> Result<(), Failure> {
    let live = format!(
        "{} in {}, without static data",
        show_bytes(contents.live_bytes as f64),
        show_number(contents.live_blocks, "block")
    );
    line(console, "live", &live)?;
    line(console, "largest block", &show_bytes(contents.largest as f64))?;
    let all: u64 = contents.kinds.iter().map(|row| row.bytes).sum();
    let headings = [("blocks", Align::Right), ("bytes", Align::Right), ("share", Align::Right)];
    let share = |bytes: u64| show_share(bytes as f64 / (all as f64).max(1.0));
    let row = |blocks: u64, bytes: u64, name: &str| {
        vec![blocks.to_string(), show_bytes(bytes as f64), share(bytes), name.to_owned()]
    };
    writeln!(console.out())?;
    let mut spaces = Table::new(&[&headings[..], &[("where", Align::Left)]].concat());
    for space in &contents.spaces {
        spaces.row(row(space.blocks, space.bytes, space.space));
    }
    spaces.print(console)?;
    writeln!(console.out())?;
    let mut kinds = Table::new(&[&headings[..], &[("what", Align::Left)]].concat());
    for kind in &contents.kinds {
        kinds.row(row(kind.blocks, kind.bytes, kind.kind.title()));
    }
    Ok(kinds.print(console)?)
}

fn reason(reason: &str) -> &str {
    match reason {
        "asked" => "a user requested it",
        "major" => "a major collection ended",
        "every" => "the interval was over",
        "signal" => "the signal arrived",
        "exit" => "the program was about to exit",
        "peak" => "live memory reached a new maximum",
        "call" => "the program called Bactrian.snapshot",
        other => other,
    }
}

fn way(way: &str) -> &str {
    match way {
        "agent" => "the agent, from a frozen copy",
        "attach" => "attaching, from a frozen copy",
        "copy" => "attaching, from the stopped process",
        "core" => "reading a core file",
        other => other,
    }
}
