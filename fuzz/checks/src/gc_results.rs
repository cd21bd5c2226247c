//! Result files of `bactrian gc`: any bytes are either refused or answered, and what is answered can be written and read again.

use bactrian_advice::answer::Answer;
use bactrian_advice::comparison::compare;
use bactrian_advice::file::GcResult;
use bactrian_advice::plan;

/// Checks the reader and all that is derived from what it lets through.
pub fn check(bytes: &[u8]) {
    let Ok(result) = GcResult::parse(bytes) else { return };
    let written = result.to_bytes().expect("what was read can be written");
    assert_eq!(GcResult::parse(&written).expect("what was written can be read"), result);
    for subject in &result.subjects {
        let _ = plan::next(&subject.measurements(), result.goal, result.budget);
    }
    let answers = Answer::of(&result);
    for answer in &answers {
        for cell in answer.grid.iter().chain(&answer.front).chain([&answer.present]) {
            for interval in [cell.time, cell.rss] {
                let is_sane = interval.low <= interval.value && interval.value <= interval.high;
                assert!(is_sane && interval.high.is_finite(), "{cell:?}");
            }
        }
        if let Some(recommended) = &answer.recommended {
            assert!(recommended.choice.cell.is_measured);
        }
    }
    if let [first, second] = &answers[..] {
        compare(first, second);
    }
}
