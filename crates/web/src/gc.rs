//! The question about a result of `bactrian gc`: the same answer as `bactrian gc FILE --json`, for the goal in the file or another.

use bactrian_advice::choice::{Goal, percent};
use bactrian_advice::comparison::GcAnswers;
use bactrian_advice::file::GcResult;
use bactrian_analysis::question::{CommandLine, QuestionError};
use bactrian_analysis::units::Bytes;

use crate::answer::Answer;
use crate::evidence::File;
use crate::query::Query;

/// The name of the question.
pub const GC: &str = "gc";

/// Answers the question about a result.
///
/// # Errors
/// If a parameter is unknown or wrong.
pub fn answer(file: &File, result: &GcResult, query: &Query) -> Result<Answer, QuestionError> {
    let mut goal = None;
    let mut command = CommandLine::new("gc").file(&file.path);
    for (name, value) in query.pairs() {
        let wrong = |why: String| QuestionError::Wrong(format!("{name}: {why}"));
        let wanted = match name.as_str() {
            "file" => continue,
            "memory" => {
                let Bytes(bytes) = value.parse().map_err(|why| wrong(format!("{why}")))?;
                Goal::Memory(bytes)
            }
            "slower" => Goal::Slower(percent(value).map_err(wrong)?),
            _ => return Err(wrong("no such parameter".to_owned())),
        };
        if goal.replace(wanted).is_some() {
            return Err(wrong("there is another goal already".to_owned()));
        }
        command = command.option(name, value);
    }
    let goal = goal.unwrap_or(result.goal);
    let answers = GcAnswers::of(&GcResult { goal, ..result.clone() });
    Ok(Answer { command: Some(command.to_string()), ..Answer::of_page(answers)? })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const COMPILER: &[u8] = include_bytes!("../../advice/tests/fixtures/compiler.gc");

    fn ask(query: &str) -> Result<Answer, String> {
        let result = GcResult::parse(COMPILER).expect("it is a result");
        let file = File::gc(Path::new("compiler.gc"), result);
        let result = file.as_gc().expect("it is one");
        answer(&file, result, &Query::parse(query)).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_options_of_the_command() {
        let command = |query: &str| ask(query).expect("known parameters").command;
        assert_eq!(command("file=0").as_deref(), Some("bactrian gc compiler.gc"));
        let limited = command("file=0&memory=300MB");
        assert_eq!(limited.as_deref(), Some("bactrian gc compiler.gc --memory 300MB"));
        let slower = command("file=0&slower=5%25").expect("a command");
        assert!(
            slower.starts_with("bactrian gc compiler.gc --slower ") && slower.contains("5%"),
            "{slower}"
        );
    }

    #[test]
    fn another_goal_has_another_answer() {
        let of = |query: &str| ask(query).expect("known parameters").result["answers"][0].clone();
        assert_eq!(of("file=0")["wanted"], "the least memory, at most 25.0 % slower");
        let least = of("file=0&memory=1kB");
        assert_eq!(least["recommended"]["choice"]["attains_goal"], false, "{least:#}");
        assert_eq!(least["wanted"], "the least time in 1.00 kB");
    }

    #[test]
    fn wrong_parameters_are_refused() {
        for (query, expected) in [
            ("memory=much", "memory: `much` is not a size"),
            ("slower=-1%25", "slower: write a percentage"),
            ("memory=1GB&slower=5%25", "slower: there is another goal"),
            ("runs=7", "runs: no such parameter"),
        ] {
            let error = ask(query).expect_err(query);
            assert!(error.contains(expected), "{error}");
        }
    }
}
