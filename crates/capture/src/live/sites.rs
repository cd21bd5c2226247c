//! Allocation sites that allocate now, and those whose blocks are alive now, from the agent's samples.
//!
//! The agent writes a trace, which is read while it grows. A sample stands for the number of words given by
//! the rate, so a site's bytes are an estimate. Memory use here follows what is distinct (sites) or alive
//! (sampled blocks), not how long the program runs; and if the trace is not kept, the part that has been read
//! is released from the disk.
//!
//! A site is a line: that of the innermost frame outside the standard library, because `List.map` does not
//! answer where memory comes from. If all frames are in the standard library, it is the innermost one.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bactrian_live::Site;
use bactrian_trace::{
    Event, Follower, FrameId, Frames, Micros, ObjectId, Recorder, Source, State, TraceLocation,
    is_library,
};
use bactrian_types::written;
use rustix::fs::FallocateFlags;

use super::Known;

/// The time constant of the decaying rate, in seconds: samples of this age count for about a third.
const SECONDS: f64 = 2.0;
/// The agent writes its buffered events after at most this many seconds.
const DELAY: f64 = 1.1;
const WORD: f64 = 8.0;
/// Bytes per read, and per poll.
const PIECE: usize = 1 << 20;
const MOST_PER_POLL: usize = 64 << 20;
/// The file is released in pieces of at least this many bytes; the first is kept, since the agent writes to
/// it.
const HOLE: u64 = 1 << 20;
/// How many bytes at the beginning of the file are searched for the recorder's note, and how often.
const NOTE: usize = 16 << 10;
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// The maximal number of blocks that are remembered because they ended before their allocation was read.
const MOST_EARLY: usize = 1 << 20;

/// The trace of a running program, and what it says about allocation sites.
#[derive(Debug)]
pub struct Sites {
    path: PathBuf,
    file: File,
    /// The offset up to which it was read.
    at: u64,
    /// The offset up to which it was released; None if it is to be kept.
    given_back: Option<u64>,
    follower: Follower,
    places: Places,
    buffer: Vec<u8>,
    notes: Vec<String>,
    noted: Option<Instant>,
}

/// What is known about allocation sites.
#[derive(Debug, Default)]
struct Places {
    list: Vec<Place>,
    by_line: HashMap<Line, u32>,
    /// The innermost site of each frame that has been resolved.
    of_frames: Vec<Option<FrameSite>>,
    alive: HashMap<ObjectId, Alive>,
    /// Samples of live memory outside the heap, such as the data of bigarrays.
    external: u64,
    /// Blocks whose end was read before their allocation, which another domain has written.
    early: HashSet<ObjectId>,
    /// The time of the last event, in seconds since the start of the trace.
    last: f64,
    allocations: u64,
}

/// A sampled block that is alive.
#[derive(Clone, Copy, Debug)]
struct Alive {
    place: u32,
    samples: u64,
    is_external: bool,
}

/// A source line: function, file, and line number; or a code address without one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Line {
    Of { function: Box<[u8]>, file: Box<[u8]>, line: u32 },
    Code(u64),
    Unknown,
}

/// The site of a frame, and whether it is in the standard library.
#[derive(Clone, Copy, Debug)]
struct FrameSite {
    place: u32,
    is_standard: bool,
}

/// An allocation site.
#[derive(Clone, Debug)]
struct Place {
    name: String,
    /// Samples of the last seconds, weighted by age, as of `at`.
    recent: f64,
    at: f64,
    /// Samples of blocks that are alive.
    alive: u64,
    samples: u64,
}

/// What the samples say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// Allocation sites, those with the highest rate first.
    pub sites: Vec<Site>,
    /// Live bytes outside the heap, held by bigarrays and other custom blocks.
    pub external: f64,
    /// The sampling rate: samples per word.
    pub rate: f64,
    /// The number of sampled allocations so far.
    pub allocations: u64,
    /// Whether there is more to read than was read this time: the numbers are of an earlier moment.
    pub is_behind: bool,
    /// What was lost, and why there may be nothing more, as sentences.
    pub notes: Vec<String>,
}

impl Sites {
    /// Follows the trace at a path. With `gives_back`, what was read is punched out of the file.
    ///
    /// # Errors
    /// If the file does not exist yet.
    pub fn open(path: &Path, gives_back: bool) -> io::Result<Sites> {
        let file = OpenOptions::new().read(true).write(gives_back).open(path)?;
        Ok(Sites {
            path: path.to_owned(),
            file,
            at: 0,
            given_back: gives_back.then_some(HOLE),
            follower: Follower::new(),
            places: Places::default(),
            buffer: vec![0; PIECE],
            notes: Vec::new(),
            noted: None,
        })
    }

