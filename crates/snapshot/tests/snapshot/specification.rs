//! The specification speaks of the version that the code reads and writes.

#[test]
fn the_specification_is_of_this_version() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/heap.md");
    let text = std::fs::read_to_string(path).expect("the specification is there");
    let title = format!("version {}", bactrian_snapshot::VERSION);
    assert!(text.lines().next().is_some_and(|line| line.ends_with(&title)), "{title}");
}
