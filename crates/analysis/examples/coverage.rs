//! Measures how often the truth lies in the 95 % confidence intervals, on exact traces of real programs:
//! `cargo xtask bench coverage`.
//!
//! An exact trace contains the truth. Samples are drawn from it repeatedly, as a recorder would draw them,
//! and each resulting interval is compared with the truth, for every measure and every grouping. Sites
//! without samples have an interval too: an upper bound.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to who runs it")]

use std::collections::HashMap;
use std::path::Path;

use bactrian_analysis::{
    By, Changes, Estimate, Filter, Label, Measure, Of, Top, TraceFile, rewrite, top,
};

/// The approximate number of samples to draw.
const SAMPLES: [f64; 3] = [300.0, 3_000.0, 30_000.0];
/// How often they are drawn.
const TRIALS: u64 = 20;
const BYS: [By; 6] = [By::Site, By::Instruction, By::Line, By::Function, By::File, By::Module];
const OFS: [Of; 4] = [Of::Allocated, Of::LiveAtEnd, Of::LiveAtPeak, Of::Promoted];
/// Sites with less than this share of the total are counted separately, because nobody looks at them.
const LARGE: f64 = 0.001;

/// The number of intervals, and of those that contain the truth.
#[derive(Clone, Copy, Default)]
struct IntervalCount {
    all: u64,
    held: u64,
}

impl IntervalCount {
    fn count(&mut self, truth: f64, told: &Estimate) {
        // Both are sums of floats, added in a different order.
        let slack = truth.abs() * 1e-9;
        self.all += 1;
        self.held += u64::from(told.low <= truth + slack && truth - slack <= told.high);
    }

    fn add(&mut self, other: IntervalCount) {
        self.all += other.all;
        self.held += other.held;
    }

    fn percent(self) -> String {
        match self.all {
            0 => String::new(),
            all => format!("{:.1}", self.held as f64 / all as f64 * 100.0),
        }
    }
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let measures: Vec<Measure> =
        OFS.iter().flat_map(|&of| [Measure::bytes(of), Measure::objects(of)]).collect();
    let titles: Vec<String> = measures.iter().map(|measure| measure.long_title()).collect();
    println!("| program | samples | {} |", titles.join(" | "));
    println!("|---|--:|{}", "--:|".repeat(titles.len()));
    let mut by_grouping = HashMap::new();
    for path in &paths {
        let trace = match TraceFile::open(Path::new(path)) {
            Ok(trace) if trace.info().sample_rate >= 1.0 => trace,
            Ok(_) => return eprintln!("{path}: not exact; bactrian record --exact makes one"),
            Err(error) => return eprintln!("{path}: {error}"),
        };
        let words = of(&trace, By::File, Measure::bytes(Of::Allocated)).all;
        let name = Path::new(path)
            .file_stem()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let truths: Vec<Vec<Top>> =
            measures.iter().map(|&measure| BYS.map(|by| of(&trace, by, measure)).into()).collect();
        for samples in SAMPLES {
            let rate = samples / (words.value / 8.0);
            if rate < 0.5 {
                let cells = tried(&trace, rate, &truths, &mut by_grouping);
                let cells = cells
                    .iter()
                    .map(|[all, large]| format!("{} ({})", all.percent(), large.percent()));
                println!("| {name} | {samples} | {} |", cells.collect::<Vec<_>>().join(" | "));
            }
        }
    }
    println!("\n| grouping | % of intervals that hold |\n|---|--:|");
    for by in BYS {
        let held = by_grouping.get(by.title()).copied().unwrap_or_default();
        println!("| {} | {} |", by.title(), IntervalCount::percent(held));
    }
}

fn of(trace: &TraceFile, by: By, measure: Measure) -> Top {
    top(trace, &Filter::default(), by, measure)
}

/// Intervals of some trials, by measure: all of them, and those of large sites.
fn tried(
    trace: &TraceFile,
    rate: f64,
    truths: &[Vec<Top>],
    by_grouping: &mut HashMap<&'static str, IntervalCount>,
) -> Vec<[IntervalCount; 2]> {
    let mut cells = vec![[IntervalCount::default(); 2]; truths.len()];
    for seed in 1..=TRIALS {
        let changes = Changes { subsample: Some((rate, seed)), ..Changes::default() };
        let mut bytes = Vec::new();
        let written = rewrite(trace, &changes, &mut bytes);
        let Some(sampled) = written.ok().and_then(|_| TraceFile::new(bytes.into()).ok()) else {
            eprintln!("samples cannot be drawn");
            return cells;
        };
        for (cell, truths) in cells.iter_mut().zip(truths) {
            for truth in truths {
                let [all, large] = compare(truth, &of(&sampled, truth.by, truth.measure));
                by_grouping.entry(truth.by.title()).or_default().add(all);
                cell[0].add(all);
                cell[1].add(large);
            }
        }
    }
    cells
}

/// Compares reported intervals with the truth: for all sites, and for large ones.
fn compare(truth: &Top, told: &Top) -> [IntervalCount; 2] {
    let key = |label: &Label| format!("{label:?}");
    let rows: HashMap<String, _> = told.rows.iter().map(|row| (key(&row.label), row)).collect();
    let (mut all, mut large) = (IntervalCount::default(), IntervalCount::default());
    for row in &truth.rows {
        let found = rows.get(&key(&row.label));
        for (truth_of, told_of) in [
            (row.own.value, found.map_or(&told.none, |found| &found.own)),
            (row.total.value, found.map_or(&told.none, |found| &found.total)),
        ] {
            // A value that is certainly zero is no estimate.
            if truth_of > 0.0 {
                all.count(truth_of, told_of);
                if truth_of >= LARGE * truth.all.value {
                    large.count(truth_of, told_of);
                }
            }
        }
    }
    [all, large]
}
