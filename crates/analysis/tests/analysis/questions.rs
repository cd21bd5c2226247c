//! A trace in memory gives the same answers as passes over the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bactrian_analysis::units::{Between, Time};
use bactrian_analysis::{
    By, Estimate, Filter, FramePattern, Hidden, Label, LifetimeRow, Lifetimes, Live, Measure, Of,
    Profile, Recursion, StackId, Timeline, Top, TraceFile, TraceQuestions, Unit, contents,
    lifetimes, timeline_in, top,
};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, ObjectId, Recorder, Source, SourceLocation, TraceInfo,
    Words, Writer,
};
use proptest::prelude::*;

use crate::model::close;
use crate::programs::{filters, info, open, pattern, traces};

const BYS: [By; 6] = [By::Site, By::Instruction, By::Line, By::Function, By::File, By::Module];
const OFS: [Of; 4] = [Of::Allocated, Of::LiveAtEnd, Of::LiveAtPeak, Of::Promoted];

fn measures() -> impl Iterator<Item = Measure> {
    let of = |unit| OFS.into_iter().map(move |of| Measure { unit, of });
    [Unit::Bytes, Unit::Objects].into_iter().flat_map(of)
}

fn all_close(a: &[Estimate], b: &[Estimate]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
}

fn same_timeline(a: &Timeline, b: &Timeline) -> bool {
    a.peak_time == b.peak_time
        && close(&a.peak, &b.peak)
        && a.points.len() == b.points.len()
        && a.points.iter().zip(&b.points).all(|(a, b)| {
            a.time == b.time
                && all_close(&[a.live, a.max, a.allocated], &[b.live, b.max, b.allocated])
        })
}

fn same_top(a: &Top, b: &Top) -> bool {
    // Floats may be summed in another order, and nearly equal rows may swap.
    let rows = |top: &Top| -> BTreeMap<Label, [Estimate; 2]> {
        top.rows.iter().map(|row| (row.label.clone(), [row.own, row.total])).collect()
    };
    let (rows_a, rows_b) = (rows(a), rows(b));
    (a.by, a.measure, a.peak) == (b.by, b.measure, b.peak)
        && all_close(&[a.all, a.none], &[b.all, b.none])
        && rows_a.keys().eq(rows_b.keys())
        && rows_a.values().zip(rows_b.values()).all(|(a, b)| all_close(a, b))
        && (a.measure.unit == Unit::Objects
            || a.rows.iter().map(|row| &row.label).eq(b.rows.iter().map(|row| &row.label)))
}

fn same_lifetimes(a: &Lifetimes, b: &Lifetimes) -> bool {
    let same = |a: &LifetimeRow, b: &LifetimeRow| {
        a.label == b.label
            && all_close(&[a.allocated, a.never], &[b.allocated, b.never])
            && all_close(&a.lifetimes, &b.lifetimes)
            && all_close(&a.sizes, &b.sizes)
    };
    same(&a.all, &b.all)
        && a.rows.len() == b.rows.len()
        && a.rows.iter().zip(&b.rows).all(|(a, b)| same(a, b))
}

/// What each path of labels allocates, in every column; paths without any allocation are omitted.
fn paths(profile: &Profile) -> BTreeMap<Vec<Label>, Vec<Estimate>> {
    let path = |stack: StackId| {
        let labels =
            profile.tree.labels_innermost_first(stack).map(|id| profile.labels.get(id).clone());
        labels.collect::<Vec<_>>()
    };
    let own = |stack: StackId| profile.columns.iter().map(move |column| column.own(stack));
    let stacks = profile.tree.ids().chain([StackId::ROOT]);
    let stacks = stacks.filter(|&stack| own(stack).any(|tally| !tally.is_zero()));
    let estimates = |stack: StackId| {
        profile.columns.iter().map(|column| column.estimate(column.own(stack))).collect()
    };
    stacks.map(|stack| (path(stack), estimates(stack))).collect()
}

fn same_profile(a: &Profile, b: &Profile) -> bool {
    let (paths_a, paths_b) = (paths(a), paths(b));
    a.peak == b.peak
        && paths_a.keys().eq(paths_b.keys())
        && paths_a.values().zip(paths_b.values()).all(|(a, b)| all_close(a, b))
}

