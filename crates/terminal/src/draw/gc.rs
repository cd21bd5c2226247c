//! Pauses for garbage collection: their durations, and their share of the time.

use bactrian_analysis::live::numbers::{show, show_whole};
use bactrian_live::{Histogram, Unit, Value, names};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Scene, put, wrap};
use crate::layout::{below, right_of};
use crate::measure::{RECENT, recent};
use bactrian_analysis::units::show_share;

const LEFT: u16 = 36;

pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (look, database, at) = (scene.look, scene.database, scene.at());
    let area = below(area, 1);
    let pauses = database.named_at(names::PAUSES, at);
    let all = pauses.and_then(|series| match series.at(at) {
        Some((_, Value::Histogram(all))) => Some((series, all)),
        _ => None,
    });
    let Some((series, all)) = all else {
        let reason = match pauses.and_then(|series| series.at(at)) {
            Some((_, Value::Failed(reason))) => format!("  Pauses are unknown: {reason}"),
            _ => "  Pauses of this program are unknown.".to_owned(),
        };
        let lines = wrap(&reason, usize::from(area.width).saturating_sub(2), look);
        for (row, line) in (0..area.height).zip(lines) {
            put(buffer, area, row, &Line::styled(line, look.faint()));
        }
        return;
    };
    let recent = recent(series, at, RECENT).unwrap_or_default();
    let run = at.max(1);
    let lately = RECENT.min(at.saturating_sub(database.first())).max(1);
    percentiles(
        scene,
        (&recent, lately),
        (all, run),
        Rect { width: LEFT.min(area.width), ..area },
        buffer,
    );
    bars(scene, &recent, right_of(area, LEFT + 2), buffer);
}

fn percentiles(
    scene: &Scene<'_>,
    (recent, lately): (&Histogram, u64),
    (all, run): (&Histogram, u64),
    area: Rect,
    buffer: &mut Buffer,
) {
    let look = scene.look;
    let mut row = 0;
    let mut write = |name: &str, one: String, other: String, style| {
        let line = format!("  {name:<10}{one:>11}{other:>12}");
        put(buffer, area, row, &Line::from(scene.span(&line, style)));
        row += 1;
    };
    let time = |histogram: &Histogram, percent| match histogram.count() {
        0 => "-".to_owned(),
        _ => show(Unit::Nanos, histogram.percentile(percent) as f64),
    };
    let plain = ratatui::style::Style::new();
    write("pauses", "last 60 s".to_owned(), "all".to_owned(), look.heading());
    for (name, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("longest", 100.0)] {
        write(name, time(recent, percent), time(all, percent), plain);
    }
    let share = |histogram: &Histogram, of: u64| show_share(histogram.sum() as f64 / of as f64);
    write("of time", share(recent, lately), share(all, run), plain);
    let (one, other) = (promoted(scene, Some(RECENT)), promoted(scene, None));
    write("promoted", one, other, plain);
    let count = |histogram: &Histogram| show_whole(histogram.count() as i64);
    write("count", count(recent), count(all), plain);
}

/// The fraction of allocated memory that was promoted.
fn promoted(scene: &Scene<'_>, over: Option<u64>) -> String {
    let (database, at) = (scene.database, scene.at());
    let grown = |name| {
        let series = database.named_at(name, at)?;
        let count = |time| match series.at(time) {
            Some((_, Value::Count(count))) => Some(*count as f64),
            _ => None,
        };
        let before = over.and_then(|over| count(at.saturating_sub(over).max(database.first())));
        Some(count(at)? - before.unwrap_or(0.0))
    };
    match (grown(names::PROMOTED), grown(names::ALLOCATED)) {
        (Some(promoted), Some(allocated)) if allocated > 0.0 => show_share(promoted / allocated),
        _ => "-".to_owned(),
    }
}

/// The number of pauses by duration, the shortest first.
fn bars(scene: &Scene<'_>, recent: &Histogram, area: Rect, buffer: &mut Buffer) {
    let look = scene.look;
    if area.height < 3 || area.width < 24 || recent.count() == 0 {
        return;
    }
    put(buffer, area, 0, &Line::styled("    up to  pauses of the last 60 s", look.heading()));
    let counts = grouped(recent, usize::from(area.height - 1));
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let room = usize::from(area.width).saturating_sub(20);
    for (row, (up_to, count)) in (1..).zip(&counts) {
        let length = (*count as f64 / most as f64 * room as f64).ceil() as usize;
        let line = Line::from(vec![
            scene.span(&format!("{:>9}  ", show(Unit::Nanos, *up_to as f64)), look.faint()),
            Span::styled(look.sign("█", "#").repeat(length), look.line(0)),
            Span::styled(
                if *count > 0 { format!(" {}", show_whole(*count as i64)) } else { String::new() },
                look.faint(),
            ),
        ]);
        put(buffer, area, row, &line);
    }
}

/// Counts by powers of two, in at most `most` groups: the upper bound and the count of each.
fn grouped(histogram: &Histogram, most: usize) -> Vec<(u64, u64)> {
    let octave = |number: u64| number.max(1).ilog2();
    let numbers: Vec<(u32, u64)> = histogram
        .counts()
        .map(|(bucket, count)| (octave(Histogram::lowest_in(bucket)), count))
        .collect();
    let (Some((first, _)), Some((last, _))) = (numbers.first(), numbers.last()) else {
        return Vec::new();
    };
    let octaves = last - first + 1;
    let per_group = octaves.div_ceil(most.max(1) as u32).max(1);
    let groups = octaves.div_ceil(per_group);
    let group = |number: u32| {
        let from = first + number * per_group;
        let within = numbers.iter().filter(|(octave, _)| (from..from + per_group).contains(octave));
        let up_to = 1_u64.checked_shl(from + per_group).unwrap_or(u64::MAX);
        (up_to, within.map(|(_, count)| count).sum())
    };
    (0..groups).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_contain_all_numbers() {
        let mut histogram = Histogram::default();
        for number in [0, 3, 900, 1000, 70_000, u64::MAX] {
            histogram.record(number);
        }
        for most in 1..80 {
            let groups = grouped(&histogram, most);
            assert!(groups.len() <= most);
            assert_eq!(groups.iter().map(|(_, count)| count).sum::<u64>(), 6);
        }
        assert_eq!(grouped(&Histogram::default(), 8), []);
    }
}
