//! `bactrian info`: facts about a trace or a snapshot.

use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_analysis::{Contents, Info, Unit, contents, info};
use serde::Serialize;

use super::heap_info;
use crate::failure::{Failure, Status};
use crate::file_args::{TraceArg, or_snapshot};
use crate::filters::FilterArgs;
use crate::open::{Evidence, open_evidence};
use crate::output::{Console, line, print_json, show_date, show_estimate, show_number};

/// Show what a trace or snapshot is: program, size, duration, losses.
///
/// Reads only packet headers or tables, which takes milliseconds for any size; with --full or --strict, reads all events or
/// blocks.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian info trace.ctf
  bactrian info --full --json trace.ctf | jq .result.contents.peak
  bactrian info --full trace.ctf --in Cache.add    only what Cache.add allocates
  bactrian info --full server.1.heap    blocks by space and kind")]
#[command(mut_arg("file", or_snapshot))]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Also read all events or blocks: kinds, sizes, all losses
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    info: &'a Info,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<&'a Contents>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let filter = args.filters.filter()?;
    let trace = match open_evidence(&args.trace.file)? {
        Evidence::Trace(trace) => trace,
        Evidence::Snapshot(_) if !filter.admits_all() => {
            let what = "filters are for the objects of traces; this is a heap snapshot";
            return Err(Failure::Usage(what.to_owned()));
        }
        Evidence::Snapshot(snapshot) => {
            let (file, full, json) = (&args.trace, args.full, args.json);
            return heap_info::run(&snapshot, &heap_info::Question { file, full, json }, console);
        }
    };
    if !args.full && !filter.admits_all() {
        let what = "packet headers contain no objects: filters need --full";
        return Err(Failure::Usage(what.to_owned()));
    }
    let facts = info(&trace);
    // Only reading all events finds all damage, and --strict must not accept what other commands reject.
    let contents = (args.full || args.trace.strict).then(|| contents(&trace, &filter));
    let losses = contents.as_ref().map_or(trace.index().losses(), |contents| &contents.losses);
    if args.json {
        let answer = Answer { info: &facts, contents: contents.as_ref() };
        print_json(console, "info", &args.trace.file, losses, &answer)?;
    } else {
        print_facts(&facts, console)?;
        if let Some(contents) = &contents {
            print_contents(contents, console)?;
        }
    }
    for sentence in facts.recorder.iter().flat_map(|recorder| &recorder.sentences) {
        console.warn(sentence)?;
    }
    args.trace.account(losses, console)?;
    Ok(Status::Done)
}

fn print_facts(facts: &Info, console: &mut Console) -> Result<(), Failure> {
    line(console, "program", &facts.program)?;
    line(console, "host", &facts.host)?;
    line(console, "context", &facts.context)?;
    if let Some(recorder) = &facts.recorder {
        let what = format!("bactrian {}, OCaml {}", recorder.version, recorder.ocaml);
        line(console, "recorded by", &what)?;
    }
    line(console, "runtime", &facts.runtime_parameters)?;
    line(console, "pid", &facts.pid.to_string())?;
    line(console, "started", &show_date(facts.start))?;
    line(console, "duration", &show_time(facts.duration.0))?;
    let rate = match facts.exact {
        true => {
            "1: every word was sampled, sizes are exact; the sampling itself makes blocks live \
                 longer and the collector's counters larger"
                .to_owned()
        }
        false if facts.last_rate < facts.sample_rate => format!(
            "{:.1e} of all words at first, halved as the trace grew, to {:.1e}",
            facts.sample_rate, facts.last_rate
        ),
        false => format!("{} of all words", show_rate(facts.sample_rate)),
    };
    line(console, "sampling rate", &rate)?;
    line(console, "allocations", &format!("{} sampled", facts.sampled_allocations))?;
    let domains: Vec<_> = facts.domains.iter().map(u16::to_string).collect();
    if facts.domains.len() > 1 {
        line(console, "domains", &format!("{} ({})", domains.len(), domains.join(", ")))?;
    }
    let file = format!(
        "memtrace version {}, {}, {}, {}-bit words",
        facts.format_version,
        show_bytes(facts.file_bytes as f64),
        show_number(facts.packets, "packet"),
        facts.word_bits
    );
    line(console, "file", &file)
}

fn print_contents(contents: &Contents, console: &mut Console) -> Result<(), Failure> {
    let Contents { minor, major, external, promotions, collections, .. } = contents;
    let events = format!(
        "{minor} minor, {major} major, {external} external; \
         {promotions} promoted, {collections} collected"
    );
    line(console, "events", &events)?;
    let objects = show_estimate(Unit::Objects, &contents.objects);
    let allocated = show_estimate(Unit::Bytes, &contents.allocated);
    line(console, "allocated", &format!("{allocated} in {objects} objects"))?;
    let peak = show_estimate(Unit::Bytes, &contents.peak);
    let at = show_time(contents.peak_time.0);
    line(console, "peak live", &format!("{peak} at {at}"))?;
    line(console, "live at end", &show_estimate(Unit::Bytes, &contents.live_at_end))?;
    let stacks = format!(
        "{} code addresses, at most {} frames \
            deep",
        contents.frames, contents.deepest_stack
    );
    line(console, "stacks", &stacks)
}

/// A rate, as a power of ten where that is shorter.
pub fn show_rate(rate: f64) -> String {
    if rate < 0.01 { format!("{rate:e}") } else { format!("{rate}") }
}
