//! Output of checks, for people and for continuous integration systems.

use std::io::Write;

use bactrian_analysis::check::Verdict;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{BAD, Console, GOOD, WARNING, visible};

/// Output format of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckFormat {
    /// Plain text
    #[default]
    Text,
    /// JSON
    Json,
    /// GitHub Actions: annotations, at the allocating line where it is known
    Github,
    /// A job summary in Markdown
    Markdown,
    /// JUnit XML, for tools that collect test results
    Junit,
    /// SARIF, for tools that collect findings of analysers
    Sarif,
}

/// The outcome of one check.
pub struct CheckOutcome {
    pub verdict: Verdict,
    pub sentence: String,
    /// Why the check failed.
    pub reasons: Vec<Reason>,
}

/// A reason for the outcome of a check.
pub struct Reason {
    pub text: String,
    /// The file and line, if known.
    pub place: Option<(String, u32)>,
}

impl CheckOutcome {
    /// The sentence and its reasons, one per line.
    fn lines(&self) -> String {
        let reasons = self.reasons.iter().map(|reason| format!("\n{}", visible(&reason.text)));
        format!("{}{}", visible(&self.sentence), reasons.collect::<String>())
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Undecided => "undecided",
    }
}

/// Prints outcomes in any format but JSON, which contains more.
pub fn print(
    format: CheckFormat,
    checks: &[CheckOutcome],
    console: &mut Console,
) -> Result<(), Failure> {
    let text = match format {
        CheckFormat::Text | CheckFormat::Json => return print_text(checks, console),
        CheckFormat::Github => github(checks),
        CheckFormat::Markdown => markdown(checks),
        CheckFormat::Junit => junit(checks),
        CheckFormat::Sarif => format!("{:#}\n", sarif(checks)),
    };
    Ok(write!(console.out(), "{text}")?)
}

fn print_text(checks: &[CheckOutcome], console: &mut Console) -> Result<(), Failure> {
    for check in checks {
        let style = match check.verdict {
            Verdict::Passed => GOOD,
            Verdict::Failed => BAD,
            Verdict::Undecided => WARNING,
        };
        let word = word(check.verdict);
        writeln!(console.out(), "{style}{word:<9}{style:#} {}", check.sentence)?;
        for reason in &check.reasons {
            writeln!(console.out(), "  {}", visible(&reason.text))?;
        }
    }
    Ok(())
}

/// GitHub workflow commands: one line for each check that did not pass.
fn github(checks: &[CheckOutcome]) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    let line = |check: &CheckOutcome| {
        let level = match check.verdict {
            Verdict::Passed => "notice",
            Verdict::Failed => "error",
            Verdict::Undecided => "warning",
        };
        let place = check.reasons.iter().find_map(|reason| reason.place.as_ref());
        let place = place
            .map_or(String::new(), |(file, line)| format!("file={},line={line},", property(file)));
        let title = format!("memory {}", word(check.verdict));
        format!("::{level} {place}title={title}::{}\n", escaped(&check.lines()))
    };
    checks.iter().map(line).collect()
}

fn markdown(checks: &[CheckOutcome]) -> String {
    let escaped = |text: &str| visible(text).replace('|', "\\|").replace('<', "&lt;");
    let mut text = "| memory | check |\n| --- | --- |\n".to_owned();
    for check in checks {
        let reasons = check.reasons.iter().map(|reason| format!("<br>{}", escaped(&reason.text)));
        let (word, sentence) = (word(check.verdict), escaped(&check.sentence));
        text.push_str(&format!("| {word} | {sentence}{} |\n", reasons.collect::<String>()));
    }
    text
}

fn junit(checks: &[CheckOutcome]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (failed, skipped) = (count(Verdict::Failed), count(Verdict::Undecided));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"bactrian check\" tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\">\n",
        checks.len()
    );
    for check in checks {
        let name = xml(&visible(&check.sentence));
        let inside = match check.verdict {
            Verdict::Passed => String::new(),
            Verdict::Failed => {
                format!("<failure message=\"{name}\">{}</failure>", xml(&check.lines()))
            }
            Verdict::Undecided => format!("<skipped message=\"{name}\"/>"),
        };
        text.push_str(&format!(
            "  <testcase classname=\"bactrian\" name=\"{name}\">{inside}</testcase>\n"
        ));
    }
    text + "</testsuite>\n"
}

fn xml(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

fn sarif(checks: &[CheckOutcome]) -> Value {
    let results = checks.iter().filter(|check| check.verdict != Verdict::Passed).map(|check| {
        let places = check.reasons.iter().filter_map(|reason| reason.place.as_ref());
        let places = places.map(|(file, line)| {
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": file },
                "region": { "startLine": line },
            } })
        });
        let level = if check.verdict == Verdict::Failed { "error" } else { "warning" };
        json!({
            "ruleId": "memory",
            "level": level,
            "message": { "text": check.lines() },
            "locations": places.take(1).collect::<Vec<_>>(),
        })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bactrian",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{ "id": "memory", "shortDescription": { "text": "More memory than allowed" } }],
            } },
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<CheckOutcome> {
        let reason = Reason {
            text: "+1 MB in Cache.add  lib/cache.ml:7".to_owned(),
            place: Some(("lib/cache.ml".to_owned(), 7)),
        };
        let told = |verdict, sentence: &str, reasons| CheckOutcome {
            verdict,
            sentence: sentence.to_owned(),
            reasons,
        };
        vec![
            told(Verdict::Passed, "allocated is 1 MB: below <2 MB>", Vec::new()),
            told(Verdict::Failed, "live went from 1 MB to 2 MB (+100 %)", vec![reason]),
        ]
    }

    #[test]
    fn annotations_point_to_the_allocating_line() {
        let text = github(&checks());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "::notice title=memory passed::allocated is 1 MB: below <2 MB>");
        assert_eq!(
            lines[1],
            "::error file=lib/cache.ml,line=7,title=memory failed::live went from 1 MB to 2 MB \
             (+100 %25)%0A+1 MB in Cache.add  lib/cache.ml:7"
        );
    }

    #[test]
    fn names_break_no_format() {
        assert!(junit(&checks()).contains("below &lt;2 MB&gt;\"></testcase>"));
        assert!(junit(&checks()).contains("(+100 %)\n+1 MB in Cache.add"));
        assert!(junit(&checks()).contains("tests=\"2\" failures=\"1\" skipped=\"0\""));
        assert!(markdown(&checks()).contains("| passed | allocated is 1 MB: below &lt;2 MB> |"));
        let sarif = sarif(&checks());
        let results = &sarif["runs"][0]["results"];
        assert_eq!(results.as_array().map(Vec::len), Some(1));
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "lib/cache.ml");
        assert_eq!(place["region"]["startLine"], 7);
    }
}
