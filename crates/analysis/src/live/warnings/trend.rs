//! Detects steady growth of a number.
//!
//! The last minutes are divided into equal pieces, each represented by its minimum: what a collection leaves,
//! below the sawtooth of garbage. A number grows if in nearly all pairs of pieces the later one is larger, if
//! the growth is significant, and if it continues in the later half.

use bactrian_live::{Database, Series};

/// The growth of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The start of the examined time, in nanoseconds.
    pub since: u64,
    /// The end of the examined time, in nanoseconds.
    pub until: u64,
    /// The growth per second.
    pub per_second: f64,
    /// The value at the end, without the sawtooth.
    pub level: f64,
}

const SECOND: u64 = 1_000_000_000;
/// The longest and shortest time that is examined.
const LONGEST: u64 = 300 * SECOND;
const SHORTEST: u64 = 60 * SECOND;
const PIECES: u64 = 24;
const SAMPLES_PER_PIECE: u64 = 8;
/// The excess of rising over falling pairs, as a fraction of all pairs, that is required: in the whole time
/// and in its later half.
const RISING: f64 = 0.75;
const STILL_RISING: f64 = 0.5;
/// The later half must have at least this fraction of the overall slope.
const STILL_FAST: f64 = 0.4;
/// The total growth must be at least this fraction of the initial value.
const LEAST_PART: f64 = 0.1;

/// The growth of an observer's number, if it grows by at least `least` in the examined time.
pub fn growth(
    database: &Database,
    series: &Series,
    at: u64,
    least: f64,
    number: impl Fn(&bactrian_live::Value) -> Option<f64>,
) -> Option<Growth> {
    growth_over(SHORTEST, database, series, at, least, number)
}

/// Likewise, if at least `shortest` nanoseconds are known.
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

/// The minimum of each piece.
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

/// The excess of rising over falling pairs, as a fraction of all pairs.
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

/// The median of the slopes of all pairs, which is robust against outliers.
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