    /// The file that is followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process id in the trace, once that has been read.
    pub fn process(&self) -> Option<u64> {
        self.follower.info().map(|info| info.pid)
    }

    /// Reads what is new and returns the top sites, up to `most` by each measure.
    ///
    /// # Errors
    /// If the file is not a trace, or was truncated.
    pub fn poll(&mut self, most: usize) -> Known<Sampled> {
        let is_behind = self.read().map_err(|error| format!("its trace: {error}"))?;
        self.look_at_notes();
        let Some(info) = self.follower.info() else {
            return Err("nothing was sampled yet".to_owned());
        };
        let since = |start: u64| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            now.as_secs_f64() - start as f64 / 1e6
        };
        // Recent events are still in the program. Clocks may be adjusted.
        let now = self.places.last.max(since(info.start) - DELAY).min(self.places.last + 3600.0);
        Ok(Sampled {
            sites: self.places.top(most, now, info.sample_rate),
            external: self.places.external as f64 * WORD / info.sample_rate,
            rate: info.sample_rate,
            allocations: self.places.allocations,
            is_behind,
            notes: self.notes.clone(),
        })
    }

    /// Reads the recorder's note, which is overwritten while the trace grows.
    fn look_at_notes(&mut self) {
        if self.noted.is_some_and(|last| last.elapsed() < NOTE_EVERY) {
            return;
        }
        self.noted = Some(Instant::now());
        let mut bytes = vec![0; NOTE];
        let count = self.file.read_at(&mut bytes, 0).unwrap_or(0);
        let mut beginning = Follower::new();
        // If it cannot be read, reading the whole trace has reported that.
        let _ = beginning.push(bytes.get(..count).unwrap_or_default(), |_, _| ());
        let recorder = beginning.info().and_then(|info| Recorder::parse(&info.context));
        self.notes = recorder.map_or_else(Vec::new, |recorder| match recorder.state {
            // That the recording is running is expected here.
            State::Running => Recorder { state: State::Ended, ..recorder }.sentences(),
            _ => recorder.sentences(),
        });
        self.notes.extend(self.follower.losses().sentences());
    }

    /// Reads what is new; returns true if that is not all.
    fn read(&mut self) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.at {
            return Err(io::Error::other("it was truncated"));
        }
        for _ in 0..MOST_PER_POLL / PIECE {
            let count = self.file.read_at(&mut self.buffer, self.at)?;
            if count == 0 {
                return Ok(false);
            }
            self.at += count as u64;
            let bytes = self.buffer.get(..count).unwrap_or_default();
            let places = &mut self.places;
            let taken = self.follower.push(bytes, |event, frames| places.take(&event, frames));
            taken.map_err(|error| io::Error::other(error.to_string()))?;
            // Immediately: a program that writes as fast as we read has written as much again by the end of a
            // poll.
            self.give_back();
        }
        Ok(true)
    }

    /// Releases what was read from the disk.
    fn give_back(&mut self) {
        let Some(from) = self.given_back else { return };
        let to = self.at / HOLE * HOLE;
        if to > from {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // If the file system does not support it, the space is freed when the file is removed.
            let given_back = rustix::fs::fallocate(&self.file, flags, from, to - from);
            self.given_back = given_back.is_ok().then_some(to);
        }
    }
}

impl Places {
    fn take(&mut self, event: &Event<'_>, frames: &Frames) {
        let Micros(time) = event.time();
        self.last = self.last.max(time as f64 / 1e6);
        match *event {
            Event::Alloc(alloc) => {
                self.allocations += 1;
                let number = self.place(alloc.stack, frames);
                let Some(place) = self.list.get_mut(number as usize) else { return };
                place.add(alloc.samples as f64, time as f64 / 1e6);
                place.samples += 1;
                if !self.early.remove(&alloc.id) {
                    place.alive = place.alive.saturating_add(alloc.samples);
                    let (samples, is_external) = (alloc.samples, alloc.source == Source::External);
                    self.external += if is_external { samples } else { 0 };
                    self.alive.insert(alloc.id, Alive { place: number, samples, is_external });
                }
            }
            Event::Collect { id, .. } => match self.alive.remove(&id) {
                Some(Alive { place, samples, is_external }) => {
                    if let Some(place) = self.list.get_mut(place as usize) {
                        place.alive = place.alive.saturating_sub(samples);
                    }
                    self.external -= if is_external { samples } else { 0 };
                }
                None if self.early.len() < MOST_EARLY => {
                    self.early.insert(id);
                }
                None => {}
            },
            Event::Promote { .. } => {}
        }
    }

