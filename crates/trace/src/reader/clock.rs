//! Times of events: 25 bits in the file, completed from the packet's header and kept in order.
//!
//! Recorders use the time of day, which can be set back while they run. Then a packet may end before it begins,
//! or begin before the end of the one before it. Such times are corrected to the least that a monotonic clock
//! would have shown: after a step back, the clock continues from where it was, and the shift is counted.

use crate::losses::Losses;
use crate::model::Micros;
use crate::packet::TIME_BITS;

const WRAP: u64 = 1 << TIME_BITS;

#[derive(Clone, Debug)]
pub(super) struct Clock {
    start: u64,
    /// The packet's times, as written.
    begin: u64,
    end: u64,
    /// The last event's time, as written.
    raw: u64,
    /// What is added to times as written.
    shift: u64,
}

impl Clock {
    pub fn new(start: u64) -> Clock {
        Clock { start, begin: start, end: start, raw: start, shift: 0 }
    }

    pub fn packet(&mut self, begin: u64, end: u64) {
        (self.begin, self.end) = (begin, end);
    }

    /// The time of an event whose time field is `low`.
    #[inline]
    pub fn event(&mut self, low: u32, losses: &mut Losses) -> Micros {
        // The first time not before the packet's that ends in these bits.
        let ahead = u64::from(low).wrapping_sub(self.begin) % WRAP;
        let mut raw = self.begin.wrapping_add(ahead);
        if raw < self.raw || raw > self.end {
            raw = self.mend(raw, losses);
        }
        self.raw = raw;
        Micros(raw.saturating_add(self.shift).saturating_sub(self.start))
    }

    /// Handles an event outside its packet or before the last event.
    #[cold]
    fn mend(&mut self, raw: u64, losses: &mut Losses) -> u64 {
        let raw = if self.end < self.begin {
            // The clock was set back during this packet, so a time field below the first may mean an earlier
            // time instead of a wrap. The candidate nearer to the last event is right.
            let earlier = raw.saturating_sub(WRAP);
            if self.raw.abs_diff(earlier) < self.raw.abs_diff(raw) { earlier } else { raw }
        } else {
            // Past the packet's end: the clock was set back later in this packet, to a time after its
            // beginning. The step is counted when an event shows it.
            raw
        };
        if raw < self.raw {
            let step = self.raw - raw;
            losses.clock_steps += 1;
            losses.clock_shift.0 = losses.clock_shift.0.saturating_add(step);
            self.shift = self.shift.saturating_add(step);
        }
        // No event is before the start, nor so late that its time does not fit.
        raw.clamp(self.start.saturating_sub(self.shift), u64::MAX - self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(t: u64) -> u32 {
        (t % WRAP) as u32
    }

    #[test]
    fn a_time_field_may_wrap_once_in_a_packet() {
        let start = WRAP * 5 - 10;
        let mut losses = Losses::default();
        let mut clock = Clock::new(start);
        clock.packet(start, start + 20_000_000);
        for t in [0, 5, 10, 1_000, 19_999_999] {
            assert_eq!(clock.event(low(start + t), &mut losses), Micros(t));
        }
        assert!(losses.is_clean());
    }

    #[test]
    fn event_clock_continues_after_being_set_back() {
        let start = WRAP * 5 + 20_000_000;
        let mut losses = Losses::default();
        let mut clock = Clock::new(start);
        // The clock is set back by 5 s in the middle of this packet ...
        clock.packet(start, start - 4_000_000);
        assert_eq!(clock.event(low(start), &mut losses), Micros(0));
        assert_eq!(clock.event(low(start - 5_000_000), &mut losses), Micros(0));
        assert_eq!(clock.event(low(start - 4_000_000), &mut losses), Micros(1_000_000));
        // ... and the next packet is in order again.
        clock.packet(start - 4_000_000, start);
        assert_eq!(clock.event(low(start - 3_000_000), &mut losses), Micros(2_000_000));
        assert_eq!((losses.clock_steps, losses.clock_shift), (1, Micros(5_000_000)));
    }
}