/// Asks all questions about some objects in both ways.
fn check(questions: &TraceQuestions, filter: &Filter, what: &str) {
    let trace = questions.trace();
    let window = Between {
        from: Some(Time(Micros(trace.index().duration().0 / 3))),
        to: Some(Time(Micros(trace.index().duration().0 / 2))),
    };
    for (points, window) in [(1, Between::default()), (7, Between::default()), (5, window)] {
        let (a, b) = (
            questions.timeline(filter, points, window),
            timeline_in(trace, filter, points, window),
        );
        assert!(same_timeline(&a, &b), "{what}: {filter:?}\n{a:?}\n{b:?}");
    }
    for by in BYS {
        for measure in measures() {
            let (a, b) = (questions.top(filter, by, measure), top(trace, filter, by, measure));
            assert!(same_top(&a, &b), "{what}: {filter:?}\n{a:?}\n{b:?}");
        }
        let (a, b) = (questions.lifetimes(filter, by), lifetimes(trace, filter, by));
        assert!(same_lifetimes(&a, &b), "{what}: {filter:?}\n{a:?}\n{b:?}");
    }
    let measures: Vec<_> = measures().collect();
    for (by, recursion) in [(By::Function, Recursion::Fold), (By::Site, Recursion::Keep)] {
        let a = questions.profile(filter, by, recursion, &measures);
        let b = Profile::with(trace, filter, by, recursion, &measures);
        assert!(same_profile(&a, &b), "{what}: {filter:?} {by:?}");
    }
    let (a, b) = (questions.contents(filter), contents(trace, filter));
    let counts = [&a, &b].map(|c| {
        (c.minor, c.major, c.external, c.promotions, c.collections, c.deepest_stack, c.frames)
    });
    assert_eq!(counts[0], counts[1], "{what}: {filter:?}");
    assert_eq!(a.peak_time, b.peak_time, "{what}: {filter:?}");
    let estimates = [&a, &b].map(|contents| {
        [contents.allocated, contents.objects, contents.peak, contents.live_at_end]
    });
    assert!(all_close(&estimates[0], &estimates[1]), "{what}: {filter:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_answers_equal_those_of_passes(trace in traces(), filters in prop::collection::vec(filters(), 1..4)) {
        let questions = TraceQuestions::with_memory(Arc::new(trace), u64::MAX);
        // Twice, because the second round uses cached results.
        for filter in filters.iter().chain(&filters) {
            check(&questions, filter, "made up");
        }
        prop_assert_eq!(questions.why_slow(), None);
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures");
    std::fs::read(folder.join(name)).expect("a fixture")
}

/// Filters that admit something in real traces.
fn telling_filters(trace: &TraceFile) -> Vec<Filter> {
    let duration = trace.index().duration().0;
    let at = |share: u64| Time(Micros(duration * share / 10));
    let part = Between { from: Some(at(3)), to: Some(at(7)) };
    let everything = Filter::default();
    let rows = top(trace, &everything, By::Function, Measure::bytes(Of::Allocated)).rows;
    let function = pattern(&rows[rows.len() / 3].label.name);
    let place = FramePattern::Function(function.clone());
    vec![
        everything.clone(),
        Filter { allocated: part, ..everything.clone() },
        Filter { live: vec![Live::In(part), Live::AtPeak], ..everything.clone() },
        Filter { lifetime: part, ..everything.clone() },
        Filter { inside: vec![place.clone()], ..everything.clone() },
        Filter { not_inside: vec![place], live: vec![Live::AtEnd], ..everything.clone() },
        Filter { hidden: Hidden::of([function]), ..everything },
    ]
}

#[test]
fn answers_about_recorded_traces_equal_those_of_passes() {
    for name in ["leaky_cache_v2.ctf", "every_word_v2.ctf", "bytecode_v2.ctf"] {
        let questions = TraceQuestions::new(Arc::new(open(fixture(name))));
        questions.wait_until_read();
        assert_eq!(questions.why_slow(), None, "{name}");
        for filter in telling_filters(questions.trace()) {
            check(&questions, &filter, name);
        }
    }
}

#[test]
fn answers_about_damaged_traces_equal_those_of_passes() {
    let whole = fixture("leaky_cache_v2.ctf");
    for damage in 1..12 {
        let mut bytes = whole.clone();
        let at = bytes.len() * damage / 12;
        // Somewhere in the middle of events, whatever they are.
        bytes[at..at + 9].copy_from_slice(b"\xff\x00nonsense"[..9].as_ref());
        let questions = TraceQuestions::new(Arc::new(open(bytes)));
        for filter in telling_filters(questions.trace()).iter().take(3) {
            check(&questions, filter, &format!("damaged at {at}"));
        }
    }
}

#[test]
fn without_memory_answers_are_the_same() {
    let questions = TraceQuestions::with_memory(Arc::new(open(fixture("leaky_cache_v2.ctf"))), 0);
    assert!(questions.why_slow().is_some_and(|why| why.contains("memory")));
    check(&questions, &Filter::default(), "no memory");
}

/// What a trace says about its first objects, valid or not.
enum TestEvent {
    Alloc,
    Promote(u64),
    Collect(u64),
}

fn trace_of(told: &[TestEvent]) -> TraceFile {
    let mut writer = Writer::new(Vec::new(), info(2, 1.0)).expect("a known version");
    for (clock, told) in told.iter().enumerate() {
        let (time, domain) = (Micros(clock as u64 * 7), DomainId(0));
        match *told {
            TestEvent::Alloc => {
                let new = NewAlloc {
                    time,
                    domain,
                    length: Words(3),
                    samples: 1 + clock as u64,
                    source: Source::Minor,
                    stack: &[],
                };
                writer.alloc(&new, &Nowhere).map(drop).expect("a vector takes all");
            }
            TestEvent::Promote(id) => {
                writer.promote(time, domain, ObjectId(id)).expect("a vector takes all")
            }
            TestEvent::Collect(id) => {
                writer.collect(time, domain, ObjectId(id)).expect("a vector takes all")
            }
        }
    }
    open(writer.finish().expect("a vector takes all"))
}

struct Nowhere;

impl Locate for Nowhere {
    fn locate(&self, _: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        found(&[]);
    }
}

#[test]
fn inconsistent_traces_are_answered_by_passes() {
    use TestEvent::{Alloc, Collect, Promote};
    let table: &[(&str, &[TestEvent], bool)] = &[
        ("sound", &[Alloc, Promote(0), Alloc, Collect(1), Collect(0)], false),
        ("of others", &[Alloc, Collect(9), Promote(8), Alloc, Collect(0)], false),
        ("twice", &[Alloc, Alloc, Collect(0), Collect(0)], true),
        ("promoted twice", &[Alloc, Promote(0), Promote(0), Alloc], true),
        ("promoted when dead", &[Alloc, Collect(0), Promote(0), Alloc], true),
        ("before its birth", &[Alloc, Collect(1), Alloc, Alloc], true),
    ];
    for (what, told, is_slow) in table {
        let questions = TraceQuestions::with_memory(Arc::new(trace_of(told)), u64::MAX);
        questions.wait_until_read();
        assert_eq!(questions.why_slow().is_some(), *is_slow, "{what}");
        let at = Some(Time(Micros(10)));
        let later = Between { from: at, to: None };
        for filter in [
            Filter::default(),
            Filter { live: vec![Live::AtEnd], ..Filter::default() },
            Filter { live: vec![Live::In(later)], ..Filter::default() },
            Filter { lifetime: later, ..Filter::default() },
        ] {
            check(&questions, &filter, what);
        }
    }
}

#[test]
fn stack_filters_note_truncated_stacks() {
    let notes = |capped_stacks, filter: &Filter| {
        let recorder = Recorder { depth: 3, capped_stacks, ..Recorder::default() };
        let about = TraceInfo { context: recorder.context(), ..info(2, 1.0) };
        let writer = Writer::new(Vec::new(), about).expect("a known version");
        let trace = open(writer.finish().expect("a vector takes all"));
        TraceQuestions::with_memory(Arc::new(trace), u64::MAX).notes(filter, None)
    };
    let inside =
        Filter { inside: vec![FramePattern::File(pattern("main.ml"))], ..Filter::default() };
    let [said] = &notes(7, &inside)[..] else { panic!("nothing is said") };
    assert!(said.starts_with("7 call stacks were recorded with 3 frames only"), "{said}");
    assert!(notes(0, &inside).is_empty() && notes(7, &Filter::default()).is_empty());
}
