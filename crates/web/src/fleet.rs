//! Questions about a fleet of machines, for stores of profiles that an engine can read.
//!
//! One answer has everything about a window of time, so that tabs of the page need no further question. It takes seconds, so
//! recent answers are kept, and one question is answered at a time.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use bactrian_analysis::question::{CommandLine, QuestionError};
use bactrian_analysis::wait_until;
use serde_json::Value;

use crate::answer::Answer;
use crate::evidence::File;
use crate::query::Query;

/// The name of the question.
pub const FLEET: &str = "fleet";
/// Its parameters that are options of `bactrian fleet`.
const OPTIONS: [&str; 4] = ["since", "by", "service", "host"];
/// The parameter that asks for a new answer: an answer is reused only for the same value.
const AGAIN: &str = "again";
/// The number of answers that are kept.
const MOST_KEPT: usize = 16;

/// Asks `bactrian fleet` with some options. Returns the `result` of its JSON, or an error message.
pub type FleetEngine = Box<dyn Fn(&[String]) -> Result<Value, String> + Send + Sync>;

/// A store of profiles.
pub struct Fleet {
    engine: FleetEngine,
    /// Recent answers, the latest first.
    kept: Mutex<VecDeque<Kept>>,
    /// Held while the engine runs: it may need gigabytes.
    turn: Mutex<()>,
}

struct Kept {
    options: Vec<String>,
    again: Option<String>,
    answer: Value,
}

impl Fleet {
    /// A store that this engine can read.
    pub fn new(engine: FleetEngine) -> Fleet {
        Fleet { engine, kept: Mutex::default(), turn: Mutex::default() }
    }

    fn answer(&self, options: Vec<String>, again: Option<String>) -> Result<Value, String> {
        // Cancelled if nobody waits for it any more.
        let take_turn = || match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let known =
            |kept: &Kept| kept.options == options && (again.is_none() || kept.again == again);
        let known = || self.kept().iter().find(|kept| known(kept)).map(|kept| kept.answer.clone());
        if let Some(answer) = known() {
            return Ok(answer);
        }
        let _turn = wait_until(take_turn, || 0.0);
        // The question before may have been the same.
        if let Some(answer) = known() {
            return Ok(answer);
        }
        let answer = (self.engine)(&options)?;
        let mut kept = self.kept();
        kept.retain(|kept| kept.options != options);
        kept.push_front(Kept { options, again, answer: answer.clone() });
        kept.truncate(MOST_KEPT);
        Ok(answer)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the question about a store.
///
/// # Errors
/// If a parameter is unknown, or the engine fails.
pub fn answer(file: &File, fleet: &Fleet, query: &Query) -> Result<Answer, QuestionError> {
    let mut options = Vec::new();
    let mut again = None;
    let mut command = CommandLine::new("fleet").file(&file.path);
    for (name, value) in query.pairs() {
        match name.as_str() {
            "file" => {}
            AGAIN => again = Some(value.clone()),
            name if OPTIONS.contains(&name) => {
                options.push(format!("--{name}={value}"));
                command = command.option(name, value);
            }
            name => return Err(QuestionError::Wrong(format!("{name}: no such parameter"))),
        }
    }
    let command = file.options.iter().fold(command, |command, word| command.word(word));
    let result = fleet.answer(options, again).map_err(QuestionError::Wrong)?;
    Ok(Answer { command: Some(command.to_string()), ..Answer::of_page(result)? })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use serde_json::json;

    use super::*;

    /// A store whose engine counts its questions and returns their options.
    fn counted() -> (File, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let engine: FleetEngine = Box::new(move |options| {
            counter.fetch_add(1, Ordering::Relaxed);
            match options.iter().any(|option| option == "--service=none") {
                true => Err("there are no profiles".to_owned()),
                false => Ok(json!(options)),
            }
        });
        (File::fleet(Path::new("/profiles"), engine), count)
    }

    fn ask(file: &File, query: &str) -> Result<Answer, String> {
        let fleet = file.as_fleet().expect("it is one");
        answer(file, fleet, &Query::parse(query)).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_options_of_the_command() {
        let (file, _) = counted();
        let Answer { command, result, .. } =
            ask(&file, "file=0&by=hour&service=--json").expect("known parameters");
        assert_eq!(result, json!(["--by=hour", "--service=--json"]));
        assert_eq!(command.as_deref(), Some("bactrian fleet /profiles --by hour --service=--json"));
        assert!(ask(&file, "file=0&engine=spark:local").is_err());
        let refused = ask(&file, "service=none").expect_err("the engine refuses");
        assert_eq!(refused, "there are no profiles");
    }

    #[test]
    fn question_is_answered_once_unless_asked_again() {
        let (file, count) = counted();
        let asked = |query: &str| {
            ask(&file, query).expect("an answer");
            count.load(Ordering::Relaxed)
        };
        assert_eq!(
            [asked("by=day"), asked("by=day"), asked("by=hour"), asked("by=day")],
            [1, 1, 2, 2]
        );
        // Another value of `again` asks again; then the new answer is the one that is known.
        assert_eq!([asked("by=day&again=1"), asked("by=day&again=1"), asked("by=day")], [3, 3, 3]);
        assert_eq!(asked("by=day&again=2"), 4);
        // Errors are not kept.
        assert!(ask(&file, "service=none").is_err() && ask(&file, "service=none").is_err());
        assert_eq!(count.load(Ordering::Relaxed), 6);
        for service in 0..MOST_KEPT {
            asked(&format!("service={service}"));
        }
        assert_eq!(asked("by=day"), 6 + MOST_KEPT + 1);
    }

    #[test]
    fn same_questions_at_the_same_time_are_one() {
        let (file, count) = counted();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| ask(&file, "by=day").expect("an answer"));
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
