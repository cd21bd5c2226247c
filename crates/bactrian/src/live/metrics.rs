//! What is known now in the text format of Prometheus, and the small server that gives it.
//!
//! Names follow what Prometheus recommends: base units (bytes, seconds), `_total` for what only grows. Observers of the
//! program are labels, so that names cannot clash and need not be bent.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_live::{Database, Declaration, Histogram, Series, Unit, Value, names};

use bactrian_analysis::live::words::plain;

/// So many sites are told.
const SITES: usize = 20;
const SECOND: f64 = 1e9;
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// One metric with all its samples.
struct Family {
    name: String,
    sort: &'static str,
    help: &'static str,
    samples: Vec<String>,
}

/// All families, in the order in which they were first told of.
#[derive(Default)]
struct Families(Vec<Family>);

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
        let place = self.0.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.0.push(Family { name: name.to_owned(), sort, help, samples: Vec::new() });
            self.0.len() - 1
        });
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{}=\"{}\"", label_name(key), escaped(value)))
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.0[place].samples.push(format!("{name}{suffix}{labels} {}", shown(number)));
    }

    fn distribution(
        &mut self,
        name: &str,
        help: &'static str,
        labels: &[(&str, &str)],
        histogram: &Histogram,
        unit: Unit,
    ) {
        let scale = scale(unit);
        for quantile in QUANTILES {
            let text = quantile.to_string();
            let mut labels = labels.to_vec();
            labels.push(("quantile", &text));
            let number = histogram.percentile(quantile * 100.0) as f64 / scale;
            let number = if histogram.count() == 0 { f64::NAN } else { number };
            self.sample(name, "summary", help, "", &labels, number);
        }
        self.sample(name, "summary", help, "_sum", labels, histogram.sum() as f64 / scale);
        self.sample(name, "summary", help, "_count", labels, histogram.count() as f64);
    }
}

/// The text.
pub fn text(database: &Database) -> String {
    let mut families = Families::default();
    let is_up = if database.ended().is_some() { 0.0 } else { 1.0 };
    let program = database.program();
    let pid = program.pid.to_string();
    let about = [("program", program.name.as_str()), ("pid", &pid), ("runtime", &program.runtime)];
    families.add("bactrian_up", "gauge", "Whether the program runs.", &about, is_up);
    let age = database.last() as f64 / SECOND;
    families.add(
        "bactrian_observed_seconds",
        "gauge",
        "Age of what is known, since the program's start.",
        &[],
        age,
    );
    let dropped = database.dropped();
    let help = "Moments that the client was too slow for.";
    families.add("bactrian_dropped_ticks_total", "counter", help, &[], dropped.ticks as f64);
    let help = "Lines of the log that the client was too slow for.";
    families.add("bactrian_dropped_lines_total", "counter", help, &[], dropped.lines as f64);
    for series in database.series() {
        tell(series, &mut families);
    }
    let mut text = String::new();
    for Family { name, sort, help, samples } in families.0 {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {sort}\n{}", samples.join("\n"));
    }
    text
}

