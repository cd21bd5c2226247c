//! When questions are answered: a few at a time, and no longer than somebody waits for them.

use std::sync::Arc;

use bactrian_analysis::Cancel;
use bactrian_analysis::question::QuestionError;
use tokio::sync::Semaphore;

/// Questions that are answered at the same time; more wait. Each may use all processors.
const AT_ONCE: usize = 4;
/// What begins so is answered at once, also while others wait for a large file to be read: how far that has come, for example.
const IS_QUICK: [&str; 3] = ["files", "overview/info", "live"];

/// Gives questions their turns.
#[derive(Clone)]
pub struct Scheduler {
    turns: Arc<Semaphore>,
}

/// Why there is no answer.
pub enum NoAnswer {
    /// The question cannot be answered.
    Refused(QuestionError),
    /// Who answers it panicked.
    Panicked,
}

impl Scheduler {
    pub fn new() -> Scheduler {
        Scheduler { turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Answers a question on a thread of its own when its turn has come. If this future is dropped, because the request was
    /// aborted, the question is given up; it holds its turn until it has really ended.
    pub async fn answer<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, QuestionError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let turn = match IS_QUICK.iter().any(|quick| name.starts_with(quick)) {
            true => None,
            false => self.turns.clone().acquire_owned().await.ok(),
        };
        let dropped = CancelOnDrop(Cancel::default());
        let cancel = dropped.0.clone();
        let answering = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            cancel.run(work)
        });
        match answering.await {
            Ok(Ok(answer)) => answer.map_err(NoAnswer::Refused),
            Ok(Err(_cancelled)) => {
                Err(NoAnswer::Refused(QuestionError::Broken("nobody waits for it".to_owned())))
            }
            Err(_) => Err(NoAnswer::Panicked),
        }
    }
}

/// Cancels when it is dropped.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
