//! Schedules questions: a few at a time, cancelled when the client goes away, with progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bactrian_analysis::question::QuestionError;
use bactrian_analysis::{StepProgress, UnderWay};
use serde::Serialize;
use tokio::sync::Semaphore;

/// The number of questions answered concurrently. Each may use all processors.
const AT_ONCE: usize = 4;
/// Questions with these prefixes are answered at once, even while others wait for a large file to be read:
/// the progress of reading, for example.
const IS_QUICK: [&str; 3] = ["files", "overview/info", "live"];

/// Schedules questions.
#[derive(Clone)]
pub struct Scheduler {
    turns: Arc<Semaphore>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A question that a client waits for.
struct Asked {
    question: String,
    since: Instant,
    answer: UnderWay,
}

/// The progress of an answer.
#[derive(Debug, Serialize)]
pub struct AnswerProgress {
    /// The question as it was asked.
    pub question: String,
    /// Seconds since it was asked.
    pub since: f64,
    /// The progress; at step 0 it may still be waiting for its turn.
    #[serde(flatten)]
    pub progress: StepProgress,
}

/// Why there is no answer.
pub enum NoAnswer {
    /// The question cannot be answered.
    Refused(QuestionError),
    /// The computation panicked.
    Panicked,
}

impl Scheduler {
    pub fn new() -> Scheduler {
        Scheduler { turns: Arc::new(Semaphore::new(AT_ONCE)), asked: Arc::default() }
    }

    /// The progress of all questions that clients wait for.
    pub fn progress(&self) -> Vec<AnswerProgress> {
        let progress = |asked: &Asked| AnswerProgress {
            question: asked.question.clone(),
            since: asked.since.elapsed().as_secs_f64(),
            progress: asked.answer.progress(),
        };
        self.asked().iter().map(progress).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question on a separate thread when its turn comes. Dropping this future, because the request
    /// was aborted, cancels the question; it keeps its slot until it has really ended.
    pub async fn answer<T: Send + 'static>(
        &self,
        question: &str,
        work: impl FnOnce() -> Result<T, QuestionError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let waiting = Waiting::new(self, question);
        let turn = match IS_QUICK.iter().any(|quick| question.starts_with(quick)) {
            true => None,
            false => self.turns.clone().acquire_owned().await.ok(),
        };
        let answer = waiting.answer.clone();
        let answering = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            answer.run(work)
        });
        match answering.await {
            Ok(Ok(answer)) => answer.map_err(NoAnswer::Refused),
            Ok(Err(_cancelled)) => Err(NoAnswer::Refused(QuestionError::Broken(
                "the request was cancelled".to_owned(),
            ))),
            Err(_) => Err(NoAnswer::Panicked),
        }
    }
}

/// A client waits for an answer, until this is dropped.
struct Waiting<'s> {
    scheduler: &'s Scheduler,
    answer: UnderWay,
}

impl Waiting<'_> {
    fn new<'s>(scheduler: &'s Scheduler, question: &str) -> Waiting<'s> {
        let answer = UnderWay::default();
        scheduler.asked().push(Asked {
            question: question.to_owned(),
            since: Instant::now(),
            answer: answer.clone(),
        });
        Waiting { scheduler, answer }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.answer.cancel();
        self.scheduler.asked().retain(|asked| !asked.answer.is(&self.answer));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use bactrian_analysis::wait_until;

    use super::*;

    #[test]
    fn progress_is_listed_while_a_client_waits() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("threads");
        let (scheduler, may_end) = (Scheduler::new(), Arc::new(AtomicBool::new(false)));
        let ask = || {
            let (scheduler, may_end) = (scheduler.clone(), may_end.clone());
            let is_ready = move || may_end.load(Ordering::Relaxed).then_some(7);
            let work = move || Ok(wait_until(is_ready, || 0.25));
            runtime.spawn(async move { scheduler.answer("trace/top?file=0", work).await.ok() })
        };
        let until = |is_so: &dyn Fn(&[AnswerProgress]) -> bool| {
            while !is_so(&scheduler.progress()) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let is_at_quarter = |all: &[AnswerProgress]| {
            let quarter = StepProgress { step: 1, done: 0.25 };
            all.iter().any(|one| one.question == "trace/top?file=0" && one.progress == quarter)
        };
        let first = ask();
        until(&is_at_quarter);
        // The request was aborted: the answer is cancelled and no longer listed.
        first.abort();
        until(&<[AnswerProgress]>::is_empty);
        let second = ask();
        until(&is_at_quarter);
        may_end.store(true, Ordering::Relaxed);
        assert_eq!(runtime.block_on(second).expect("not aborted"), Some(7));
        assert!(scheduler.progress().is_empty());
        while scheduler.turns.available_permits() < AT_ONCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
