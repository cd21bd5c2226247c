//! The ring buffers of OCaml 5's runtime_events, read while the program writes them.
//!
//! The file begins with a header that says where everything is. Each domain has a ring of words and two
//! positions in it, which only grow: the tail, up to which it is written, and the head, from which on its
//! contents are kept. The writer advances the head before it overwrites old words. So what is copied from a
//! ring is valid from the position of the head *after* the copy; what lies before it was lost, and is
//! counted.
//!
//! The file is read and not mapped: it belongs to a program that may truncate it at any time, and then a
//! mapping would crash us.
//!
//! A *pause* is the time in which a domain's program did not run: from the beginning to the end of an
//! outermost phase. After a loss all open phases are forgotten, so that no pause spans events that were not
//! seen.

use std::collections::VecDeque;

use bactrian_live::Histogram;
use bactrian_ocaml::Version;
use bactrian_ocaml::runtime_events::{EventTable, kind, lifecycle};

use super::Known;
use crate::memory::Bytes;

/// Words of the file's header.
const HEAD: usize = 8;
/// The only known version of the file format.
const FORMAT: u64 = 1;
/// The largest number that OCaml allows.
const MOST_DOMAINS: u64 = 4096;
/// An upper bound for the words of a ring, 64 times the default.
const LONGEST_RING: u64 = 1 << 22;
/// The number of words copied at a time.
const PIECE: u64 = 1 << 15;
/// How often a poll retries with newer contents if everything that it copied was overwritten meanwhile.
const MOST_ROUNDS: u32 = 8;
/// An upper bound for the nesting of phases.
const DEEPEST: usize = 64;
/// Pauses of at least this many nanoseconds are kept individually.
pub const LONG: u64 = 1_000_000;
/// How many of those are kept.
const KEPT: usize = 64;

/// The rings of one program.
pub struct Events {
    file: Box<dyn Bytes>,
    layout: Layout,
    table: &'static EventTable,
    rings: Vec<Ring>,
    /// Whether everything ever written is of interest; otherwise what was lost before we came does not count.
    from_start: bool,
    words: Vec<u64>,
    seen: Seen,
}

/// What was seen in the rings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Pauses of the program in nanoseconds, in all domains.
    pub pauses: Histogram,
    /// The last long pauses, oldest first.
    pub long: VecDeque<Pause>,
    /// Phases, by index in the table: their number, and their total nanoseconds, including nested phases.
    pub phases: Vec<(u64, u64)>,
    /// Counters, by index in the table: the sum, and the last value.
    pub counters: Vec<(u64, u64)>,
    /// The number of events that were read.
    pub events: u64,
    /// The number of words of those events.
    pub words: u64,
    /// The number of words that were lost: overwritten before they were read.
    pub lost_words: u64,
    /// The numbers of domains that have started and ended.
    pub domains: (u64, u64),
}

/// A pause of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its start, in nanoseconds of the monotonic clock.
    pub begin: u64,
    /// Its duration in nanoseconds.
    pub nanos: u64,
    /// The domain.
    pub domain: u32,
    /// The runtime's phase.
    pub phase: &'static str,
}

impl Seen {
    /// An estimate of the number of lost events, from the average length of events.
    pub fn lost_events(&self) -> u64 {
        let lost = u128::from(self.lost_words);
        let per_event = u128::from(self.words.max(1));
        let events = (lost * u128::from(self.events.max(1))).div_ceil(per_event);
        u64::try_from(events.min(lost)).unwrap_or(u64::MAX)
    }
}

/// The layout of the file, from its header.
#[derive(Clone, Copy, Debug)]
struct Layout {
    domains: u64,
    header_bytes: u64,
    headers: u64,
    ring_words: u64,
    data: u64,
}

/// The state of reading one domain's ring.
#[derive(Clone, Debug, Default)]
struct Ring {
    is_met: bool,
    at: u64,
    /// Open phases, the outermost first, and their start times.
    open: Vec<(usize, u64)>,
}

/// An event.
struct Event<'a> {
    kind: u64,
    id: usize,
    time: u64,
    payload: &'a [u64],
}

impl Events {
    /// Reads the header of a file with the rings of this version. `from_start` says that the program has just
    /// been started.
    ///
    /// # Errors
    /// If it is not such a file, or the version is unknown.
    pub fn open(file: Box<dyn Bytes>, version: Version, from_start: bool) -> Known<Events> {
        let table = EventTable::of(version)
            .ok_or_else(|| format!("the runtime_events format of OCaml {version} is unknown"))?;
        let layout = Layout::read(&*file)?;
        let rings = vec![Ring::default(); layout.domains as usize];
        let seen = Seen {
            phases: vec![(0, 0); table.phases.len()],
            counters: vec![(0, 0); table.counters.len()],
            ..Seen::default()
        };
        Ok(Events { file, layout, table, rings, from_start, words: Vec::new(), seen })
    }

