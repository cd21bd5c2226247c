//! Values in a few words, for all views.

use bactrian_live::{Histogram, Unit, Value};

use super::numbers::{show, show_nanos, show_whole};
use crate::units::{show_bytes, visible};

/// Longer texts are cut, in characters.
const LONGEST: usize = 200;

/// A text of the program as one line without control characters, cut if it is long.
pub fn plain(text: &str) -> String {
    let line = text.replace('\t', " ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", visible(&line[..end])),
        None => visible(&line).into_owned(),
    }
}

/// A number with its unit; integers without a fraction.
fn show_amount(number: f64, unit: Unit) -> String {
    match unit {
        Unit::None if number.fract() == 0.0 && number.abs() < 1e15 => show_whole(number as i64),
        _ => show(unit, number),
    }
}

/// A value in one line.
pub fn show_value(value: &Value, unit: Unit) -> String {
    let amount = |number: f64| show_amount(number, unit);
    match value {
        Value::Count(count) => amount(*count as f64),
        Value::Elapsed { nanos, runs, running } => {
            let mut shown = show_nanos(*nanos as f64);
            if *runs > 0 {
                shown += &format!(" in {runs}");
            }
            if *running {
                shown += ", running";
            }
            shown
        }
        Value::Int(number) => amount(*number as f64),
        Value::Float(number) => amount(*number),
        Value::Bool(truth) => truth.to_string(),
        Value::Text(text) => plain(text),
        Value::Tag { count, bytes } => {
            let count = count.map(|count| format!("{count} alive"));
            let bytes = bytes.map(|bytes| show_bytes(bytes as f64));
            [count, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Value::Tree(tree) => format!("{} nodes", tree.nodes.len()),
        Value::Table(table) => format!(
            "{} in {} buckets, {:.0} % filled, longest {}",
            table.bindings,
            table.buckets,
            table.fill() * 100.0,
            table.longest
        ),
        Value::Histogram(histogram) => show_distribution(histogram, unit),
        Value::Span { open, durations } => {
            format!("{open} open; {}", show_distribution(durations, Unit::Nanos))
        }
        Value::Sites(sites) => format!("{} sites", sites.len()),
        Value::Failed(why) => format!("failed: {}", plain(why)),
        Value::Collected => "collected".to_owned(),
        Value::Killed => "killed".to_owned(),
    }
}

fn show_distribution(histogram: &Histogram, unit: Unit) -> String {
    let percentile = |percent| show_amount(histogram.percentile(percent) as f64, unit);
    let (half, most, max) = (percentile(50.0), percentile(99.0), percentile(100.0));
    format!("{}: median {half}, 99 % {most}, max {max}", histogram.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_programs_cannot_control_the_terminal() {
        assert_eq!(plain("caf\u{e9}\tau\nlait\u{1b}[2J"), "caf\u{e9} au\\nlait\\u{1b}[2J");
        assert_eq!(plain(&"x".repeat(1000)).len(), LONGEST + 2);
    }
}
