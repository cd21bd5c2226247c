//! `bactrian dump`: all events as text.

use std::io::{self, Write};

use bactrian_analysis::{By, Labels, Selection, Visitor, run as pass};
use bactrian_trace::{Alloc, DomainId, Frames, Micros, ObjectId};
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::filters::FilterArgs;
use crate::output::{Console, Tap, visible};

/// Print every event as text, one per line.
///
/// A line has the time in seconds, the event and the object's number; for allocations also the size in words, the number of
/// samples, the heap, and the call stack, innermost frame first.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian dump trace.ctf | head
  bactrian dump trace.ctf --size 1MB.. --depth 0     large objects with full call stacks
  bactrian dump trace.ctf --json | jq 'select(.event == \"alloc\") | .words'")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// How many frames of each call stack to print, innermost first; 0 for all
    #[arg(long, value_name = "FRAMES", default_value_t = 4)]
    depth: usize,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let selection = Selection::new(&trace, &filter);
    let mut dump = Dump {
        out: console.out(),
        json: args.json,
        depth: if args.depth == 0 { usize::MAX } else { args.depth },
        labels: Labels::new(By::Site, &filter.hidden),
        wanted: (!filter.admits_all()).then(Default::default),
        domains: trace.index().domains().len() > 1,
        written: Ok(()),
    };
    let outcome = pass(&trace, &selection, &mut dump);
    let written = dump.written;
    written?;
    args.trace.account(&outcome.losses, console)?;
    Ok(Status::Done)
}

struct Dump<'a, W> {
    out: &'a mut Tap<W>,
    json: bool,
    depth: usize,
    labels: Labels,
    /// Objects whose promotions and collections are shown; None means all.
    wanted: Option<std::collections::HashSet<ObjectId>>,
    /// Whether to print the domain.
    domains: bool,
    written: io::Result<()>,
}

impl<W: Write> Dump<'_, W> {
    fn put_alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) -> io::Result<()> {
        let mut stack = Vec::new();
        for &frame in alloc.stack.iter().rev() {
            let labels = self.labels.of(frame, frames).to_vec();
            stack.extend(labels.into_iter().rev().map(|label| self.labels.get(label).clone()));
            if stack.len() >= self.depth {
                break;
            }
        }
        stack.truncate(self.depth);
        let Alloc { time, id, length, samples, source, .. } = alloc;
        if self.json {
            let event = json!({
                "event": "alloc", "time": time.seconds(), "domain": alloc.domain.0, "id": id.0,
                "words": length.0, "samples": samples, "heap": source.name(), "stack": stack,
            });
            return writeln!(self.out, "{event}");
        }
        self.put_start(*time, alloc.domain, "alloc", *id)?;
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let (words, heap) = (length.0, source.name());
        write!(self.out, " {words} word{}", plural(words))?;
        write!(self.out, ", {samples} sample{}, {heap}", plural(*samples))?;
        for (at, label) in stack.iter().enumerate() {
            let place = label.place().map(|place| format!(" {place}"));
            let sign = if at == 0 { "in" } else { "<-" };
            let text = format!("{}{}", label.name, place.unwrap_or_default());
            write!(self.out, " {sign} {}", visible(&text))?;
        }
        writeln!(self.out)
    }

    fn put_start(
        &mut self,
        time: Micros,
        domain: DomainId,
        what: &str,
        id: ObjectId,
    ) -> io::Result<()> {
        write!(self.out, "{:.6}", time.seconds())?;
        if self.domains {
            write!(self.out, " domain {}", domain.0)?;
        }
        write!(self.out, " {what} {}", id.0)
    }

    fn put_end(&mut self, time: Micros, domain: DomainId, what: &str, id: ObjectId) {
        if self.written.is_err() || self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&id))
        {
            return;
        }
        self.written = if self.json {
            let (time, domain, id) = (time.seconds(), domain.0, id.0);
            let event = json!({ "event": what, "time": time, "domain": domain, "id": id });
            writeln!(self.out, "{event}")
        } else {
            self.put_start(time, domain, what, id).and_then(|()| writeln!(self.out))
        };
    }
}

impl<W: Write> Visitor for Dump<'_, W> {
    fn is_done(&self) -> bool {
        self.written.is_err() || self.out.is_closed()
    }

    fn wants_stacks(&self) -> bool {
        true
    }

    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        if self.written.is_ok() {
            if let Some(wanted) = &mut self.wanted {
                wanted.insert(alloc.id);
            }
            self.written = self.put_alloc(alloc, frames);
        }
    }

    fn promote(&mut self, time: Micros, domain: DomainId, id: ObjectId, _: &Frames) {
        self.put_end(time, domain, "promote", id);
    }

    fn collect(&mut self, time: Micros, domain: DomainId, id: ObjectId, _: &Frames) {
        self.put_end(time, domain, "collect", id);
        if let Some(wanted) = &mut self.wanted {
            wanted.remove(&id);
        }
    }
}
