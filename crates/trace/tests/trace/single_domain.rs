//! Traces of version 3 turned into version 2.

use bactrian_trace::write_single_domain;

use crate::scripts::{Step, small_program, write};

fn converted(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let done = write_single_domain(bytes, &mut out).expect("a vector takes all");
    assert!(done || out.is_empty());
    done.then_some(out)
}

#[test]
fn one_domain_is_converted_to_version_2() {
    let steps = small_program();
    assert_eq!(converted(&write(3, &steps, 5).bytes), Some(write(2, &steps, 5).bytes));
}

#[test]
fn damaged_and_multi_domain_traces_are_not_converted() {
    let steps = small_program();
    let sound = write(3, &steps, 5).bytes;
    assert_eq!(converted(&write(2, &steps, 5).bytes), None);
    assert_eq!(converted(&sound[..sound.len() - 1]), None);
    let mut two_domains: Vec<Step> = steps;
    if let Some(last) = two_domains.last_mut() {
        last.domain = 1;
    }
    assert_eq!(converted(&write(3, &two_domains, 5).bytes), None);
    assert_eq!(converted(&[]), Some(Vec::new()));
}
