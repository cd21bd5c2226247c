//! Whole pictures.

use super::fixture::profile;
use super::*;

const GOLDEN: &str = include_str!("../../tests/flame/tiny.svg");

fn picture(profile: &Profile, options: &FlameOptions) -> String {
    let mut out = Vec::new();
    write(profile, options, &mut out).expect("room in memory");
    String::from_utf8(out).expect("text")
}

/// The texts of all frames' tooltips and boxes. Fails if the picture is not XML.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("well-formed XML");
    let texts = document.descendants().filter(|node| node.has_tag_name("title"));
    texts.filter_map(|title| title.text()).map(str::to_owned).collect()
}

#[test]
fn a_tiny_picture_is_as_reviewed() {
    let stacks = [
        ("Main.run;Stdlib__List.map;Main.square", 600),
        ("Main.run;Stdlib__Hashtbl.replace", 250),
        ("Main.run;?", 100),
        ("Main.run", 49),
        ("Main.exit", 1),
    ];
    let options = FlameOptions {
        title: "tiny.exe".to_owned(),
        subtitle: "version 2, 1 of 100 words sampled".to_owned(),
        width: 600,
        min_width: 1.0,
        losses: vec!["1 gap between packets".to_owned()],
        ..FlameOptions::default()
    };
    let svg = picture(&profile(0.01, &stacks), &options)
        .replace(include_str!("style.css"), "(style)\n")
        .replace(include_str!("script.js"), "(script)\n");
    assert_eq!(svg, GOLDEN);
}

#[test]
fn hostile_names_are_only_text() {
    let names = [
        "<script>alert(1)</script>",
        "\"quoted\" & 'quoted'",
        "]]>",
        "--><!--",
        "a\u{1}\u{1b}b\nc",
    ];
    let stacks: Vec<_> = names.iter().map(|&name| (name, 10)).collect();
    let hostile = "</title><script>alert(1)</script>]]>\u{7}";
    let options = FlameOptions {
        title: hostile.to_owned(),
        subtitle: hostile.to_owned(),
        losses: vec![hostile.to_owned()],
        ..FlameOptions::default()
    };
    let svg = picture(&profile(1.0, &stacks), &options);
    let found = texts(&svg);
    for name in &names[..4] {
        assert!(found.iter().any(|text| text.starts_with(&format!("{name}\n"))), "{name}");
    }
    assert!(found.iter().any(|text| text.starts_with("a\u{fffd}\u{fffd}b\u{fffd}c\n")));
    assert_eq!(svg.matches("<script").count(), 1, "ours");
}

#[test]
fn script_and_style_do_not_end_their_section() {
    assert!(!include_str!("script.js").contains("]]>"));
    assert!(!include_str!("style.css").contains("]]>"));
}

#[test]
fn flames_grow_either_way() {
    let profile = profile(1.0, &[("A.outer;A.inner", 10)]);
    let heights = |growth| {
        let svg = picture(&profile, &FlameOptions { growth, ..FlameOptions::default() });
        let document = roxmltree::Document::parse(&svg).expect("well-formed XML");
        let boxes = document.descendants().filter(|node| node.attribute("fill").is_some());
        let heights = boxes.map(|node| node.attribute("y").expect("a place").to_owned());
        heights.collect::<Vec<_>>()
    };
    let mut up = heights(Growth::Up);
    up.reverse();
    assert_eq!(heights(Growth::Down), up);
}

#[test]
fn what_is_cut_is_said() {
    let deep = ["A.even", "A.odd"].repeat(MAX_DEPTH).join(";");
    let svg = picture(&profile(1.0, &[(&deep, 10)]), &FlameOptions::default());
    assert!(svg.contains("Cut: 400 frames deeper than 400 levels are not drawn"));
    assert!(svg.contains("what it calls is too deep to draw"));
    let svg = picture(&profile(1.0, &[("A", 1_000_000), ("B", 1)]), &FlameOptions::default());
    assert!(svg.contains("Frames drawn: 2. Left out, because narrower than 0.50 px: 1;"));
}

#[test]
fn nothing_measured_is_a_picture_too() {
    let svg = picture(&profile(1.0, &[]), &FlameOptions::default());
    assert!(texts(&svg).iter().any(|text| text.starts_with("all\n0 B")));
}
