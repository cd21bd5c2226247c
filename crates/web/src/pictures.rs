//! Pictures as files, drawn by the page's own script, so that they look the same as in the page.

use bactrian_analysis::Flame;
use bactrian_analysis::heap::{GraphAnswer, HeapDiffFlame};
use rquickjs::Function;
use serde::Serialize;

use crate::script::with_page;

/// The caption and the layout of a flame graph.
#[derive(Clone, Debug, Serialize)]
pub struct FlameAbout {
    /// What was lost or estimated, in sentences.
    pub notes: Vec<String>,
    /// Whether callees stand above their callers.
    pub up: bool,
    /// Width in pixels; in a browser the picture fills its window.
    pub width: u32,
}

/// A flame graph as one SVG file, with zoom and search in any browser.
///
/// # Errors
/// The message of an error in the page's script.
pub fn flame_svg(flame: &Flame, about: &FlameAbout) -> Result<String, String> {
    drawn("flameFile", flame, about)
}

/// A flame graph of two heaps, with notes on what was lost of them.
///
/// # Errors
/// The message of an error in the page's script.
pub fn heap_flame_svg(flame: &HeapDiffFlame, notes: Vec<String>) -> Result<String, String> {
    drawn("heapFlameFile", flame, &serde_json::json!({ "notes": notes }))
}

/// A heap, or the neighbourhood of a block, as an SVG file.
///
/// # Errors
/// The message of an error in the page's script.
pub fn graph_svg(graph: &GraphAnswer, title: &str) -> Result<String, String> {
    drawn("graphFile", graph, &serde_json::json!({ "title": title }))
}

/// Calls a function of the page's script with an answer.
fn drawn(
    function: &str,
    answer: &impl Serialize,
    about: &impl Serialize,
) -> Result<String, String> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(|error| error.to_string());
    let answer = json(serde_json::to_string(answer))?;
    let about = json(serde_json::to_string(about))?;
    with_page(
        move |ctx, offered| {
            let draw: Function<'_> = offered.get(function)?;
            draw.call((ctx.json_parse(answer)?, ctx.json_parse(about)?))
        },
        || (),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_a_picture() {
        for name in
            ["Main.(<&>)", "\"]]>\\", "a\0b\u{1b}[31m\n\u{202e}", "été 数", "</title><script>"]
        {
            let graph = serde_json::json!({
                "total": 1600, "blocks": 100, "all": 7,
                "sets": [
                    { "kind": "root", "node": null, "address": null, "what": "all roots", "entry_blocks": 1, "alike": 1,
                      "blocks": 0, "bytes": 0, "share": 0.0, "classes": [] },
                    { "kind": "large", "node": 4, "address": null, "what": name, "entry_blocks": 1, "alike": 1,
                      "blocks": 60, "bytes": 960, "share": 0.6, "classes": [{ "name": name, "blocks": 60, "bytes": 960 }] },
                ],
                "edges": [{ "from": 0, "to": 1, "pointers": 1, "left_out": 0 }],
            });
            let svg = drawn("graphFile", &graph, &serde_json::json!({ "title": name }))
                .expect("a picture");
            let document = roxmltree::Document::parse(&svg).expect("well-formed XML");
            let count =
                |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
            assert_eq!((count("circle"), count("script")), (2, 0), "{name}");
        }
    }

    #[test]
    fn errors_of_the_page_are_reported() {
        let nothing = serde_json::json!(null);
        let error = drawn("graphFile", &nothing, &nothing).expect_err("there is nothing to draw");
        assert!(error.starts_with("Error: ") && error.contains("app.js"), "{error}");
    }
}