    /// The site of a stack.
    fn place(&mut self, stack: &[FrameId], frames: &Frames) -> u32 {
        let mut innermost = None;
        for frame in stack.iter().rev() {
            let site = self.site(*frame, frames);
            if !site.is_standard {
                return site.place;
            }
            innermost = innermost.or(Some(site.place));
        }
        innermost.unwrap_or_else(|| self.intern(Line::Unknown, || "[no stack]".to_owned()))
    }

    fn site(&mut self, frame: FrameId, frames: &Frames) -> FrameSite {
        if let Some(Some(known)) = self.of_frames.get(frame.index()) {
            return *known;
        }
        let names = frames.names();
        let is_standard = |location: &TraceLocation| {
            is_library(&names.text(location.function), &names.text(location.file))
        };
        let locations = frames.locations(frame);
        // The outermost location comes first; functions inlined into each other are one frame. C functions
        // have no line.
        let own =
            locations.iter().rev().find(|location| location.line > 0 && !is_standard(location));
        let site = match own.or(locations.last()) {
            Some(location) => {
                let (function, file) = (location.function, location.file);
                let line = Line::Of {
                    function: names.bytes(function).into(),
                    file: names.bytes(file).into(),
                    line: location.line,
                };
                let place = self.intern(line, || match location.line {
                    0 => written(&names.text(function)).into_owned(),
                    line => {
                        format!("{}  {}:{line}", written(&names.text(function)), names.text(file))
                    }
                });
                FrameSite { place, is_standard: own.is_none() }
            }
            None => {
                let code = frames.code(frame);
                let place = self.intern(Line::Code(code), || format!("[{code:#x}]"));
                FrameSite { place, is_standard: false }
            }
        };
        if !frames.is_announced(frame) {
            // It may be named later.
            return site;
        }
        if frame.index() >= self.of_frames.len() {
            self.of_frames.resize(frame.index() + 1, None);
        }
        if let Some(known) = self.of_frames.get_mut(frame.index()) {
            *known = Some(site);
        }
        site
    }

    fn intern(&mut self, line: Line, name: impl FnOnce() -> String) -> u32 {
        let list = &mut self.list;
        *self.by_line.entry(line).or_insert_with(|| {
            let name = name();
            list.push(Place { name, recent: 0.0, at: 0.0, alive: 0, samples: 0 });
            (list.len() - 1) as u32
        })
    }

    /// The top sites, by allocation rate and by live bytes.
    fn top(&self, most: usize, now: f64, rate: f64) -> Vec<Site> {
        // At the beginning the decaying sum has not reached its full window.
        let share = 1.0 - (-(now.max(0.1)) / SECONDS).exp();
        let bytes = WORD / rate;
        let sites = self.list.iter().map(|place| Site {
            name: place.name.clone(),
            rate: place.weight_at(now) * bytes / (SECONDS * share),
            live: place.alive as f64 * bytes,
            samples: place.samples,
        });
        let mut sites: Vec<Site> =
            sites.filter(|site| site.rate >= 1.0 || site.live > 0.0).collect();
        if sites.len() > 2 * most {
            sites.sort_by(|a, b| b.live.total_cmp(&a.live));
            let (kept, others) = sites.split_at_mut(most);
            others.sort_by(|a, b| b.rate.total_cmp(&a.rate));
            let both = kept.iter().chain(others.iter().take(most));
            sites = both.cloned().collect();
        }
        sites.sort_by(|a, b| b.rate.total_cmp(&a.rate).then(b.live.total_cmp(&a.live)));
        sites
    }
}

impl Place {
    /// The decayed weight of recent samples at a time.
    fn weight_at(&self, now: f64) -> f64 {
        let age = (now - self.at).max(0.0);
        self.recent * (-age / SECONDS).exp()
    }

    fn add(&mut self, samples: f64, at: f64) {
        // Another domain may report older events.
        let now = self.at.max(at);
        let late = (now - at).max(0.0);
        self.recent = self.weight_at(now) + samples * (-late / SECONDS).exp();
        self.at = now;
    }
}
