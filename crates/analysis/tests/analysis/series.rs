//! Answers over time and by class: timelines, lifetimes, and differences between two traces.

use std::collections::{BTreeSet, HashMap};

use bactrian_analysis::units::Time;
use bactrian_analysis::{
    By, Filter, LIFETIME_CLASSES, Label, LifetimeRow, Live, Measure, Of, SIZE_CLASSES, Scale,
    Selection, Tally, Unit, contents, diff, find_peak, lifetimes, timeline, top,
};
use bactrian_trace::{Micros, Source};
use proptest::prelude::*;

use crate::model::{Change, Model, Object, close};
use crate::programs::{Block, filters, trace_of_blocks, traces};

fn tally(samples: u64) -> Tally {
    let mut tally = Tally::default();
    tally.count(samples, 1.0);
    tally
}

/// The class of a value, by comparing with all bounds.
fn class(value: u64, upper_ends: &[u64]) -> usize {
    upper_ends.iter().filter(|&&end| value > end).count()
}

/// Lifetimes and sizes of some objects, as a `LifetimeRow`.
fn life(label: Label, objects: &[&Object], scale: Scale) -> LifetimeRow {
    let of = |wanted: &dyn Fn(&Object) -> bool| {
        let wanted = objects.iter().filter(|object| wanted(object));
        scale.estimate(tally(wanted.map(|object| object.samples).sum()))
    };
    let lived = |o: &Object| o.died.map(|died| class(died.since(o.born).0, &LIFETIME_CLASSES));
    let classes = |upper_ends: &[u64]| 0..=upper_ends.len();
    LifetimeRow {
        label,
        allocated: of(&|_| true),
        lifetimes: classes(&LIFETIME_CLASSES).map(|c| of(&|o| lived(o) == Some(c))).collect(),
        never: of(&|o| o.died.is_none()),
        sizes: classes(&SIZE_CLASSES)
            .map(|c| of(&|o| class(o.length.0, &SIZE_CLASSES) == c))
            .collect(),
    }
}

fn same_life(a: &LifetimeRow, b: &LifetimeRow) -> bool {
    let parts = |life: &LifetimeRow| {
        let one = [life.allocated, life.never];
        one.into_iter().chain(life.lifetimes.clone()).chain(life.sizes.clone()).collect::<Vec<_>>()
    };
    a.label == b.label && parts(a).iter().zip(&parts(b)).all(|(a, b)| close(a, b))
}

