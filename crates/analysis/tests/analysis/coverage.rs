//! How often the truth lies in the 95 % interval, for programs whose truth is known.

use bactrian_analysis::{By, Estimate, Filter, Measure, Of, top};
use bactrian_trace::Source;

use crate::programs::{Block, trace_of_blocks};

/// A portable deterministic generator (SplitMix64).
struct Lots(u64);

impl Lots {
    /// Uniform from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A program: numbers of blocks by length.
struct Program {
    blocks: &'static [(u64, u64)],
}

impl Program {
    fn bytes(&self) -> f64 {
        self.blocks.iter().map(|(count, length)| (count * (length + 1) * 8) as f64).sum()
    }

    fn objects(&self) -> f64 {
        self.blocks.iter().map(|(count, _)| *count as f64).sum()
    }

    /// What a recorder samples: each word, header included, with probability `rate`.
    fn sampled(&self, rate: f64, lots: &mut Lots) -> Vec<Block> {
        let mut seen = Vec::new();
        for &(count, length) in self.blocks {
            for _ in 0..count {
                let samples = (0..=length).filter(|_| lots.draw() < rate).count() as u64;
                if samples > 0 {
                    seen.push(Block { length, samples, source: Source::Minor, stack: vec![1] });
                }
            }
        }
        seen
    }
}

const PROGRAMS: &[Program] = &[
    Program { blocks: &[(700, 2)] },
    Program { blocks: &[(300, 1), (100, 9), (20, 60)] },
    Program { blocks: &[(5, 400)] },
    // Small blocks that are sampled rarely, beside large ones that are sampled often.
    Program { blocks: &[(40, 1), (4, 400)] },
];

#[test]
fn intervals_hold_the_truth_about_95_times_in_100() {
    // 950 in 1,000 are expected, give or take 7. Intervals from few samples are slightly too wide.
    const TRIALS: usize = 1_000;
    for (number, program) in PROGRAMS.iter().enumerate() {
        for rate in [0.01, 0.03, 0.1, 0.3, 0.5] {
            let mut lots = Lots(number as u64 * 1_000 + (rate * 100.0) as u64);
            let (mut bytes, mut objects) = (0, 0);
            for _ in 0..TRIALS {
                let trace = trace_of_blocks(rate, &program.sampled(rate, &mut lots));
                let holds = |measure, truth: f64| {
                    let Estimate { low, high, .. } =
                        top(&trace, &Filter::default(), By::Function, measure).all;
                    usize::from(low <= truth && truth <= high)
                };
                bytes += holds(Measure::bytes(Of::Allocated), program.bytes());
                objects += holds(Measure::objects(Of::Allocated), program.objects());
            }
            let share = bytes as f64 / TRIALS as f64;
            assert!((0.93..=0.98).contains(&share), "program {number} at {rate}: {share}");
            // Unseen blocks might be many small ones; where all are large, intervals are too wide.
            let share = objects as f64 / TRIALS as f64;
            assert!(share >= 0.94, "objects of program {number} at {rate}: {share}");
        }
    }
}
