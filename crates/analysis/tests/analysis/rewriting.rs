//! Rewritten traces contain what they should, and no more.

use bactrian_analysis::{Changes, TraceFile, rewrite};
use bactrian_trace::{DomainId, Micros, Source};
use proptest::prelude::*;

use crate::model::{Frame, Model, Object};
use crate::programs::{Block, ONE_PACKET, filters, open, trace_of_blocks, traces, traces_of};

fn rewritten(trace: &TraceFile, changes: &Changes) -> TraceFile {
    let mut bytes = Vec::new();
    rewrite(trace, changes, &mut bytes).expect("a vector takes all");
    open(bytes)
}

/// What should remain of an object.
fn changed(object: &Object, version: u16, changes: &Changes) -> Object {
    let until = changes.until.unwrap_or(Micros::MAX);
    let in_time = |time: Option<Micros>| time.filter(|&time| time <= until);
    let frame = |frame: &Frame| match changes.strip_names {
        true => Frame { spots: Vec::new(), ..*frame },
        false => frame.clone(),
    };
    Object {
        promoted: in_time(object.promoted),
        died: in_time(object.died),
        domain: if version < 3 { DomainId(0) } else { object.domain },
        stack: object.stack.iter().map(frame).collect(),
        ..object.clone()
    }
}

proptest! {
    #[test]
    fn rewritten_trace_has_the_selected_objects(
        trace in traces(),
        filter in filters(),
        version in prop::option::of(2..=3u16),
        until in prop::option::of((0..3_000u64).prop_map(Micros)),
        strip_names in any::<bool>(),
    ) {
        let changes = Changes { version, filter, until, strip_names, ..Changes::default() };
        let version = version.unwrap_or(trace.info().version);
        let model = Model::read(&trace);
        let admitted = model.admitted(&changes.filter);
        let born_in_time = |object: &Object| until.is_none_or(|until| object.born <= until);
        let wanted = model.objects.iter().zip(admitted);
        let wanted = wanted.filter(|(object, admitted)| *admitted && born_in_time(object));
        let expected: Vec<_> =
            wanted.map(|(object, _)| changed(object, version, &changes)).collect();

        let new = rewritten(&trace, &changes);
        prop_assert_eq!(Model::read(&new).objects, expected);
        prop_assert_eq!(new.info().version, version);
        prop_assert_eq!(new.info().sample_rate, trace.info().sample_rate);
        let names = [&new.info().executable, &new.info().host, &new.info().context];
        prop_assert_eq!(names.iter().all(|name| name.is_empty()), strip_names);
    }

    #[test]
    fn a_rewrite_that_changes_nothing_gives_the_same_bytes(trace in traces_of(2, 1, ONE_PACKET)) {
        let changes = Changes::default();
        prop_assert!(changes.change_nothing());
        prop_assert!(rewritten(&trace, &changes).bytes() == trace.bytes());
    }
}

#[test]
fn subsampling_keeps_each_sample_with_the_same_probability() {
    let block = |samples| Block { length: 1, samples, source: Source::Minor, stack: vec![1] };
    // Blocks with one sample, with several, and with very many.
    for (samples, blocks) in [(1, 20_000), (7, 3_000), (1_000_000, 20)] {
        let trace = trace_of_blocks(0.5, &vec![block(samples); blocks]);
        for (rate, seed) in [(0.25, 1), (0.05, 2), (0.05, 3), (0.5, 4), (0.9, 5)] {
            let subsample = Some((rate, seed));
            let thin = rewritten(&trace, &Changes { subsample, ..Changes::default() });
            let share = (rate / 0.5f64).min(1.0);
            assert_eq!(thin.info().sample_rate, rate.min(0.5));
            let kept: u64 = Model::read(&thin).objects.iter().map(|object| object.samples).sum();
            let all = (samples * blocks as u64) as f64;
            let deviation = (all * share * (1.0 - share)).sqrt();
            let off = (kept as f64 - all * share).abs();
            assert!(off <= 4.0 * deviation, "{kept} of {all} at {rate} with seed {seed}");
        }
    }
}
