//! Live size over time: births and deaths replayed in order, in parallel pieces.
//!
//! A piece is replayed without knowing what is alive before it: its result is a sum, and the maximum that the
//! sum reached. Combined in order, the pieces give the result of one complete replay.

use bactrian_trace::Micros;

use super::bits::{Bits, WORD};
use super::columns::{Moment, with_spans};
use super::lives::{EVENTS_PER_MARK, Lives, PeakMoment};
use crate::parallel;
use crate::timeline::{Intervals, Samples};

/// A position between two events: the numbers of births and deaths before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    births: usize,
    deaths: usize,
}

impl Place {
    fn events(self) -> usize {
        self.births + self.deaths
    }
}

/// The result of replaying a piece. Samples are relative to what is alive at its start.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    change: i64,
    /// The maximum, at least zero.
    max: i64,
    /// The position of the maximum, unless it is the start.
    highest: Option<PeakMoment>,
    allocated: u64,
}

/// The live size, piece after piece.
#[derive(Default)]
struct Replay {
    live: i64,
    peak: Option<PeakMoment>,
}

impl Replay {
    /// Advances to the end of a piece, and returns the maximum within it.
    fn go_on(&mut self, piece: &Piece) -> u64 {
        let max = (self.live + piece.max).max(0) as u64;
        if max > self.peak.map_or(0, |peak| peak.samples)
            && let Some(highest) = piece.highest
        {
            self.peak = Some(PeakMoment { samples: max, ..highest });
        }
        self.live += piece.change;
        max
    }

    fn live(&self) -> u64 {
        self.live.max(0) as u64
    }
}

impl Lives {
    /// The moment at which the admitted objects together take most memory; None if there are none.
    pub fn find_peak(&self, admitted: &Bits) -> Option<PeakMoment> {
        let mut replay = Replay::default();
        for piece in self.pieces(self.marks().collect(), admitted) {
            replay.go_on(&piece);
        }
        replay.peak
    }

    /// Live and allocated samples in each interval, and the peak of the whole trace.
    pub fn samples_in(
        &self,
        intervals: Intervals,
        admitted: &Bits,
    ) -> (Vec<Samples>, Option<PeakMoment>) {
        let begin = self.place(intervals.begin());
        let inner = (0..intervals.count - 1).map(|at| self.place(intervals.end(at)));
        let after = intervals.after().map_or(self.end(), |after| self.place(after));
        let ends: Vec<_> = inner.chain([after]).collect();
        let mut places: Vec<_> = self.marks().chain([begin]).chain(ends.iter().copied()).collect();
        places.sort_unstable_by_key(|place| place.events());
        places.dedup();
        let pieces = self.pieces(places.clone(), admitted);
        let mut samples = vec![Samples::default(); intervals.count];
        let mut replay = Replay::default();
        let mut pieces = places.iter().zip(pieces).peekable();
        let mut next = |replay: &mut Replay, before: Place| {
            let (_, piece) = pieces.next_if(|(start, _)| start.events() < before.events())?;
            Some((replay.go_on(&piece), piece.allocated))
        };
        while next(&mut replay, begin).is_some() {}
        for (samples, end) in samples.iter_mut().zip(ends) {
            samples.max = replay.live();
            while let Some((max, allocated)) = next(&mut replay, end) {
                samples.max = samples.max.max(max);
                samples.allocated = samples.allocated.saturating_add(allocated);
            }
            samples.live = replay.live();
        }
        while next(&mut replay, self.end()).is_some() {}
        (samples, replay.peak)
    }

    fn end(&self) -> Place {
        Place { births: self.len(), deaths: self.deaths.len() }
    }

    /// The position before all events at or after this time.
    fn place(&self, time: Micros) -> Place {
        with_spans!(&self.times, spans => Place {
            births: spans.born.partition_point(|born| born.micros() < time),
            deaths: self.deaths.partition_point(|&dead| spans.died[dead as usize].micros() < time),
        })
    }

    /// Positions at small distances, including the first.
    fn marks(&self) -> impl Iterator<Item = Place> + '_ {
        self.births_before.iter().enumerate().map(|(mark, &births)| {
            let births = births as usize;
            Place { births, deaths: mark * EVENTS_PER_MARK - births }
        })
    }

    /// Replays the events between each position and the next; after the last, all the rest.
    fn pieces(&self, places: Vec<Place>, admitted: &Bits) -> Vec<Piece> {
        let ends = places.iter().skip(1).copied().chain([self.end()]);
        let spans: Vec<_> = places.iter().copied().zip(ends).collect();
        let replay = match admitted.count() < self.len() / 8 {
            true => Lives::replay::<true>,
            false => Lives::replay::<false>,
        };
        parallel::map(&spans, |&(start, end)| replay(self, start, end, admitted))
    }

    /// The samples of an object, 0 if it is not admitted. `FEW` optimises for few admitted objects by testing
    /// first; otherwise loading unconditionally is faster.
    #[inline]
    fn samples_if<const FEW: bool>(&self, number: usize, admitted: &Bits) -> u64 {
        match FEW {
            true if !admitted.get(number) => 0,
            true => self.samples.get(number),
            false => self.samples.get(number) * u64::from(admitted.get(number)),
        }
    }

    fn replay<const FEW: bool>(&self, start: Place, end: Place, admitted: &Bits) -> Piece {
        let Place { mut births, mut deaths } = start;
        let mut event = start.events();
        let end = end.events();
        let mut piece = Piece::default();
        while event < end {
            // Events come in runs of births, or of deaths after a collection.
            let left = (WORD - event % WORD).min(end - event);
            let word = self.events.words()[event / WORD] >> (event % WORD);
            let run = (word.trailing_ones() as usize).min(left);
            if run > 0 {
                let mut last = None;
                for number in births..births + run {
                    let samples = self.samples_if::<FEW>(number, admitted);
                    piece.change += samples as i64;
                    piece.allocated += samples;
                    last = (samples > 0).then_some(number).or(last);
                }
                births += run;
                // Within a run of births, the live size only grows.
                if let Some(number) = last
                    && piece.change > piece.max
                {
                    piece.max = piece.change;
                    piece.highest = Some(PeakMoment { number, deaths, samples: 0 });
                }
            }
            let word = word.checked_shr(run as u32).unwrap_or(0);
            let dying = (word.trailing_zeros() as usize).min(left - run);
            for &number in &self.deaths[deaths..deaths + dying] {
                piece.change -= self.samples_if::<FEW>(number as usize, admitted) as i64;
            }
            deaths += dying;
            event += run + dying;
        }
        piece
    }
}
