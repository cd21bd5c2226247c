//! Rewrites a trace: in another version, with fewer samples, a window of time, only some objects, or without
//! names.

use std::io::{self, Write};

use bactrian_trace::{
    Alloc, DomainId, Frames, Locate, Losses, Micros, NewAlloc, ObjectId, SourceLocation, TraceInfo,
    Writer,
};

use crate::filter::Filter;
use crate::objects::LiveTable;
use crate::pass::{self, Visitor};
use crate::selection::Selection;
use crate::trace_file::TraceFile;

/// The changes to make. The default changes nothing except object ids, which cannot be kept.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The format version to write; None for the trace's own, if it can be written.
    pub version: Option<u16>,
    /// The sampling rate to reduce to, and the seed of the random choice.
    pub subsample: Option<(f64, u64)>,
    /// Keep only objects that this filter admits.
    pub filter: Filter,
    /// Omit later events.
    pub until: Option<Micros>,
    /// Omit the names of functions, files, program and host, and the context.
    pub strip_names: bool,
}

impl Changes {
    /// Whether nothing is changed.
    pub fn change_nothing(&self) -> bool {
        let Changes { version, subsample, filter, until, strip_names } = self;
        version.is_none()
            && subsample.is_none()
            && filter.admits_all()
            && until.is_none()
            && !strip_names
    }
}

/// What was written.
#[derive(Debug)]
pub struct Rewritten {
    /// The number of sampled allocations.
    pub allocations: u64,
    /// The number of promotions and collections.
    pub ends: u64,
    /// What could not be read.
    pub losses: Losses,
}

/// Writes `trace` to `out` with `changes`.
///
/// # Errors
/// If writing to `out` fails.
pub fn rewrite(trace: &TraceFile, changes: &Changes, out: impl Write) -> io::Result<Rewritten> {
    let selection = Selection::new(trace, &changes.filter);
    let mut info = trace.info().clone();
    info.version =
        changes.version.unwrap_or_else(|| info.version.max(*bactrian_trace::WRITES.start()));
    let mut lots = None;
    if let Some((rate, seed)) = changes.subsample {
        lots = Some(Subsampler { share: (rate / info.sample_rate).min(1.0), state: seed });
        info.sample_rate = rate.min(info.sample_rate);
    }
    if changes.strip_names {
        let TraceInfo { executable, host, runtime_params, context, .. } = &mut info;
        for text in [executable, host, runtime_params, context] {
            text.clear();
        }
    }
    let mut writing = Writing {
        single_domain: info.version < 3,
        writer: Writer::new(out, info)?,
        failed: None,
        done: false,
        lots,
        until: changes.until,
        strip_names: changes.strip_names,
        new_ids: LiveTable::default(),
        codes: Vec::new(),
        allocations: 0,
        ends: 0,
    };
    let outcome = pass::run(trace, &selection, &mut writing);
    let Writing { writer, failed, allocations, ends, .. } = writing;
    if let Some(error) = failed {
        return Err(error);
    }
    writer.finish()?;
    Ok(Rewritten { allocations, ends, losses: outcome.losses })
}

/// The names in a table of frames, or none.
struct NamesOf<'a> {
    frames: Option<&'a Frames>,
}

impl Locate for NamesOf<'_> {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        match self.frames {
            Some(frames) => frames.locate(code, found),
            None => found(&[]),
        }
    }
}

struct Writing<W> {
    writer: Writer<W>,
    failed: Option<io::Error>,
    done: bool,
    lots: Option<Subsampler>,
    until: Option<Micros>,
    strip_names: bool,
    /// Set for versions before 3, which have a single domain.
    single_domain: bool,
    new_ids: LiveTable<ObjectId>,
    codes: Vec<u64>,
    allocations: u64,
    ends: u64,
}

impl<W: Write> Writing<W> {
    fn domain(&self, domain: DomainId) -> DomainId {
        if self.single_domain { DomainId(0) } else { domain }
    }

    fn is_over(&mut self, time: Micros) -> bool {
        self.done = self.failed.is_some() || self.until.is_some_and(|until| time > until);
        self.done
    }
}

impl<W: Write> Visitor for Writing<W> {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        let samples = self.lots.as_mut().map_or(alloc.samples, |lots| lots.draw(alloc.samples));
        if self.is_over(alloc.time) || samples == 0 && alloc.samples > 0 {
            return;
        }
        self.codes.clear();
        self.codes.extend(alloc.stack.iter().map(|&frame| frames.code(frame)));
        let new = NewAlloc {
            time: alloc.time,
            domain: self.domain(alloc.domain),
            length: alloc.length,
            samples,
            source: alloc.source,
            stack: &self.codes,
        };
        let names = NamesOf { frames: Some(frames).filter(|_| !self.strip_names) };
        match self.writer.alloc(&new, &names) {
            Ok(id) => self.new_ids.insert(alloc.id, id),
            Err(error) => self.failed = Some(error),
        }
        self.allocations += 1;
    }

    fn promote(&mut self, time: Micros, domain: DomainId, id: ObjectId, _: &Frames) {
        if self.is_over(time) {
            return;
        }
        if let Some(&mut id) = self.new_ids.get_mut(id) {
            let domain = self.domain(domain);
            self.failed = self.writer.promote(time, domain, id).err();
            self.ends += 1;
        }
    }

    fn collect(&mut self, time: Micros, domain: DomainId, id: ObjectId, _: &Frames) {
        if self.is_over(time) {
            return;
        }
        if let Some(id) = self.new_ids.remove(id) {
            let domain = self.domain(domain);
            self.failed = self.writer.collect(time, domain, id).err();
            self.ends += 1;
        }
    }
}

/// Keeps each sample with the same probability.
struct Subsampler {
    share: f64,
    state: u64,
}

impl Subsampler {
    /// SplitMix64, as a number from 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// How many of `samples` to keep.
    fn draw(&mut self, samples: u64) -> u64 {
        const MANY: u64 = 10_000;
        if samples <= MANY {
            return (0..samples).filter(|_| self.uniform() < self.share).count() as u64;
        }
        // For many samples, the normal approximation (Box and Muller), so that one huge block costs nothing.
        let (radius, angle) = (self.uniform().max(1e-300), self.uniform() * std::f64::consts::TAU);
        let normal = (-2.0 * radius.ln()).sqrt() * angle.cos();
        let mean = samples as f64 * self.share;
        (mean + normal * (mean * (1.0 - self.share)).sqrt()).round().clamp(0.0, samples as f64)
            as u64
    }
}
