//! The promises of questions as parameters, which anybody can write into a URL.

use bactrian_analysis::TopQuestion;
use bactrian_analysis::question::parameters;

/// Takes `text` as parameters, one per line: a name, `=`, a value. The valid ones are written in a form that
/// parses again and means the same.
pub fn check(text: &str) {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        pairs.push(line.split_once('=').unwrap_or((line, "")));
        if parameters::read::<TopQuestion>(pairs.iter().copied()).is_err() {
            pairs.pop();
        }
    }
    let question: TopQuestion = parameters::read(pairs).expect("all of it was understood");
    let written = parameters::pairs(&question);
    let written = written.iter().map(|(parameter, value)| (&*parameter.name, &**value));
    let again: TopQuestion = parameters::read(written).expect("what we write is understood");
    assert_eq!(again, question);
    // Contradictions are rejected.
    let _ = question.filter.filter();
}
