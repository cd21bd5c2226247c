//! What stands out in a fleet: what grows, what a new build allocates or holds in addition, which hosts differ.

use bactrian_analysis::units::show_bytes;
use bactrian_fleet::questions::Window;
use serde::Serialize;
use serde_json::Value;

use super::Answers;
use crate::engine::Row;
use crate::output::show_number;

/// The maximum number of findings of one kind.
const OF_A_KIND: usize = 3;

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A description.
    pub sentence: String,
    /// The service.
    pub service: String,
    /// The host, if it is about one.
    pub host: Option<String>,
    /// The question whose answer it is from.
    pub question: &'static str,
    /// The index of the row in that answer.
    pub row: usize,
    /// The bytes by which it has grown, or exceeds the build before or the other hosts.
    pub excess: f64,
    /// The excess as a share of the whole, from 0 to 1.
    pub share: f64,
}

/// The text in a column; empty if there is none.
pub fn text<'r>(row: &'r Row, column: &str) -> &'r str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

/// The number in a column; 0 if there is none.
pub fn number(row: &Row, column: &str) -> f64 {
    row.get(column).and_then(Value::as_f64).unwrap_or_default()
}

/// A site: `Index.add index.ml:40`.
pub fn site(row: &Row) -> String {
    match (text(row, "leaf"), text(row, "file"), number(row, "line")) {
        (leaf, "", _) => leaf.to_owned(),
        (leaf, file, line) => format!("{leaf} {file}:{line}"),
    }
}

fn times(now: f64, before: f64) -> String {
    match now / before {
        ratio if ratio >= 10.0 => format!("{ratio:.0} times"),
        ratio => format!("{ratio:.1} times"),
    }
}

/// What stands out.
pub fn findings(window: &Window, answers: &Answers) -> Vec<Finding> {
    let hours = window.growth_seconds() / 3600.0;
    let growing_site = |row: &Row| {
        format!(
            "{} keeps growing: {} an hour on {}, {} at the end",
            site(row),
            show_bytes(number(row, "growth") / hours),
            show_number(number(row, "hosts") as u64, "host"),
            show_bytes(number(row, "late")),
        )
    };
    let build = |row: &Row, does: &str, per: &str| {
        let (before, now) = (number(row, "before"), number(row, "now"));
        format!(
            "build {} {does} {} as much as {} in {}: {} instead of {}{per}",
            text(row, "build"),
            times(now, before),
            text(row, "build_before"),
            text(row, "leaf"),
            show_bytes(now),
            show_bytes(before),
        )
    };
    let odd_host = |row: &Row| {
        let (live, others) = (number(row, "live"), number(row, "others"));
        let times = times(live, others);
        format!("{} holds {}, {times} what the others hold", text(row, "host"), show_bytes(live))
    };
    let odd_site = |row: &Row| {
        let (live, others) = (number(row, "live"), number(row, "others"));
        let (live, others) = (show_bytes(live), show_bytes(others));
        format!("{} holds {live} of {}, the others {others}", text(row, "host"), site(row))
    };
    let growing_memory = |row: &Row| {
        format!(
            "the memory of {} grows by {} an hour while its heaps do not: {} at the end",
            text(row, "host"),
            show_bytes(number(row, "growth") / hours),
            show_bytes(number(row, "late"))
        )
    };
    let mut all = Vec::new();
    let mut add =
        |question, excess: &dyn Fn(&Row) -> f64, whole, sentence: &dyn Fn(&Row) -> String| {
            let rows = answers.get(question).map_or(&[][..], Vec::as_slice);
            // A host that holds less than the others is reported too; a build that needs less is not.
            let is_found = |(_, row): &(usize, &Row)| excess(row) > 0.0 || question == "odd_hosts";
            for (at, row) in rows.iter().enumerate().filter(is_found).take(OF_A_KIND) {
                let service = text(row, "service").to_owned();
                all.push(Finding {
                    sentence: format!("{service}: {}", sentence(row)),
                    service,
                    host: row.get("host").and_then(Value::as_str).map(str::to_owned),
                    question,
                    row: at,
                    excess: excess(row),
                    share: (excess(row) / number(row, whole)).clamp(0.0, 1.0),
                });
            }
        };
    let growth = |row: &Row| number(row, "growth");
    let difference = |row: &Row| number(row, "difference");
    let beyond_others = |row: &Row| number(row, "live") - number(row, "others");
    add("growing_sites", &growth, "late", &growing_site);
    add("builds_allocate", &difference, "now", &|row| {
        build(row, "allocates", " per minute and process")
    });
    add("builds_hold", &difference, "now", &|row| build(row, "holds", " per process"));
    add("odd_hosts", &beyond_others, "live", &odd_host);
    add("odd_sites", &beyond_others, "live", &odd_site);
    add("growing_memory", &growth, "late", &growing_memory);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_named_with_their_excess() {
        let rows = |rows: Value| -> Vec<Row> { serde_json::from_value(rows).expect("rows") };
        let hour = 3600;
        let window = Window { begin: 0, end: 4 * hour, step: 60, service: None, host: None };
        let growing = json!([{ "service": "search", "leaf": "Index.add", "file": "index.ml", "line": 40, "hosts": 12,
            "early": 1e6, "late": 4e6, "growth": 3e6 }]);
        let builds = |now: f64| {
            json!([{ "service": "shop", "build_before": "a", "build": "b", "leaf": "Cart.add", "before": 1e6, "now": now,
                "difference": now - 1e6 }])
        };
        let hosts = json!([{ "service": "mail", "host": "mail-7", "live": 1e6, "others": 4e6 }]);
        let answers = Answers::from([
            ("growing_sites", rows(growing)),
            ("builds_allocate", rows(builds(8e6))),
            ("builds_hold", rows(builds(0.5e6))),
            ("odd_hosts", rows(hosts)),
        ]);
        let found = findings(&window, &answers);
        let found: Vec<(&str, &str, f64, f64)> = found
            .iter()
            .map(|it| (it.question, it.sentence.as_str(), it.excess, it.share))
            .collect();
        let expected = [
            (
                "growing_sites",
                "search: Index.add index.ml:40 keeps growing: 1.00 MB an hour on 12 hosts, 4.00 MB at the end",
                3e6,
                0.75,
            ),
            (
                "builds_allocate",
                "shop: build b allocates 8.0 times as much as a in Cart.add: 8.00 MB instead of 1.00 MB per minute and process",
                7e6,
                0.875,
            ),
            ("odd_hosts", "mail: mail-7 holds 1.00 MB, 0.2 times what the others hold", -3e6, 0.0),
        ];
        assert_eq!(found, expected);
    }
}
