//! Reports: one file with the page and the answers that it asks for on a tour through its views, to be opened
//! from disk and sent around.
//!
//! Every answer is compressed by itself, so that the page only unpacks what it shows, and so that the size of
//! the file is known while answers are added. Answers that do not fit are listed in the page.

use std::io::{self, Write};

use bactrian_analysis::SourceQuestion;
use bactrian_analysis::question::{Question, QuestionError};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Map, Value, json};

use crate::api;
use crate::evidence::Evidence;
use crate::page;
use crate::query::Query;
use crate::tour::{Asked, tour};

/// Options of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    /// The maximum size, in bytes.
    pub most_bytes: usize,
    /// Whether to include source lines.
    pub sources: bool,
}

/// What a report contains.
#[derive(Debug)]
pub struct Report {
    /// The size of the file, in bytes.
    pub bytes: usize,
    /// The number of answers.
    pub answers: usize,
    /// Answers that did not fit, as the commands that print them.
    pub left_out: Vec<String>,
    /// Why the tour ended early; normally None. This is a bug in the page: the report lacks the answers to later questions.
    pub fault: Option<String>,
}

/// The placeholders for script and style in the built page.
const SCRIPT: &str = r#"<script type="module" crossorigin src="./app.js"></script>"#;
const STYLE: &str = r#"<link rel="stylesheet" crossorigin href="./app.css">"#;
/// Forbids loading anything from elsewhere.
const POLICY: &str = r#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">"#;
/// Bytes reserved for the list of omitted answers.
const RESERVE: usize = 64 << 10;

/// Answers what the page asks, and writes the page with the answers. `progress` is called with the fraction
/// done.
///
/// # Errors
/// If the file cannot be written, or not even the page fits.
pub fn write_report(
    evidence: &Evidence,
    options: &ReportOptions,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(f64),
) -> io::Result<Report> {
    let (before, after) = page_around_answers();
    let mut room =
        options.most_bytes.checked_sub(before.len() + after.len() + RESERVE).ok_or_else(|| {
            io::Error::other(format!(
                "{} bytes are too few for the page alone; allow more with --max-size",
                options.most_bytes
            ))
        })?;
    let mut answers = Map::new();
    let mut left_out = Vec::new();
    let ended = tour(&mut |Asked { question, done }| {
        progress(done);
        let (name, query) = question.split_once('?').unwrap_or((&question, ""));
        let answer = if name == SourceQuestion::NAME && !options.sources {
            let reason = "sources were left out of this report (--no-sources)";
            Err(QuestionError::Wrong(reason.to_owned()))
        } else {
            api::answer(evidence, name, &Query::parse(query))
        };
        // The reason why there is no answer is stored as an answer.
        let json = match &answer {
            Ok(answer) => serde_json::to_string(answer).ok()?,
            Err(failure) => json!({ "error": failure.to_string() }).to_string(),
        };
        let packed = packed(json.as_bytes()).ok()?;
        match room.checked_sub(question.len() + packed.len() + 8) {
            Some(rest) => {
                room = rest;
                answers.insert(question, Value::String(packed));
            }
            None => {
                left_out.push(answer.ok().and_then(|answer| answer.command).unwrap_or(question))
            }
        }
        Some(json)
    });
    // By now, every requested file is open.
    let files = api::answer(evidence, api::FILES, &Query::default()).map(|files| json!(files));
    if let Ok(files) = files {
        answers.insert(
            format!("{}?", api::FILES),
            Value::String(packed(files.to_string().as_bytes())?),
        );
    }
    progress(1.0);
    left_out.dedup();
    let count = answers.len();
    let told = left_out.iter().take(200).collect::<Vec<_>>();
    let data = json!({ "answers": answers, "left_out": told, "most_bytes": options.most_bytes });
    // In a script element only `</script` ends the data, which cannot occur without `<`.
    let data = data.to_string().replace('<', "\\u003c");
    for part in [&before, &data, &after] {
        out.write_all(part.as_bytes())?;
    }
    Ok(Report {
        bytes: before.len() + data.len() + after.len(),
        answers: count,
        left_out,
        fault: ended.err(),
    })
}

/// The page with script and style inlined, split where the answers go.
fn page_around_answers() -> (String, String) {
    let script = page::text("app.js").replace("</script", "<\\/script");
    let style = page::text("app.css").replace("</style", "<\\/style");
    let html = page::text("index.html").replace(STYLE, &format!("{POLICY}<style>{style}</style>"));
    let (before, after) = html.split_once(SCRIPT).unwrap_or((&html, ""));
    let (script_first, body) = after.split_once("</body>").unwrap_or((after, ""));
    let before = format!("{before}{script_first}<script type=\"application/json\" id=\"answers\">");
    let after = format!("</script><script type=\"module\">{script}</script></body>{body}");
    (before, after)
}

/// Compressed and base64-encoded.
fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(base64(&encoder.finish()?))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let is_there = digit <= three.len();
            let six = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if is_there { char::from(DIGITS[six]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn page_has_its_placeholders() {
        let html = page::text("index.html");
        assert!(html.contains(SCRIPT) && html.contains(STYLE), "{html}");
        let (before, after) = page_around_answers();
        assert!(before.contains("<style>") && before.contains("Content-Security-Policy"));
        assert_eq!(after.matches("</script").count(), 2);
    }
}