    /// The meaning of the indices of phases and counters.
    pub fn table(&self) -> &'static EventTable {
        self.table
    }

    /// Everything seen so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// If the file is shorter than before.
    pub fn poll(&mut self) -> Known<&Seen> {
        let Layout { domains, header_bytes, headers, .. } = self.layout;
        let mut bytes = vec![0; (domains * header_bytes) as usize];
        if !self.file.read(headers, &mut bytes) {
            return Err(GONE.to_owned());
        }
        let positions = bytes.chunks_exact(header_bytes as usize).map(|header| {
            let (words, _) = header.as_chunks::<8>();
            let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
            (word(0), word(1))
        });
        for (domain, (head, tail)) in positions.enumerate().collect::<Vec<_>>() {
            self.ring(domain, head, tail)?;
        }
        Ok(&self.seen)
    }

    /// Reads one ring up to its tail. If the writer has gone all the way around while we copied, as on an
    /// overloaded machine, nothing of what was there is left; then newer contents are read.
    fn ring(&mut self, domain: usize, head: u64, tail: u64) -> Known<()> {
        let (mut tail, mut rounds) = (tail, 0);
        let Some(ring) = self.rings.get_mut(domain) else { return Ok(()) };
        // Both positions are read while they are being written.
        let head = head.max(tail.saturating_sub(self.layout.ring_words));
        if !ring.is_met && tail > 0 {
            ring.is_met = true;
            ring.at = if self.from_start { 0 } else { head };
        }
        self.skip_to(domain, head);
        loop {
            let Some(at) = self.rings.get(domain).map(|ring| ring.at).filter(|at| *at < tail)
            else {
                return Ok(());
            };
            let end = tail.min(at.saturating_add(PIECE));
            self.copy(domain, at..end)?;
            let (head, newest) = self.positions(domain)?;
            self.skip_to(domain, head.min(end));
            self.read_piece(domain, at, end == tail);
            if head >= end && rounds < MOST_ROUNDS {
                rounds += 1;
                // Whatever the header says, a ring does not keep more than its length.
                let head = head.max(newest.saturating_sub(self.layout.ring_words));
                tail = newest.max(head);
                self.skip_to(domain, head);
            }
        }
    }

    /// Skips words that were overwritten, and counts them as lost.
    fn skip_to(&mut self, domain: usize, head: u64) {
        if let Some(ring) = self.rings.get_mut(domain)
            && head > ring.at
        {
            self.seen.lost_words = self.seen.lost_words.saturating_add(head - ring.at);
            ring.at = head;
            // A phase that ends next may have begun in what was lost, and an open phase may have ended there.
            ring.open.clear();
        }
    }

    /// The current head and tail of a ring.
    fn positions(&self, domain: usize) -> Known<(u64, u64)> {
        let at = self.layout.headers + domain as u64 * self.layout.header_bytes;
        let mut bytes = [0; 16];
        if !self.file.read(at, &mut bytes) {
            return Err(GONE.to_owned());
        }
        let [head, tail] = [0, 1].map(|word| {
            bytes.as_chunks::<8>().0.get(word).map_or(0, |word| u64::from_le_bytes(*word))
        });
        Ok((head, tail))
    }

    /// Copies the words of a ring between two positions.
    fn copy(&mut self, domain: usize, range: std::ops::Range<u64>) -> Known<()> {
        let Layout { ring_words, data, .. } = self.layout;
        let start = data + domain as u64 * ring_words * 8;
        self.words.clear();
        let mut at = range.start;
        let mut bytes = vec![0; ((range.end - range.start) * 8) as usize];
        while at < range.end {
            let offset = at % ring_words;
            let count = (range.end - at).min(ring_words - offset);
            let bytes = bytes.get_mut(..(count * 8) as usize).unwrap_or_default();
            if !self.file.read(start + offset * 8, bytes) {
                return Err(GONE.to_owned());
            }
            self.words
                .extend(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            at += count;
        }
        Ok(())
    }

    /// Processes the events of the piece that was copied from `start` on, beginning at the ring's position.
    fn read_piece(&mut self, domain: usize, start: u64, is_last: bool) {
        let Events { rings, words, seen, table, .. } = self;
        let Some(ring) = rings.get_mut(domain) else { return };
        let end = start + words.len() as u64;
        while ring.at < end {
            let rest = words.get((ring.at - start) as usize..).unwrap_or_default();
            let Some(&word) = rest.first() else { return };
            let length = word >> 54;
            let event = rest.get(..length as usize).filter(|event| !event.is_empty());
            let Some(event) = event else {
                if is_last || length == 0 {
                    // No event ends there: this is not a ring, or one that another process writes.
                    seen.lost_words = seen.lost_words.saturating_add(end - ring.at);
                    ring.at = end;
                    ring.open.clear();
                }
                return;
            };
            ring.at += length;
            let (is_user, kind) = (word >> 53 & 1 == 1, word >> 49 & 15);
            // Skips padding at the end of a ring, and the program's own events.
            if let [_, time, payload @ ..] = event
                && kind != 0
                && !is_user
            {
                seen.events += 1;
                seen.words += length;
                let id = (word >> 36 & 0x1fff) as usize;
                seen.take(table, domain as u32, ring, &Event { kind, id, time: *time, payload });
            }
        }
    }
}

