//! Current numbers in the Prometheus text format.
//!
//! Names follow Prometheus's recommendations: base units (bytes, seconds), `_total` for counters, and
//! histograms with buckets, which can be aggregated over programs. Observer names are label values, so that
//! names cannot clash and need not be escaped. Only live data is exported; a program that has ended or is
//! unreachable is merely reported as not up.

use std::collections::HashSet;
use std::fmt::Write as _;

use bactrian_live::{Database, Declaration, Histogram, Series, Unit, Value, names};

use bactrian_analysis::live::words::plain;

/// The most sites exported.
const SITES: usize = 20;
const SECOND: f64 = 1e9;
/// The powers of two at which buckets end: of nanoseconds, from 1 µs to 69 s, and of other numbers. They are
/// constant, so that histograms can be compared and aggregated.
const NANOS: std::ops::RangeInclusive<u32> = 10..=36;
const OTHERS: std::ops::RangeInclusive<u32> = 0..=40;

/// A metric with all its samples.
struct Family {
    name: String,
    sort: &'static str,
    help: &'static str,
    samples: Vec<String>,
    /// The series that exist already, without their values.
    known: HashSet<String>,
}

/// All metrics, in order of first use.
#[derive(Default)]
struct Families {
    all: Vec<Family>,
    /// Labels added to every sample, which identify the program if there are several.
    whose: Vec<(&'static str, String)>,
}

impl Families {
    fn add(
        &mut self,
        name: &str,
        sort: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        number: f64,
    ) {
        self.sample(name, sort, help, "", labels, number);
    }

    fn sample(
        &mut self,
        name: &str,
        sort: &'static str,
        help: &'static str,
        suffix: &str,
        labels: &[(&str, &str)],
        number: f64,
    ) {
        let place = self.all.iter().position(|family| family.name == name).unwrap_or_else(|| {
            let (samples, known) = (Vec::new(), HashSet::new());
            self.all.push(Family { name: name.to_owned(), sort, help, samples, known });
            self.all.len() - 1
        });
        let family = &mut self.all[place];
        let whose = self.whose.iter().map(|(key, value)| (*key, value.as_str()));
        let labels: Vec<(&str, &str)> = whose.chain(labels.iter().copied()).collect();
        let labels = labels.as_slice();
        let mut of = format!("{name}{suffix}{}", written(labels));
        // Observers of the same name are distinguished by a number.
        for nth in 2.. {
            if family.known.insert(of.clone()) {
                break;
            }
            let nth = nth.to_string();
            let labels: Vec<_> = labels.iter().copied().chain([("nth", nth.as_str())]).collect();
            of = format!("{name}{suffix}{}", written(&labels));
        }
        family.samples.push(format!("{of} {}", shown(number)));
    }

    /// A histogram with cumulative buckets.
    fn distribution(
        &mut self,
        name: &str,
        help: &'static str,
        labels: &[(&str, &str)],
        histogram: &Histogram,
        unit: Unit,
    ) {
        let (scale, powers) = (scale(unit), if unit == Unit::Nanos { NANOS } else { OTHERS });
        let mut counts = histogram.counts().peekable();
        let mut below = 0;
        for power in powers {
            let end = (1u64 << power) - 1;
            while let Some((_, count)) =
                counts.next_if(|(bucket, _)| Histogram::highest_in(*bucket) <= end)
            {
                below += count;
            }
            let le = shown(end as f64 / scale);
            let labels: Vec<_> = labels.iter().copied().chain([("le", le.as_str())]).collect();
            self.sample(name, "histogram", help, "_bucket", &labels, below as f64);
        }
        let labels_of_all: Vec<_> = labels.iter().copied().chain([("le", "+Inf")]).collect();
        let count = histogram.count() as f64;
        self.sample(name, "histogram", help, "_bucket", &labels_of_all, count);
        self.sample(name, "histogram", help, "_sum", labels, histogram.sum() as f64 / scale);
        self.sample(name, "histogram", help, "_count", labels, count);
    }
}

/// Formats labels. The program's labels may have any names; none overwrites another.
fn written(labels: &[(&str, &str)]) -> String {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    for (key, value) in labels {
        let mut name = label_name(key);
        while !known.insert(name.clone()) {
            name.push('_');
        }
        all.push(format!("{name}=\"{}\"", escaped(value)));
    }
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// The metrics of a program; `is_reached` says whether numbers are arriving.
pub fn text(database: &Database, is_reached: bool) -> String {
    let mut families = Families::default();
    tell_program(database, is_reached, &mut families);
    families.text()
}

/// The metrics of several programs; each sample identifies its program.
pub fn text_of_several<'d>(programs: impl Iterator<Item = (&'d Database, bool)>) -> String {
    let mut families = Families::default();
    for (database, is_reached) in programs {
        let program = database.program();
        families.whose = vec![("program", program.name.clone()), ("pid", program.pid.to_string())];
        tell_program(database, is_reached, &mut families);
    }
    families.text()
}

