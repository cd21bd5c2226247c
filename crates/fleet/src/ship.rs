//! Ships a trace, minute by minute, while it grows.
//!
//! The trace is the only memory. If this process is killed, or the store is unavailable, the next attempt reads the trace again up to
//! the position that the store shows as shipped, and continues. So nothing is shipped twice, and nothing in the trace is lost.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bactrian_trace::{Follower, Index, Input, Recorder, State};

use crate::layout::Run;
use crate::meter::Meter;
use crate::origin::Origin;
use crate::profiler::{Profile, Profiler, minute_of};
use crate::push::{KnownStacks, Pusher};
use crate::store::Store;
use crate::tables::Recorded;

/// The number of bytes read at once, less than a packet: a minute is cut no finer than that.
const PIECE: usize = 1 << 12;
/// The recorder writes its facts about the run near the beginning of the file.
const NOTE: usize = 16 << 10;
/// The agent writes what it has buffered after this time at most.
const DELAY: Duration = Duration::from_secs(2);
/// The maximum number of profiles that wait in memory while the store is unavailable. Later data waits in the trace.
const MOST_WAITING: usize = 16;

/// If a program cannot be seen running, its live memory is shipped for this many minutes after the last event. Then it counts as
/// killed together with its recorder.
const MOST_SILENT: u64 = 10;

/// Why shipping stopped.
#[derive(Debug)]
pub enum ShipError {
    /// The trace cannot be read. Another attempt would fail in the same way, unless the file changes.
    Trace(String),
    /// The store cannot be read or written. It may be available later.
    Store(io::Error),
}

impl fmt::Display for ShipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShipError::Trace(what) => f.write_str(what),
            ShipError::Store(error) => write!(f, "the store: {error}"),
        }
    }
}

impl std::error::Error for ShipError {}

/// A trace that cannot be read.
fn unreadable(error: impl fmt::Display) -> ShipError {
    ShipError::Trace(error.to_string())
}

/// The result of looking at a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Profiles that were put into the store.
    pub profiles: usize,
    /// Whether the program has ended and everything was shipped.
    pub is_all: bool,
}

/// A trace that is being shipped.
pub struct Shipper {
    path: PathBuf,
    file: File,
    at: u64,
    profiler: Profiler,
    store: Arc<dyn Store>,
    origin: Origin,
    run: Option<Run>,
    /// The offset up to which an earlier process shipped it: this part is read, but not shipped again.
    skip: u64,
    /// The stable position up to which it is shipped.
    told: u64,
    /// The minute that is being counted.
    minute: Option<u64>,
    /// The minute in which new data was last read.
    heard: u64,
    /// Reads the runtime's counters, if the program runs on this machine.
    meter: Option<Meter>,
    waiting: VecDeque<Profile>,
    /// The servers that profiles are pushed to, and the stacks of this run for them.
    push: Option<(Arc<Pusher>, KnownStacks)>,
    buffer: Vec<u8>,
}

