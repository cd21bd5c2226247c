//! Whether a number grows steadily.
//!
//! The last minutes are cut into equal pieces, of each of which the smallest value counts: what a collection leaves, under
//! the saw teeth of what it will take. A number grows if of nearly all pairs of pieces the later one is larger, if that
//! comes to something, and if it still does so in the later half.

use bactrian_live::{Database, Series};

/// How a number grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// When it was first looked at.
    pub since: u64,
    /// Until when.
    pub until: u64,
    /// By how much each second.
    pub per_second: f64,
    /// What it came to, without saw teeth.
    pub level: f64,
}

const SECOND: u64 = 1_000_000_000;
/// What is looked at, at most and at least.
const LONGEST: u64 = 300 * SECOND;
const SHORTEST: u64 = 60 * SECOND;
const PIECES: u64 = 24;
const SAMPLES_PER_PIECE: u64 = 8;
/// Of all pairs, so many more must rise than fall.
const RISING: f64 = 0.75;
const STILL_RISING: f64 = 0.5;
/// The later half must have so much of the speed of the whole.
const STILL_FAST: f64 = 0.4;
/// It must grow by such a part of what it was.
const LEAST_PART: f64 = 0.1;

/// How a number of an observer grows, if it does, by at least `least` in what is looked at.
pub fn growth(
    database: &Database,
    series: &Series,
    at: u64,
    least: f64,
    number: impl Fn(&bactrian_live::Value) -> Option<f64>,
) -> Option<Growth> {
    growth_over(SHORTEST, database, series, at, least, number)
}

/// The same, if so much time is known at least.
pub fn growth_over(
    shortest: u64,
    database: &Database,
    series: &Series,
    at: u64,
    least: f64,
    number: impl Fn(&bactrian_live::Value) -> Option<f64>,
) -> Option<Growth> {
    let first = series.values().next()?.0.max(database.first());
    let longest = if shortest < SHORTEST { shortest } else { LONGEST };
    let since = at.saturating_sub(longest).max(first);
    if at.saturating_sub(since) < shortest {
        return None;
    }
    let floors = floors(since, at, |time| series.at(time).and_then(|(_, value)| number(value)))?;
    let later = &floors[floors.len() / 2..];
    if rising(&floors) < RISING || rising(later) < STILL_RISING {
        return None;
    }
    let piece = (at - since) as f64 / PIECES as f64 / SECOND as f64;
    let (whole, half) = (slope(&floors), slope(later));
    let grown = whole * (floors.len() - 1) as f64;
    let level = *floors.last()?;
    let is_much = grown >= least && grown >= LEAST_PART * (level - grown).max(0.0);
    (is_much && half >= STILL_FAST * whole).then(|| Growth {
        since,
        until: at,
        per_second: whole / piece,
        level,
    })
}

/// The smallest value of each piece.
fn floors(since: u64, at: u64, value: impl Fn(u64) -> Option<f64>) -> Option<Vec<f64>> {
    let span = at - since;
    let count = PIECES * SAMPLES_PER_PIECE;
    let moment = |number: u64| {
        since + (u128::from(span) * u128::from(number + 1) / u128::from(count)) as u64
    };
    let piece = |piece: u64| {
        let samples = (0..SAMPLES_PER_PIECE)
            .filter_map(|part| value(moment(piece * SAMPLES_PER_PIECE + part)));
        samples.reduce(f64::min)
    };
    (0..PIECES).map(piece).collect()
}

/// How many more of all pairs rise than fall, as a part of all.
fn rising(values: &[f64]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0_f64);
    for (position, earlier) in values.iter().enumerate() {
        for later in &values[position + 1..] {
            pairs += 1.0;
            sum += match later.total_cmp(earlier) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.0,
                std::cmp::Ordering::Less => -1.0,
            };
        }
    }
    sum / pairs.max(1.0)
}

/// The middle of the slopes of all pairs: a few odd values do not move it.
fn slope(values: &[f64]) -> f64 {
    let mut slopes = Vec::new();
    for (position, earlier) in values.iter().enumerate() {
        for (steps, later) in values[position + 1..].iter().enumerate() {
            slopes.push((later - earlier) / (steps + 1) as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}