const GONE: &str = "its runtime_events file was truncated";

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl Seen {
    fn take(
        &mut self,
        table: &'static EventTable,
        domain: u32,
        ring: &mut Ring,
        event: &Event<'_>,
    ) {
        let Event { kind, id, time, payload } = *event;
        match kind {
            kind::BEGIN if ring.open.len() < DEEPEST => ring.open.push((id, time)),
            kind::END => self.end(table, domain, ring, id, time),
            kind::COUNTER => {
                if let (Some((sum, last)), Some(value)) =
                    (self.counters.get_mut(id), payload.first())
                {
                    *sum = sum.saturating_add(*value);
                    *last = *value;
                }
            }
            kind::LIFECYCLE => match id as u64 {
                lifecycle::DOMAIN_SPAWN => self.domains.0 += 1,
                lifecycle::DOMAIN_TERMINATE => {
                    self.domains.1 += 1;
                    ring.open.clear();
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Handles the end of a phase.
    fn end(
        &mut self,
        table: &'static EventTable,
        domain: u32,
        ring: &mut Ring,
        id: usize,
        time: u64,
    ) {
        // The phase began before we looked, or in what was lost.
        let Some(at) = ring.open.iter().rposition(|(open, _)| *open == id) else { return };
        let Some(&(_, begin)) = ring.open.get(at) else { return };
        ring.open.truncate(at);
        let Some(nanos) = time.checked_sub(begin) else { return };
        if let Some((count, sum)) = self.phases.get_mut(id) {
            *count += 1;
            *sum = sum.saturating_add(nanos);
        }
        let phase = table.phases.get(id).copied().unwrap_or("?");
        if at > 0 || !table.stops.contains(&phase) {
            return;
        }
        self.pauses.record(nanos);
        if nanos >= LONG {
            if self.long.len() == KEPT {
                self.long.pop_front();
            }
            self.long.push_back(Pause { begin, nanos, domain, phase });
        }
    }
}

impl Layout {
    fn read(file: &dyn Bytes) -> Known<Layout> {
        let mut bytes = [0; HEAD * 8];
        if !file.read(0, &mut bytes) {
            return Err("a runtime_events file that is shorter than its header".to_owned());
        }
        let mut words = [0; HEAD];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [format, domains, header_bytes, ring_bytes, ring_words, headers, data, _custom] = words;
        if format == 0 && domains == 0 {
            return Err("the program has not begun to write runtime_events yet".to_owned());
        }
        if format != FORMAT {
            return Err(format!("a runtime_events file of format {format}, not {FORMAT}"));
        }
        let layout = Layout { domains, header_bytes, headers, ring_words, data };
        let is_sound = (1..=MOST_DOMAINS).contains(&domains)
            && (16..=4096).contains(&header_bytes)
            && header_bytes % 8 == 0
            && ring_words.is_power_of_two()
            && ring_words <= LONGEST_RING
            && Some(ring_bytes) == ring_words.checked_mul(8);
        let end = |start: u64, each: u64| each.checked_mul(domains)?.checked_add(start);
        let ends = || Some((end(headers, header_bytes)?, end(data, ring_bytes)?));
        match ends().filter(|_| is_sound) {
            Some((headers, rings)) if headers.max(rings) <= file.length() => Ok(layout),
            _ => Err("a runtime_events file with an invalid header".to_owned()),
        }
    }
}
