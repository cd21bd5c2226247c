//! Measures how long a server takes to answer questions about a trace: the time until the first answers, then
//! each kind of filter.
//!
//! `cargo xtask bench view` runs it on generated traces. Times are wall-clock times of one run, as a user
//! experiences them.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to who runs it")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bactrian_analysis::heap::{Heap, HeapSums};
use bactrian_analysis::live::source::LiveSource;
use bactrian_analysis::question::{
    Evidence, FileInfo, FileNumber, Question, QuestionError, Rows, Text,
};
use bactrian_analysis::units::{Between, Time};
use bactrian_analysis::{
    By, Collected, Filter, FramePattern, Hidden, Live, Measure, Of, Pattern, Recursion,
    TopQuestion, TopSort, TraceFile, TraceQuestions, info,
};
use bactrian_trace::Micros;

const POINTS: usize = 600;

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("name a trace");
        return;
    };
    let start = Instant::now();
    let since_start = || start.elapsed().as_secs_f64() * 1e3;
    let trace = match TraceFile::open(Path::new(&path)) {
        Ok(trace) => Arc::new(trace),
        Err(error) => return eprintln!("{path}: {error}"),
    };
    println!("| from opening to | ms |\n|---|--:|");
    println!("| index | {:.0} |", since_start());
    let questions = TraceQuestions::new(trace);
    let everything = Filter::default();
    questions.timeline(&everything, POINTS, Between::default());
    println!("| timeline | {:.0} |", since_start());
    let allocated = Measure::bytes(Of::Allocated);
    let top = questions.top(&everything, By::Function, allocated);
    println!("| top | {:.0} |", since_start());
    questions.profile(&everything, By::Function, Recursion::Fold, &[allocated]);
    println!("| flame graph | {:.0} |", since_start());
    println!("| memory now, MB | {} |", resident_megabytes());
    questions.wait_until_read();
    if let Some(why) = questions.why_slow() {
        println!("\n{why}");
    }

    let function = |at: usize| {
        let rows = &top.rows;
        let name = rows.get(at.min(rows.len().saturating_sub(1))).map(|row| &row.label.name);
        Pattern::Exact(name.cloned().unwrap_or_default())
    };
    let duration = questions.trace().index().duration();
    let moment = |share: f64| Some(Time(Micros((duration.0 as f64 * share) as u64)));
    let part = |from: f64, to: f64| Between { from: moment(from), to: moment(to) };
    let kinds: Vec<(&str, Filter)> = vec![
        ("in", Filter { inside: vec![FramePattern::Function(function(0))], ..Filter::default() }),
        (
            "in, again",
            Filter { inside: vec![FramePattern::Function(function(0))], ..Filter::default() },
        ),
        (
            "not in",
            Filter { not_inside: vec![FramePattern::Function(function(1))], ..Filter::default() },
        ),
        ("in regex", Filter { inside: vec![regex("a|e")], ..Filter::default() }),
        ("allocated", Filter { allocated: part(0.3, 0.6), ..Filter::default() }),
        ("live in", Filter { live: vec![Live::In(part(0.4, 0.5))], ..Filter::default() }),
        ("live at end", Filter { live: vec![Live::AtEnd], ..Filter::default() }),
        ("live at peak", Filter { live: vec![Live::AtPeak], ..Filter::default() }),
        (
            "collected",
            Filter { collected: Some(Collected::In(part(0.5, 0.9))), ..Filter::default() },
        ),
        ("lifetime", Filter { lifetime: part(0.01, 0.5), ..Filter::default() }),
        ("size", Filter { size: "17..1kB".parse().unwrap_or_default(), ..Filter::default() }),
        ("hide", Filter { hidden: Hidden::of([function(2)]), ..Filter::default() }),
    ];
    println!("\n| filter | timeline | top | flame | by site | live | peak | objects | lifetimes |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (kind, filter) in &kinds {
        let time = |ask: &dyn Fn()| {
            let start = Instant::now();
            ask();
            start.elapsed().as_secs_f64() * 1e3
        };
        let top = |by: By, measure: Measure| {
            questions.top(filter, by, measure);
        };
        let cells = [
            time(&|| drop(questions.timeline(filter, POINTS, Between::default()))),
            time(&|| top(By::Function, allocated)),
            time(&|| {
                drop(questions.profile(filter, By::Function, Recursion::Fold, &[allocated]));
            }),
            time(&|| top(By::Site, allocated)),
            time(&|| top(By::Function, Measure::bytes(Of::LiveAtEnd))),
            time(&|| top(By::Function, Measure::bytes(Of::LiveAtPeak))),
            time(&|| top(By::Function, Measure::objects(Of::Allocated))),
            time(&|| drop(questions.lifetimes(filter, By::Function))),
        ];
        println!("| {kind} | {} |", cells.map(|ms| format!("{ms:.0}")).join(" | "));
    }
    pages(questions);
    println!("\nmemory at the end: {} MB", resident_megabytes());
}

/// Pages of 200 rows of a table, with other sort orders and searches.
fn pages(questions: TraceQuestions) {
    let evidence = One(Arc::new(questions));
    println!("\n| page of the table of functions | rows in all | ms |\n|---|--:|--:|");
    let number = 200;
    let search = "/1.$/".parse().map(Text).ok();
    for (what, sort, rows) in [
        ("the first, by self", TopSort::Own, Rows { number, ..Rows::default() }),
        ("the first, by total", TopSort::Total, Rows { number, ..Rows::default() }),
        ("by name", TopSort::Name, Rows { number, ..Rows::default() }),
        ("in the middle", TopSort::Total, Rows { number, offset: 50_000, ..Rows::default() }),
        ("searched", TopSort::Total, Rows { number, search, ..Rows::default() }),
    ] {
        let question = TopQuestion { sort, rows, ..TopQuestion::default() };
        let start = Instant::now();
        let found = question.ask(&evidence).map_or(0, |answer| answer.result.row_count);
        println!("| {what} | {found} | {:.0} |", start.elapsed().as_secs_f64() * 1e3);
    }
}

/// Evidence that consists of one trace.
struct One(Arc<TraceQuestions>);

impl Evidence for One {
    fn path(&self, _: FileNumber) -> Result<&Path, QuestionError> {
        Ok(Path::new("trace"))
    }

    fn options(&self, _: FileNumber) -> &[String] {
        &[]
    }

    fn trace(&self, _: FileNumber) -> Result<Arc<TraceQuestions>, QuestionError> {
        Ok(self.0.clone())
    }

    fn heap(&self, _: FileNumber) -> Result<Arc<Heap>, QuestionError> {
        Err(no_snapshot())
    }

    fn sums(&self, _: FileNumber) -> Result<Arc<HeapSums>, QuestionError> {
        Err(no_snapshot())
    }

    fn live(&self, _: FileNumber) -> Result<&dyn LiveSource, QuestionError> {
        Err(no_snapshot())
    }

    fn info(&self, _: FileNumber) -> Result<FileInfo, QuestionError> {
        Ok(FileInfo::Trace(Box::new(info(self.0.trace()))))
    }

    fn snapshots(&self) -> Vec<FileNumber> {
        Vec::new()
    }
}

fn no_snapshot() -> QuestionError {
    QuestionError::Wrong("it is a trace".to_owned())
}

fn regex(text: &str) -> FramePattern {
    FramePattern::Function(
        Pattern::parse(&format!("/{text}/")).unwrap_or(Pattern::Exact(String::new())),
    )
}

/// Resident memory of this process, without the mapped trace.
fn resident_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1000
}
