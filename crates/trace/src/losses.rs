//! The account of what could not be read. Nothing is lost silently.

use crate::model::Micros;

/// The maximum number of incidents kept; further ones are only counted.
const MAX_INCIDENTS: usize = 50;

/// One thing that went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Byte offset in the file.
    pub offset: u64,
    /// What was found there.
    pub what: String,
}

/// What a trace file did not yield although it held it or should have held it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Packets that were cut or became unreadable before their end. What came before was used.
    pub packets_damaged: u64,
    /// Packets written by another process (a forked child) into the same file; not used.
    pub packets_foreign: u64,
    /// Breaks in the sequence of packets: something between two packets is missing.
    pub gaps: u64,
    /// Bytes in the file that could not be decoded.
    pub bytes_unread: u64,
    /// Bytes that a packet header announces and the file does not contain.
    pub bytes_missing: u64,
    /// Allocations that are lost, going by gaps in the numbering. Promotions and collections are not numbered:
    /// some of those were lost as well.
    pub allocations: u64,
    /// Stacks read just after a gap, whose outer frames may be wrong.
    pub stacks_doubtful: u64,
    /// Stacks that exceed the maximum depth.
    pub stacks_too_deep: u64,
    /// Packets whose check of the backtrace cache failed: frames near them may be wrong.
    pub cache_mismatches: u64,
    /// Frames that appear in stacks and whose names were lost.
    pub names_lost: u64,
    /// Location records that were out of step and could be repaired; their names may be wrong.
    pub names_repaired: u64,
    /// How often the recorder's clock went backwards. Later times were shifted to keep the order.
    pub clock_steps: u64,
    /// The total of these shifts.
    pub clock_shift: Micros,
    /// Stacks that the recorder itself cut for length, so that their innermost frames are unknown. This is how
    /// the trace was written, not damage.
    pub stacks_cut_by_recorder: u64,
    /// The first incidents, in the order they were found.
    pub incidents: Vec<Incident>,
}

impl Losses {
    /// All counters of damage.
    fn damage(&mut self) -> [&mut u64; 12] {
        // Destructured so that a new field cannot be forgotten here.
        let Losses {
            packets_damaged,
            packets_foreign,
            gaps,
            bytes_unread,
            bytes_missing,
            allocations,
            stacks_doubtful,
            stacks_too_deep,
            cache_mismatches,
            names_lost,
            names_repaired,
            clock_steps,
            clock_shift: _,
            stacks_cut_by_recorder: _,
            incidents: _,
        } = self;
        [
            packets_damaged,
            packets_foreign,
            gaps,
            bytes_unread,
            bytes_missing,
            allocations,
            stacks_doubtful,
            stacks_too_deep,
            cache_mismatches,
            names_lost,
            names_repaired,
            clock_steps,
        ]
    }

    /// Whether the file yielded everything that was put into it.
    pub fn is_clean(&self) -> bool {
        self.incidents.is_empty() && self.clone().damage().into_iter().all(|count| *count == 0)
    }

    /// Records an incident, up to a bounded number.
    pub(crate) fn incident(&mut self, offset: usize, what: impl FnOnce() -> String) {
        if self.incidents.len() < MAX_INCIDENTS {
            self.incidents.push(Incident { offset: offset as u64, what: what() });
        }
    }

    /// Adds another account to this one.
    pub fn add(&mut self, other: &Losses) {
        let mut other = other.clone();
        for (sum, count) in self.damage().into_iter().zip(other.damage()) {
            *sum = sum.saturating_add(*count);
        }
        self.clock_shift.0 = self.clock_shift.0.saturating_add(other.clock_shift.0);
        self.stacks_cut_by_recorder += other.stacks_cut_by_recorder;
        let room = MAX_INCIDENTS.saturating_sub(self.incidents.len());
        self.incidents.extend(other.incidents.into_iter().take(room));
    }

    /// The account as sentences, one for each kind of loss; empty if nothing was lost.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut say = |n: u64, one: &str, many: &str| match n {
            0 => {}
            1 => out.push(format!("1 {one}")),
            n => out.push(format!("{n} {many}")),
        };
        say(
            self.packets_damaged,
            "packet damaged (used up to the damage)",
            "packets damaged (used up to the damage)",
        );
        say(self.gaps, "gap between packets", "gaps between packets");
        say(self.bytes_unread, "byte not understood", "bytes not understood");
        say(self.bytes_missing, "byte missing from a packet", "bytes missing from packets");
        say(
            self.allocations,
            "sampled allocation lost (and what became of it)",
            "sampled allocations lost (and what became of them)",
        );
        say(
            self.packets_foreign,
            "packet of another process left out",
            "packets of other processes left out",
        );
        say(
            self.stacks_doubtful,
            "stack whose outer frames may be wrong",
            "stacks whose outer frames may be wrong",
        );
        say(self.stacks_too_deep, "stack too deep to hold", "stacks too deep to hold");
        say(
            self.cache_mismatches,
            "packet fails its cache check: frames may be wrong",
            "packets fail their cache check: frames may be wrong",
        );
        say(self.names_lost, "frame without its name", "frames without their names");
        say(
            self.names_repaired,
            "location record was damaged by its writer and repaired: its name may be wrong",
            "location records were damaged by their writer and repaired: names may be wrong",
        );
        let shift = format!("the clock went backwards; later times were shifted by {:.3} s", {
            self.clock_shift.seconds()
        });
        say(self.clock_steps, &format!("time {shift}"), &format!("times {shift} in all"));
        say(
            self.stacks_cut_by_recorder,
            "stack was truncated by the recorder: its innermost frames are unknown",
            "stacks were truncated by the recorder: their innermost frames are unknown",
        );
        out
    }
}
