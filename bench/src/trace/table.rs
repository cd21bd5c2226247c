//! A table of measurements for docs/performance.md.

use super::plan::Measurement;
use crate::rounds::Usages;

/// A table in Markdown; `usages` has an entry for each measurement.
pub fn markdown(measurements: &[Measurement], usages: &[Usages], trace_bytes: u64) -> String {
    let mut text = String::from(
        "| | CPU, best | CPU, median | memory | without the file | times as fast as |\n\
         |---|--:|--:|--:|--:|---|\n",
    );
    let bests: Vec<_> = usages.iter().map(Usages::best).collect();
    for ((measurement, usages), &best) in measurements.iter().zip(usages).zip(&bests) {
        let (median, memory) = (usages.median(), usages.memory());
        let mapped = if measurement.maps_trace { trace_bytes } else { 0 };
        let faster = measurement.rivals.iter().filter_map(|&rival| {
            let at = measurements.iter().position(|other| other.title == rival)?;
            Some(format!("{rival} {}", ratio(bests[at], best)?))
        });
        text.push_str(&format!(
            "| {} | {best:.3} s | {median:.3} s | {} MB | {} MB | {} |\n",
            measurement.title,
            memory / 1_000_000,
            memory.saturating_sub(mapped) / 1_000_000,
            faster.collect::<Vec<_>>().join(", "),
        ));
    }
    text
}

/// `theirs` divided by `ours`; `None` if ours is too short to measure.
fn ratio(theirs: f64, ours: f64) -> Option<String> {
    (ours > 0.0).then(|| {
        let ratio = theirs / ours;
        if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Run, Usage};

    #[test]
    fn ours_are_compared_with_their_rivals() {
        let measurement = |title: &str, maps_trace, rivals| Measurement {
            title: title.to_owned(),
            run: Run::new("p".into(), Vec::new()),
            only_once: false,
            maps_trace,
            rivals,
        };
        let usage = |cpu_seconds, megabytes: u64| Usage {
            cpu_seconds,
            max_rss_bytes: megabytes * 1_000_000,
        };
        let measurements = [measurement("ours", true, &["slow"]), measurement("slow", false, &[])];
        let ours = Usages(vec![usage(0.3, 70), usage(0.1, 71), usage(0.2, 70)]);
        let usages = [ours, Usages(vec![usage(5.0, 9)])];
        let table = markdown(&measurements, &usages, 60_000_000);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| ours | 0.100 s | 0.200 s | 71 MB | 11 MB | slow 50 |",
                "| slow | 5.000 s | 5.000 s | 9 MB | 9 MB |  |",
            ]
        );
    }
}