fn tell_program(database: &Database, is_reached: bool, families: &mut Families) {
    let is_up = is_reached && database.ended().is_none();
    let program = database.program();
    let pid = program.pid.to_string();
    let about = [("program", program.name.as_str()), ("pid", &pid), ("runtime", &program.runtime)];
    // Labels that all samples have are not repeated.
    let about = if families.whose.is_empty() { &about[..] } else { &about[2..] };
    let help = "Whether the program runs and can be reached.";
    families.add("bactrian_up", "gauge", help, about, f64::from(u8::from(is_up)));
    if is_up {
        tell_all(database, families);
    }
}

impl Families {
    fn text(self) -> String {
        let mut text = String::new();
        for Family { name, sort, help, samples, .. } in self.all {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {sort}\n{}",
                samples.join("\n")
            );
        }
        text
    }
}

fn tell_all(database: &Database, families: &mut Families) {
    let age = database.last() as f64 / SECOND;
    families.add(
        "bactrian_observed_seconds",
        "gauge",
        "Seconds from the program's start to the last update.",
        &[],
        age,
    );
    let dropped = database.dropped();
    let help = "Ticks that were dropped because the client was too slow.";
    families.add("bactrian_dropped_ticks_total", "counter", help, &[], dropped.ticks as f64);
    let help = "Log lines that were dropped because the client was too slow.";
    families.add("bactrian_dropped_lines_total", "counter", help, &[], dropped.lines as f64);
    let now = database.last();
    for series in database.series().filter(|series| database.is_known(series, now)) {
        tell(series, families);
    }
}

/// Numbers that every program has are separate metrics.
fn tell(series: &Series, families: &mut Families) {
    let Some(value) = series.latest() else { return };
    let Declaration { name, labels, unit, .. } = &series.declaration;
    if name == names::SITES {
        return tell_sites(value, families);
    }
    if names::is_reserved(name) {
        return tell_runtime(name, *unit, value, families);
    }
    let mut all = vec![("observer", name.as_str())];
    all.extend(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let all = all.as_slice();
    match value {
        Value::Count(count) => {
            families.add(
                "bactrian_count_total",
                "counter",
                "Points and counters.",
                all,
                *count as f64,
            );
        }
        Value::Elapsed { nanos, .. } => {
            families.add(
                "bactrian_time_seconds_total",
                "counter",
                "Stopwatches.",
                all,
                *nanos as f64 / SECOND,
            );
        }
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
            for (_, number) in value.numbers() {
                families.add("bactrian_value", "gauge", "Values and gauges.", all, number);
            }
        }
        Value::Text(text) => {
            let mut all = all.to_vec();
            let text = plain(text);
            all.push(("text", &text));
            families.add("bactrian_text_info", "gauge", "Texts, as a label.", &all, 1.0);
        }
        Value::Tag { count, bytes } => {
            if let Some(count) = count {
                let help = "Tagged values that are alive.";
                families.add("bactrian_tag_values", "gauge", help, all, *count as f64);
            }
            if let Some(bytes) = bytes {
                let help = "Bytes that tagged values hold.";
                families.add("bactrian_tag_bytes", "gauge", help, all, *bytes as f64);
            }
        }
        Value::Table(_) => {
            for (part, number) in value.numbers() {
                families.add(
                    &format!("bactrian_table_{part}"),
                    "gauge",
                    "Hash tables.",
                    all,
                    number,
                );
            }
        }
        Value::Tree(tree) => {
            families.add(
                "bactrian_tree_nodes",
                "gauge",
                "Nodes of trees.",
                all,
                tree.nodes.len() as f64,
            );
        }
        Value::Histogram(histogram) => {
            let name = if *unit == Unit::Nanos {
                "bactrian_distribution_seconds"
            } else {
                "bactrian_distribution"
            };
            families.distribution(name, "Distributions.", all, histogram, *unit);
        }
        Value::Span { open, durations } => {
            families.distribution(
                "bactrian_span_seconds",
                "Pieces of work.",
                all,
                durations,
                Unit::Nanos,
            );
            let help = "Pieces of work that have not ended.";
            families.add("bactrian_span_open", "gauge", help, all, *open as f64);
        }
        Value::Failed(_) => {
            families.add(
                "bactrian_failed",
                "gauge",
                "Observers that could not be evaluated.",
                all,
                1.0,
            );
        }
        Value::Sites(_) | Value::Collected | Value::Killed => {}
    }
}