/// Numbers that every program has are metrics of their own.
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
                let help = "Marked values that are alive.";
                families.add("bactrian_tag_values", "gauge", help, all, *count as f64);
            }
            if let Some(bytes) = bytes {
                let help = "Bytes that marked values hold.";
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
                "bactrian_histogram_seconds"
            } else {
                "bactrian_histogram"
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
    let help = "Of the runtime or the system; docs/live.md says what.";
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
        let help = "Bytes alive that were allocated there, estimated from samples.";
        families.add("bactrian_site_live_bytes", "gauge", help, &labels, site.live);
        let help = "Bytes allocated there per second, estimated from samples.";
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

/// Names of labels are letters, digits and underscores; those of the program may be anything.
fn label_name(key: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = key.chars().map(sound).collect();
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.starts_with('_');
    if begins_well { name } else { format!("_{name}") }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The server: it gives what was published last to whoever asks.
#[derive(Clone, Debug)]
pub struct Metrics {
    text: Arc<Mutex<Arc<str>>>,
    address: SocketAddr,
}

/// Whoever has not asked in this time is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer requests are not read.
const LONGEST: u64 = 16 << 10;

impl Metrics {
    /// Listens.
    ///
    /// # Errors
    /// If nobody may listen there.
    pub fn serve(address: &str) -> io::Result<Metrics> {
        let address = if address.starts_with(':') {
            format!("127.0.0.1{address}")
        } else {
            address.to_owned()
        };
        let listener = TcpListener::bind(address.as_str())?;
        let metrics =
            Metrics { text: Arc::new(Mutex::new(Arc::from(""))), address: listener.local_addr()? };
        let text = Arc::clone(&metrics.text);
        // One at a time: whoever scrapes does so every few seconds, and takes milliseconds.
        thread::Builder::new().name("metrics".into()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // Who does not listen to the answer misses it.
                    Ok(stream) => drop(answer(stream, &text)),
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
        Ok(metrics)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on this is given.
    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<Arc<str>>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&stream)?;
    let mut words = request.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, sort, body): (_, _, Arc<str>) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics" | b"/") => {
            let text = Arc::clone(&text.lock().unwrap_or_else(PoisonError::into_inner));
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
        }
        (b"GET" | b"HEAD", _) => ("404 Not Found", "text/plain", "look at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {sort}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// A request up to the empty line after its head.
fn request(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    let mut stream = stream.take(LONGEST);
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            length => request.extend_from_slice(&piece[..length]),
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_live::{Event, Kind, Limits, ObserverId, Stamp};

    fn database() -> Database {
        let mut database = Database::new(Limits::default());
        let mut histogram = Histogram::default();
        (1..=100).for_each(|number| histogram.record(number * 1_000_000));
        let hostile = "a\"b\\c\nd".to_owned();
        let observers = [
            ("p", Kind::Point, Unit::None, Value::Count(7)),
            (names::HEAP, Kind::Gauge, Unit::Bytes, Value::Int(1024)),
            (names::CPU, Kind::Counter, Unit::Nanos, Value::Count(2_500_000_000)),
            (names::PAUSES, Kind::Histogram, Unit::Nanos, Value::Histogram(histogram)),
            (hostile.as_str(), Kind::Float, Unit::None, Value::Float(0.5)),
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
    fn numbers_are_in_base_units_under_sound_names() {
        let text = text(&database());
        for line in [
            "bactrian_count_total{observer=\"p\",_1_key=\"v\"} 7",
            "# TYPE bactrian_count_total counter",
            "bactrian_runtime_heap_bytes 1024",
            "bactrian_process_cpu_seconds_total 2.5",
            "bactrian_runtime_pauses_seconds_count 100",
            "bactrian_value{observer=\"a\\\"b\\\\c\\nd\",_1_key=\"v\"} 0.5",
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
        }
        let median = "bactrian_runtime_pauses_seconds{quantile=\"0.5\"} ";
        let median = text.lines().find_map(|line| line.strip_prefix(median)).expect("a median");
        let median: f64 = median.parse().expect("a number");
        assert!((0.050..0.054).contains(&median), "{median}");
    }

    #[test]
    fn the_server_answers_and_is_not_held_up() {
        let metrics = Metrics::serve("127.0.0.1:0").expect("a port");
        metrics.publish("x 1\n".to_owned());
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(metrics.address()).expect("connected");
            stream.write_all(request.as_bytes()).expect("asked");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("answered");
            answer
        };
        let answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nx 1\n"),
            "{answer}"
        );
        assert!(ask("GET /else HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        drop(TcpStream::connect(metrics.address()));
        assert!(ask("GET / HTTP/1.1\r\n\r\n").ends_with("x 1\n"));
    }
}
