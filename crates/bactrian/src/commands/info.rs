//! `bactrian info`: what a trace or a snapshot is.

use std::io::Write;

use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_analysis::{Contents, Info, Unit, contents, info};
use serde::Serialize;

use super::heap_info;
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::{Evidence, TraceArg, open_evidence};
use crate::output::{Console, FAINT, print_json, show_estimate, show_number, visible};

/// What a trace or snapshot is: program, size, duration, losses.
///
/// Reads packet headers or tables only, which takes milliseconds for any size; with --full or --strict all
/// events or all blocks.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian info trace.ctf
  bactrian info --full --json trace.ctf | jq .result.contents.peak
  bactrian info --full trace.ctf --in Cache.add    the same of what Cache.add allocates
  bactrian info --full server.1.heap    blocks by where they are and what they are")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Read all events or blocks too: kinds, sizes, all losses
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
        let what = "packet headers know nothing of objects: filters need --full";
        return Err(Failure::Usage(what.to_owned()));
    }
    let facts = info(&trace);
    // Only a read of all events finds all damage, and --strict must not pass what others refuse.
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

/// Prints a fact with its name, unless there is nothing to say.
pub(super) fn line(console: &mut Console, name: &str, value: &str) -> Result<(), Failure> {
    if !value.is_empty() {
        writeln!(console.out(), "{FAINT}{name:<14}{FAINT:#}{}", visible(value))?;
    }
    Ok(())
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
    let stacks =
        format!("{} code addresses, {} deep at most", contents.frames, contents.deepest_stack);
    line(console, "stacks", &stacks)
}

/// A rate as a power of ten where that is shorter.
pub fn show_rate(rate: f64) -> String {
    if rate < 0.01 { format!("{rate:e}") } else { format!("{rate}") }
}

/// Seconds since the Unix epoch as a date in UTC (Howard Hinnant's algorithm for civil dates).
pub(super) fn show_date(seconds: f64) -> String {
    let seconds = seconds as i64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(show_date(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(show_date(951_782_399.0), "2000-02-28 23:59:59 UTC");
        assert_eq!(show_date(951_868_800.0), "2000-03-01 00:00:00 UTC");
        assert_eq!(show_date(1_794_700_800.0), "2026-11-15 00:00:00 UTC");
    }
}