fn tell_runtime(name: &str, unit: Unit, value: &Value, families: &mut Families) {
    let ending = match unit {
        Unit::Bytes => "_bytes",
        Unit::Nanos => "_seconds",
        Unit::Percent => "_percent",
        Unit::None => "",
    };
    let name = format!("bactrian_{}{ending}", name.replace('.', "_"));
    let help = "A number of the OCaml runtime or of the system, described in docs/live.md.";
    match value {
        Value::Count(count) => {
            let number = *count as f64 / scale(unit);
            families.add(&format!("{name}_total"), "counter", help, &[], number);
        }
        Value::Histogram(histogram) => families.distribution(&name, help, &[], histogram, unit),
        value => {
            for (_, number) in value.numbers() {
                families.add(&name, "gauge", help, &[], number / scale(unit));
            }
        }
    }
}

fn tell_sites(value: &Value, families: &mut Families) {
    let Value::Sites(sites) = value else { return };
    for site in sites.iter().take(SITES) {
        let labels = [("site", site.name.as_str())];
        let help = "Live bytes that were allocated at this site, estimated from samples.";
        families.add("bactrian_site_live_bytes", "gauge", help, &labels, site.live);
        let help = "Bytes allocated per second at this site, estimated from samples.";
        families.add(
            "bactrian_site_allocation_bytes_per_second",
            "gauge",
            help,
            &labels,
            site.rate,
        );
    }
}

fn scale(unit: Unit) -> f64 {
    if unit == Unit::Nanos { SECOND } else { 1.0 }
}

fn shown(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        _ => number.to_string(),
    }
}

