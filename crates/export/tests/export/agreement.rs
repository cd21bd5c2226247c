//! All formats contain the same stacks and sum to Bactrian's own totals.

use bactrian_analysis::{Profile, TraceFile};
use bactrian_export::Format;
use serde_json::Value;

use crate::traces::{Code, exported, profile, trace};

/// Many stacks of few functions in no order, with common prefixes of every length.
fn branching() -> TraceFile {
    let names: [&[u8]; 5] = [b"A.a", b"B.b", b"C.c", b"D.d", b"E.e"];
    let codes: Vec<_> = (1..)
        .zip(names)
        .map(|(code, name)| Code { code, functions: vec![(name, b"abc.ml", code as u32)] })
        .collect();
    let mut state = 1u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % limit
    };
    let stacks: Vec<Vec<u64>> =
        (0..500).map(|_| (0..below(8)).map(|_| 1 + below(5)).collect()).collect();
    let allocations: Vec<_> =
        stacks.iter().map(|s| (&s[..], below(300), 1 + below(3), below(2) == 0)).collect();
    trace(&codes, 0.013, &allocations)
}

fn text(format: Format) -> String {
    String::from_utf8(exported(&branching(), format)).expect("text is UTF-8")
}

fn json(format: Format) -> Value {
    serde_json::from_str(&text(format)).expect("it is JSON")
}

fn totals(Profile { columns, .. }: &Profile) -> Vec<u64> {
    columns.iter().map(|c| c.estimate(c.total()).value.round() as u64).collect()
}

/// The labels of a stack, outermost first, found through its parents.
fn labels(stacks: &Value, at: usize) -> Vec<u64> {
    let mut labels = Vec::new();
    let mut stack = &stacks[at];
    while let (Some(label), Some(parent)) = (stack["label"].as_u64(), stack["parent"].as_u64()) {
        labels.insert(0, label);
        stack = &stacks[parent as usize];
    }
    labels
}

#[test]
fn speedscope_has_the_stacks_of_the_tree() {
    let (tree, speedscope) = (json(Format::Json), json(Format::Speedscope));
    let no_stack = tree["labels"].as_array().expect("labels").len() as u64;
    let stacks = tree["stacks"].as_array().expect("stacks");
    let with_values = (0..stacks.len()).filter(|&at| stacks[at].get("values").is_some());
    let expected: Vec<_> = with_values
        .map(|at| labels(&tree["stacks"], at))
        .map(|labels| if labels.is_empty() { vec![no_stack] } else { labels })
        .collect();
    assert_eq!(speedscope["profiles"][0]["samples"], Value::from(expected));
}

#[test]
fn integers_sum_to_the_totals() {
    let trace = branching();
    let numbers = |values: &Value| -> u64 {
        values.as_array().expect("numbers").iter().map(|value| value.as_u64().expect("whole")).sum()
    };

    let folded = text(Format::Folded);
    let values = folded.lines().map(|line| line.rsplit_once(' ').expect("a value").1);
    let sum: u64 = values.map(|value| value.parse::<u64>().expect("a number")).sum();
    assert_eq!([sum], totals(&profile(&trace, Format::Folded))[..]);

    let speedscope = json(Format::Speedscope);
    let profiles = speedscope["profiles"].as_array().expect("profiles").iter();
    let sums: Vec<_> = profiles.map(|profile| numbers(&profile["weights"])).collect();
    assert_eq!(sums, totals(&profile(&trace, Format::Speedscope)));

    let firefox = json(Format::Firefox);
    let threads = firefox["threads"].as_array().expect("threads").iter();
    let sums: Vec<_> = threads.map(|thread| numbers(&thread["samples"]["weight"])).collect();
    assert_eq!(sums, totals(&profile(&trace, Format::Firefox)));
}