proptest! {
    #[test]
    fn a_timeline_replays_births_and_deaths(
        trace in traces(), filter in filters(), intervals in 1..12usize,
    ) {
        let model = Model::read(&trace);
        let admitted = model.admitted(&filter);
        let replay: Vec<_> = model.live_samples(&admitted).collect();
        let found = timeline(&trace, &filter, intervals);
        prop_assert_eq!(found.points.len(), intervals);
        let scale = trace.bytes_scale();
        let mut begin = Micros(0);
        for (place, point) in found.points.iter().enumerate() {
            let is_last = place + 1 == intervals;
            let end = if is_last { Micros::MAX } else { point.time.0 };
            let before = |time: Micros| replay.iter().rev().find(|change| change.0 < time);
            let live_before = |time: Micros| before(time).map_or(0, |change| change.2);
            let inside = replay.iter().filter(|change| begin <= change.0 && change.0 < end);
            let max = inside.map(|change| change.2).chain([live_before(begin)]).max();
            let born = (model.changes.iter()).filter(|&&(time, change, object)| {
                change == Change::Birth && admitted[object] && begin <= time && time < end
            });
            let born = born.map(|&(_, _, object)| model.objects[object].samples).sum();
            prop_assert!(close(&point.live, &scale.estimate(tally(live_before(end)))));
            prop_assert!(close(&point.max, &scale.estimate(tally(max.unwrap_or(0)))));
            prop_assert!(close(&point.allocated, &scale.estimate(tally(born))));
            begin = end;
        }
        let (time, samples) = model.peak(&admitted);
        prop_assert_eq!(found.peak_time, Time(time));
        prop_assert!(close(&found.peak, &scale.estimate(tally(samples))));
    }

    #[test]
    fn all_answers_agree_on_the_peak(trace in traces(), filter in filters()) {
        let model = Model::read(&trace);
        let (time, samples) = model.peak(&model.admitted(&filter));
        let peak = find_peak(&trace, &Selection::new(&trace, &filter));
        prop_assert_eq!((peak.time, peak.samples), (time, samples));
        let contents = contents(&trace, &filter);
        prop_assert_eq!(contents.peak_time, Time(time));
        prop_assert!(close(&contents.peak, &trace.bytes_scale().estimate(tally(samples))));
        if !filter.live.contains(&Live::AtPeak) {
            let at_peak = top(&trace, &filter, By::Site, Measure::bytes(Of::LiveAtPeak));
            prop_assert_eq!(at_peak.peak, Some(peak));
            prop_assert!(close(&at_peak.all, &contents.peak));
        }
    }

    #[test]
    fn lifetimes_put_objects_into_their_classes(trace in traces(), filter in filters()) {
        let model = Model::read(&trace);
        let admitted = model.admitted(&filter);
        let admitted = model.objects.iter().zip(admitted).filter(|(_, wanted)| *wanted);
        let mut by_label: HashMap<Label, Vec<&Object>> = HashMap::new();
        for (object, _) in admitted.clone() {
            let innermost = object.path(By::Function, &filter.hidden).pop();
            let no_stack = || Label { name: "[no stack]".to_owned(), ..Label::default() };
            by_label.entry(innermost.unwrap_or_else(no_stack)).or_default().push(object);
        }
        let scale = trace.bytes_scale();
        let found = lifetimes(&trace, &filter, By::Function);
        prop_assert_eq!(found.rows.len(), by_label.len());
        for row in &found.rows {
            let expected = life(row.label.clone(), &by_label[&row.label], scale);
            prop_assert!(same_life(row, &expected), "{:?}", row);
        }
        let all: Vec<_> = admitted.map(|(object, _)| object).collect();
        prop_assert!(same_life(&found.all, &life(found.all.label.clone(), &all, scale)));
    }

    #[test]
    fn diff_has_each_label_once_and_marks_significant_changes(
        before in traces(),
        after in traces(),
        filter in filters(),
        unit in prop::sample::select(vec![Unit::Bytes, Unit::Objects]),
    ) {
        let measure = Measure { unit, of: Of::Allocated };
        let tops = [&before, &after].map(|trace| top(trace, &filter, By::Function, measure));
        let found = diff(&tops[0], &tops[1]);
        let labels: BTreeSet<_> = tops.iter().flat_map(|t| &t.rows).map(|row| &row.label).collect();
        prop_assert_eq!(&found.rows.iter().map(|row| &row.label).collect::<BTreeSet<_>>(), &labels);
        prop_assert_eq!(found.rows.len(), labels.len());
        for row in &found.rows {
            for (top, own, total) in [
                (&tops[0], row.own.before, row.total.before),
                (&tops[1], row.own.after, row.total.after),
            ] {
                let there = top.rows.iter().find(|r| r.label == row.label);
                let expected = there.map_or((top.none, top.none), |r| (r.own, r.total));
                prop_assert_eq!((own, total), expected);
            }
            for delta in [row.own, row.total] {
                let (a, b) = (delta.before, delta.after);
                prop_assert!((delta.change.value - (b.value - a.value)).abs() < 1e-6);
                // In a table with many rows, the threshold for a change is higher than for a single one.
                prop_assert!(!delta.significant || delta.change.is_significant(), "{:?}", delta);
                let sampled = a.low < a.high && b.low < b.high;
                let each_holds_the_other = (a.low..=a.high).contains(&b.value)
                    && (b.low..=b.high).contains(&a.value);
                if sampled && each_holds_the_other {
                    prop_assert!(!delta.significant, "intervals overlap: {:?}", delta);
                }
            }
        }
        let rank = |row: &bactrian_analysis::Change| (!row.own.significant, !row.total.significant);
        prop_assert!(found.rows.is_sorted_by_key(rank));
        prop_assert_eq!(diff(&tops[0], &tops[0]).significant().count(), 0);
    }
}

#[test]
fn a_timeline_of_a_short_trace_ends_with_what_is_live_then() {
    let block = Block { length: 1, samples: 3, source: Source::Minor, stack: vec![1] };
    let trace = trace_of_blocks(1.0, &[block]);
    let found = timeline(&trace, &Filter::default(), 4);
    let live: Vec<_> = found.points.iter().map(|point| point.live.value).collect();
    assert_eq!(live, [0.0, 0.0, 0.0, 24.0]);
}