impl Shipper {
    /// Opens the trace at a path.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, store: Arc<dyn Store>, origin: Origin) -> io::Result<Shipper> {
        Ok(Shipper {
            path: path.to_owned(),
            file: File::open(path)?,
            at: 0,
            profiler: Profiler::default(),
            store,
            origin,
            run: None,
            skip: 0,
            told: 0,
            minute: None,
            heard: 0,
            meter: None,
            waiting: VecDeque::new(),
            push: None,
            buffer: vec![0; PIECE],
        })
    }

    /// Pushes everything that is put into the store to servers, too.
    #[must_use]
    pub fn pushing(self, pusher: Arc<Pusher>) -> Shipper {
        Shipper { push: Some((pusher, KnownStacks::default())), ..self }
    }

    /// The trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads new data, and puts minutes that have ended into the store.
    ///
    /// # Errors
    /// If it is not a trace, or the store is unavailable. In the latter case the next call tries again.
    pub fn poll(&mut self, now: SystemTime) -> Result<Shipped, ShipError> {
        let mut shipped = Shipped { profiles: self.send()?, is_all: false };
        if let Some(meter) = &mut self.meter {
            meter.look();
        }
        // Checked before the last piece is read, so that everything written until then is read.
        let has_ended = self.has_ended()? || self.is_abandoned(now);
        while self.waiting.len() < MOST_WAITING {
            let most = match self.skip.checked_sub(self.at) {
                Some(left @ 1..) => PIECE.min(usize::try_from(left).unwrap_or(PIECE)),
                _ => PIECE,
            };
            let read = self.file.read_at(&mut self.buffer[..most], self.at);
            let count = read.map_err(unreadable)?;
            if count == 0 {
                self.pass_time(now, has_ended);
                shipped.profiles += self.send()?;
                shipped.is_all = has_ended && self.waiting.is_empty();
                return Ok(shipped);
            }
            self.at += count as u64;
            self.heard = minute_at(now);
            self.profiler.push(&self.buffer[..count]).map_err(unreadable)?;
            self.begin().map_err(ShipError::Store)?;
            if self.at <= self.skip {
                if self.at == self.skip {
                    let told = self.profiler.cut(0);
                    self.learn(&told);
                }
                continue;
            }
            let Some(minute) = self.profiler.minute() else { continue };
            let counted = *self.minute.get_or_insert(minute);
            if minute > counted {
                self.cut(counted, now);
                self.minute = Some(minute);
                shipped.profiles += self.send()?;
            }
        }
        Ok(shipped)
    }

    /// Whether the file is still at its path: another run may have replaced it, or it may have been deleted.
    pub fn is_in_place(&self) -> bool {
        let identity = |about: &Metadata| (about.dev(), about.ino());
        let (here, open) = (fs::metadata(&self.path), self.file.metadata());
        here.ok().zip(open.ok()).is_some_and(|(here, open)| identity(&here) == identity(&open))
    }

    /// Whether nobody seems to write the trace any more, although it does not say that the program has ended: both the program and its
    /// recorder were killed. If something is written after all, the file has changed, and shipping it continues.
    fn is_abandoned(&self, now: SystemTime) -> bool {
        let is_silent = self.run.is_some() && minute_at(now) > self.heard + MOST_SILENT;
        !self.is_seen() && (is_silent || !self.is_in_place())
    }

    /// Whether the program can be seen running.
    fn is_seen(&self) -> bool {
        self.meter.as_ref().is_some_and(Meter::is_running)
    }

    /// Finds out which run the trace belongs to, and how much of it the store already has.
    fn begin(&mut self) -> io::Result<()> {
        let (None, Some(info)) = (&self.run, self.profiler.info()) else { return Ok(()) };
        let host = match self.origin.host.is_empty() {
            true => String::from_utf8_lossy(&info.host).into_owned(),
            false => self.origin.host.clone(),
        };
        let run = Run { host, pid: info.pid, start: info.start };
        self.origin.complete(Path::new(&*String::from_utf8_lossy(&info.executable)));
        if let Some((minute, end)) = run.last_in(&*self.store)? {
            let skip = self.offset_of(end)?;
            if skip < self.at {
                // It is within the first piece: read again from the start, in smaller steps.
                (self.profiler, self.at) = (Profiler::default(), 0);
            }
            (self.skip, self.told, self.minute) = (skip, end, Some(minute + 1));
        }
        self.meter = Meter::of(run.pid, run.start);
        if let Some(meter) = &mut self.meter {
            meter.look();
        }
        self.run = Some(run);
        Ok(())
    }

    /// The offset in the file of a stable position.
    fn offset_of(&self, stable: u64) -> io::Result<u64> {
        let input = Input::map(&self.file)?;
        Ok(Index::skim(&input).map_or(0, |index| index.offset_of(stable)))
    }

    /// Ends the current minute when its time has passed, even without events, since live memory stays live. The last minute
    /// ends with the program.
    fn pass_time(&mut self, time: SystemTime, has_ended: bool) {
        let now = minute_at(time);
        let Some(counted) = self.minute else { return };
        let is_news = self.profiler.end() > self.told;
        let is_over = if has_ended { is_news } else { now > counted };
        if is_over && !self.profiler.is_empty() {
            self.cut(counted, time);
            self.minute = Some(now.max(counted + 1));
        }
    }

    fn cut(&mut self, minute: u64, now: SystemTime) {
        let mut profile = self.profiler.cut(minute);
        self.told = profile.end;
        self.learn(&profile);
        // The counters are those of now, not of a minute long ago.
        if let Some(meter) = self.meter.as_mut().filter(|_| minute_at(now) <= minute + 1) {
            profile.runtime = meter.take();
        }
        self.waiting.push_back(profile);
    }

    /// Keeps new stacks, since pushed profiles have whole stacks instead of ids.
    fn learn(&mut self, profile: &Profile) {
        if let Some((_, stacks)) = &mut self.push {
            stacks.learn(profile, &self.origin);
        }
    }

    /// Puts waiting profiles into the store.
    fn send(&mut self) -> Result<usize, ShipError> {
        let (Some(run), Some(info)) = (&self.run, self.profiler.info()) else { return Ok(0) };
        let recorder = Recorder::parse(&info.context);
        let recorded = Recorded {
            rate: info.sample_rate,
            ocaml: recorder.map(|it| it.ocaml),
            trace: std::path::absolute(&self.path).ok(),
        };
        let mut sent = 0;
        while let Some(profile) = self.waiting.front() {
            profile.put(&*self.store, run, &self.origin, &recorded).map_err(ShipError::Store)?;
            if let Some((pusher, stacks)) = &self.push {
                pusher.offer(profile, run, &self.origin, recorded.rate, stacks);
            }
            self.waiting.pop_front();
            sent += 1;
        }
        Ok(sent)
    }

    /// Whether the recorder has noted that the program has ended. False while the note cannot be read yet.
    fn has_ended(&self) -> Result<bool, ShipError> {
        let mut bytes = vec![0; NOTE];
        let count = self.file.read_at(&mut bytes, 0).map_err(unreadable)?;
        let mut beginning = Follower::new();
        beginning.push(&bytes[..count], |_, _| ()).map_err(unreadable)?;
        let Some(info) = beginning.info() else { return Ok(false) };
        // Other writers leave no such note: their traces count as complete.
        let recorder = Recorder::parse(&info.context);
        Ok(recorder.is_none_or(|recorder| recorder.state != State::Running))
    }
}

/// The minute up to which everything is written by now.
fn minute_at(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    minute_of(since.saturating_sub(DELAY).as_micros() as u64)
}
