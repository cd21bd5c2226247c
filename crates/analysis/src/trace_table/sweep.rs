//! What is alive over time: births and deaths replayed in their order, in pieces, on all processors.
//!
//! A piece is replayed without knowing what is alive before it: it has a sum, and the highest that the sum ever was. Put
//! together in order, the pieces give what one replay of everything would.

use bactrian_trace::Micros;

use super::bits::{Bits, WORD};
use super::columns::{Moment, with_spans};
use super::lives::{EVENTS_PER_MARK, Lives, PeakMoment};
use crate::parallel;
use crate::timeline::{Intervals, Samples};

/// A place between two events: how many births and deaths lie before it.
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

/// A piece of the events, replayed. Samples are counted from what is alive where it begins.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    change: i64,
    /// The highest, at least zero.
    max: i64,
    /// Where that was, unless it is the beginning.
    highest: Option<PeakMoment>,
    allocated: u64,
}

/// What is alive, piece after piece.
#[derive(Default)]
struct Replay {
    live: i64,
    peak: Option<PeakMoment>,
}

impl Replay {
    /// Goes on to the end of a piece; gives the most that was alive in it.
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
    /// When the admitted objects together take most memory; `None` if there are none.
    pub fn find_peak(&self, admitted: &Bits) -> Option<PeakMoment> {
        let mut replay = Replay::default();
        for piece in self.pieces(self.marks().collect(), admitted) {
            replay.go_on(&piece);
        }
        replay.peak
    }

    /// What is alive and allocated in each interval, and the peak of the whole.
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

    /// The place before all events of this moment or later.
    fn place(&self, time: Micros) -> Place {
        with_spans!(&self.times, spans => Place {
            births: spans.born.partition_point(|born| born.micros() < time),
            deaths: self.deaths.partition_point(|&dead| spans.died[dead as usize].micros() < time),
        })
    }

    /// Places that are not far from each other, the first of all among them.
    fn marks(&self) -> impl Iterator<Item = Place> + '_ {
        self.births_before.iter().enumerate().map(|(mark, &births)| {
            let births = births as usize;
            Place { births, deaths: mark * EVENTS_PER_MARK - births }
        })
    }

    /// Replays what lies between each of these places and the next; after the last, all the rest.
    fn pieces(&self, places: Vec<Place>, admitted: &Bits) -> Vec<Piece> {
        let ends = places.iter().skip(1).copied().chain([self.end()]);
        let spans: Vec<_> = places.iter().copied().zip(ends).collect();
        let replay = match admitted.count() < self.len() / 8 {
            true => Lives::replay::<true>,
            false => Lives::replay::<false>,
        };
        parallel::map(&spans, |&(start, end)| replay(self, start, end, admitted))
    }

    /// The samples of an object if it is admitted. If few are, that is foreseen; otherwise it is quicker to look at all.
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
            // Events come in runs of births, or of deaths when a collector was there.
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
                // What is alive only grows in a run of births.
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
