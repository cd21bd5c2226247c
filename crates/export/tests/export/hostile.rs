//! Names with characters that mean something to a format do not break it, and nothing is lost by them.

use std::io::Read;

use bactrian_analysis::TraceFile;
use bactrian_export::Format;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::traces::{Code, exported, trace};

/// Each of these allocates one block, all of which are sampled, and calls the next.
const NAMES: &[&[u8]] = &[
    b"plain",
    b"semi;colon",
    b"new\nline\r\n",
    b"quote\"s, and 'commas'",
    b"<script>&amp;",
    b"not \xff\xfe UTF-8",
    b"",
    b"ends with 12",
    b"tab\t and \x1b[31m",
    b"back\\slash",
];

pub fn hostile() -> TraceFile {
    let codes: Vec<_> = (1..)
        .zip(NAMES)
        .map(|(code, &name)| Code { code, functions: vec![(name, name, 7)] })
        .collect();
    let stack: Vec<u64> = codes.iter().map(|code| code.code).collect();
    let allocations: Vec<_> =
        (1..=stack.len()).map(|depth| (&stack[..depth], 1, 2, false)).collect();
    trace(&codes, 1.0, &allocations)
}

/// The names as tools show them.
pub fn shown_names() -> impl Iterator<Item = String> {
    let names = NAMES.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    names.map(|name| if name.is_empty() { "[no name]".to_owned() } else { name })
}

const TOTAL: u64 = 16 * NAMES.len() as u64;

fn text(format: Format) -> String {
    String::from_utf8(exported(&hostile(), format)).expect("text is UTF-8")
}

#[test]
fn folded_has_a_line_per_stack() {
    let folded = text(Format::Folded);
    assert_eq!(folded.lines().count(), NAMES.len());
    for (depth, line) in (1..).zip(folded.lines()) {
        let (stack, value) = line.split_once(' ').expect("a stack and a value");
        assert_eq!((stack.split(';').count(), value), (depth, "16"), "{line}");
    }
    assert!(
        folded.lines().last().expect("some").contains(";[no_name];ends_with_12;tab__and__[31m;")
    );
}

#[test]
fn folded_output_makes_a_flame_graph() {
    let folded = text(Format::Folded);
    let mut svg = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    options.count_name = "bytes".to_owned();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut svg).expect("it is drawn");
    let svg = String::from_utf8(svg).expect("SVG is UTF-8");
    assert!(svg.contains(&format!("<title>all ({TOTAL} bytes, 100%)</title>")), "{svg}");
}

#[test]
fn csv_has_a_row_per_stack() {
    let csv = text(Format::Csv);
    let rows: Vec<_> = csv.strip_suffix("\r\n").expect("rows end").split("\r\n").collect();
    assert_eq!(rows.len(), 1 + NAMES.len());
    for (depth, row) in (1..).zip(&rows[1..]) {
        let (stack, numbers) = row[1..].rsplit_once('"').expect("the stack is quoted");
        assert_eq!(stack.split(';').count(), depth, "{row}");
        assert!(!stack.replace("\"\"", "").contains('"'), "{row}");
        assert!(numbers.starts_with(",1.00,1.00,1.00,16.00,"), "{row}");
    }
}

#[test]
fn json_holds_the_names_as_they_are() {
    let read = |format| serde_json::from_str::<Value>(&text(format)).expect("it is JSON");
    let names = NAMES.iter().map(|name| String::from_utf8_lossy(name));

    let json = read(Format::Json);
    let labels = json["labels"].as_array().expect("labels").iter();
    assert!(names.eq(labels.map(|label| label["name"].as_str().expect("a name"))));
    assert_eq!(json["columns"][1]["total"]["value"], TOTAL as f64);

    let speedscope = read(Format::Speedscope);
    let frames = speedscope["shared"]["frames"].as_array().expect("frames");
    assert!(shown_names().eq(frames.iter().map(|frame| frame["name"].as_str().expect("a name"))));
    assert_eq!(speedscope["profiles"][0]["endValue"], TOTAL);

    let firefox = read(Format::Firefox);
    let strings = &firefox["shared"]["stringArray"];
    let functions = firefox["shared"]["funcTable"]["name"].as_array().expect("names");
    let functions = functions.iter().map(|at| &strings[at.as_u64().expect("a number") as usize]);
    assert!(shown_names().eq(functions.map(|name| name.as_str().expect("a name"))));
}

#[test]
fn pprof_holds_the_names_as_they_are() {
    let mut bytes = Vec::new();
    GzDecoder::new(&exported(&hostile(), Format::Pprof)[..]).read_to_end(&mut bytes).expect("gzip");
    for name in NAMES.iter().map(|name| String::from_utf8_lossy(name)) {
        // Field 6 of the profile, a string.
        let string = [&[6 << 3 | 2, name.len() as u8], name.as_bytes()].concat();
        assert!(bytes.windows(string.len()).any(|window| window == string), "{name:?}");
    }
}

#[test]
fn empty_traces_can_be_exported() {
    let empty = trace(&[], 0.5, &[]);
    for &format in Format::ALL {
        let file = exported(&empty, format);
        assert_eq!(file.is_empty(), format == Format::Folded, "{format}");
    }
}