/// Label names consist of letters, digits and underscores; the program's labels may have any names.
fn label_name(key: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = key.chars().map(sound).collect();
    // Names with two leading underscores are reserved by Prometheus.
    let name = name.trim_start_matches('_');
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_well { name.to_owned() } else { format!("_{name}") }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use bactrian_live::{Event, Limits, ObserverId, ObserverKind, Program, Stamp};

    fn database() -> Database {
        let mut database = Database::new(Limits::default());
        let mut histogram = Histogram::default();
        (1..=100).for_each(|number| histogram.record(number * 1_000_000));
        let hostile = "a\"b\\c\nd".to_owned();
        let observers = [
            ("p", ObserverKind::Point, Unit::None, Value::Count(7)),
            (names::HEAP, ObserverKind::Gauge, Unit::Bytes, Value::Int(1024)),
            (names::CPU, ObserverKind::Counter, Unit::Nanos, Value::Count(2_500_000_000)),
            (names::PAUSES, ObserverKind::Histogram, Unit::Nanos, Value::Histogram(histogram)),
            (hostile.as_str(), ObserverKind::Float, Unit::None, Value::Float(0.5)),
        ];
        database.add(Event::Tick(Stamp { at: 0, cpu: 0 }));
        for (number, (name, kind, unit, value)) in observers.into_iter().enumerate() {
            let (id, name) = (ObserverId(number as u32), name.to_owned());
            let labels = vec![("1 key".to_owned(), "v".to_owned())];
            database.add(Event::Declare(Declaration {
                id,
                kind,
                name,
                labels,
                unit,
                period_ms: 100,
            }));
            database.add(Event::Update(id, value));
        }
        database
    }

    #[test]
    fn metrics_have_base_units_and_valid_names() {
        let text = text(&database(), true);
        for line in [
            "bactrian_count_total{observer=\"p\",_1_key=\"v\"} 7",
            "# TYPE bactrian_count_total counter",
            "bactrian_runtime_heap_bytes 1024",
            "bactrian_process_cpu_seconds_total 2.5",
            "# TYPE bactrian_runtime_pauses_seconds histogram",
            "bactrian_runtime_pauses_seconds_count 100",
            "bactrian_runtime_pauses_seconds_bucket{le=\"+Inf\"} 100",
            // Of 1, 2, .. 100 ms, 67 are below 2^26 ns.
            "bactrian_runtime_pauses_seconds_bucket{le=\"0.067108863\"} 67",
            "bactrian_runtime_pauses_seconds_bucket{le=\"0.000001023\"} 0",
            "bactrian_value{observer=\"a\\\"b\\\\c\\nd\",_1_key=\"v\"} 0.5",
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
        }
    }

    #[test]
    fn only_live_data_is_exported_without_duplicates() {
        let mut database = database();
        let declare = |database: &mut Database, id: u32, labels: &[(&str, &str)]| {
            let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into()));
            database.add(Event::Declare(Declaration {
                id: ObserverId(id),
                kind: ObserverKind::Int,
                name: "same".into(),
                labels: labels.collect(),
                unit: Unit::None,
                period_ms: 100,
            }));
            database.add(Event::Update(ObserverId(id), Value::Int(i64::from(id))));
        };
        // Label names that we use ourselves, and names that are equal after conversion.
        let odd = [("observer", "x"), ("a.b", "1"), ("a_b", "2"), ("__name__", "y")];
        declare(&mut database, 101, &odd);
        declare(&mut database, 102, &odd);
        declare(&mut database, 103, &[]);
        database.add(Event::Update(ObserverId(103), Value::Killed));
        let told = text(&database, true);
        let same: Vec<_> = told.lines().filter(|line| line.contains("\"same\"")).collect();
        let labels = "observer=\"same\",observer_=\"x\",a_b=\"1\",a_b_=\"2\",name__=\"y\"";
        assert_eq!(
            same,
            [
                format!("bactrian_value{{{labels}}} 101"),
                format!("bactrian_value{{{labels},nth=\"2\"}} 102")
            ]
        );
        // A program that is gone has no numbers, and neither has its predecessor.
        let not_up = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count() == 1;
        assert!(not_up(&text(&database, false)) && text(&database, false).ends_with("} 0\n"));
        database.add(Event::End("gone".into()));
        assert!(not_up(&text(&database, true)));
        database.add(Event::Hello(Program { pid: 8, ..Program::default() }));
        database.add(Event::Tick(Stamp { at: 1, cpu: 0 }));
        assert!(!text(&database, true).contains("same"));
    }

    /// Checks with Prometheus's own tool.
    #[test]
    fn promtool_accepts_the_metrics() {
        check(&text(&database(), true));
        let (one, other) = (database(), database());
        let several = text_of_several([(&one, true), (&other, false)].into_iter());
        check(&several);
        assert_eq!(several.matches("# TYPE bactrian_up gauge").count(), 1);
    }

    fn check(text: &str) {
        let mut tool = Command::new("promtool");
        tool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut tool = tool.stderr(Stdio::piped()).spawn().expect("scripts/setup installs it");
        let mut stdin = tool.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        let said = tool.wait_with_output().expect("it ends");
        let words = format!("{said:?}");
        assert!(said.status.success() && said.stderr.is_empty(), "{words}\n{text}");
    }
}
