//! Questions about a live program or a recording of one. Every answer is about one moment and is limited in
//! size.

use bactrian_live::{Database, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known::{self, About, Line, Observer, ObserverValue};
use super::lines::{self, Lines};
use super::measure::full_name;
use super::memory_use::NOT_SEEN;
use super::source::{LiveNow, LiveState};
use crate::question::{Answer, CommandLine, Evidence, FileNumber, Question, QuestionError};

/// The most lines in a chart.
const CHARTED: usize = 40;
/// The most nodes listed of a tree.
const NODES: usize = 1000;
/// The most characters listed of a text.
const LETTERS: usize = 10_000;

/// Which program or recording, and at which moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LiveMoment {
    /// The program or recording
    pub file: FileNumber,
    /// The moment, in seconds since the program's start; the last one by default
    #[schemars(range(min = 0))]
    pub at: Option<f64>,
}

impl LiveMoment {
    /// Passes the current data to `see`.
    fn look<T>(
        &self,
        evidence: &dyn Evidence,
        see: impl FnOnce(&LiveNow<'_>) -> T,
    ) -> Result<T, QuestionError> {
        let (mut see, mut seen) = (Some(see), None);
        evidence.live(self.file)?.look(&mut |now| {
            if let Some(see) = see.take() {
                seen = Some(see(now));
            }
        });
        seen.ok_or_else(|| QuestionError::Broken("watching has ended".to_owned()))
    }

    /// The moment in question, clamped to the known range.
    fn of(&self, database: &Database) -> u64 {
        let at = self.at.map_or(u64::MAX, nanos);
        at.min(database.last()).max(database.first())
    }

    /// The command that prints the same, among other things; it exists only for the end of a recording.
    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        let is_end = self.look(evidence, |now| *now.state == LiveState::Replay)?;
        let path = evidence.path(self.file)?;
        let command = || CommandLine::new("live").file(path).flag("json", true);
        Ok((is_end && self.at.is_none()).then(command))
    }
}

/// Converts seconds; saturates.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// What is known of a program as a whole, and the state of watching it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LiveStateQuestion {
    /// Which program, and when
    #[serde(flatten)]
    pub moment: LiveMoment,
}

/// What is known of a program as a whole at a moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveStateAnswer {
    /// The program.
    pub about: About,
    /// The moment, in seconds since its start.
    pub at: f64,
    /// The state of watching the program.
    pub state: WatchState,
    /// Why no data is arriving; null if it is.
    pub reason: Option<String>,
    /// Whether no more data will arrive.
    pub is_over: bool,
    /// Messages for people, the latest last.
    pub notices: Vec<String>,
    /// Observers that can be drawn as charts.
    pub names: Vec<String>,
    /// Whether there are allocation sites to show, or a reason why there are none.
    pub has_sites: bool,
    /// Whether there is a log.
    pub has_log: bool,
}

/// State of watching a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchState {
    /// Data is arriving.
    Live,
    /// No data is arriving; Bactrian keeps trying.
    Lost,
    /// Data is read from a file.
    Replay,
    /// No more data will arrive.
    Over,
}

impl Question for LiveStateQuestion {
    const NAME: &'static str = "live/state";
    const COMMAND: Option<&'static str> = None;
    type Answer = LiveStateAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<LiveStateAnswer>, QuestionError> {
        let answer = self.moment.look(evidence, |now| {
            let at = self.moment.of(now.database);
            let (state, reason) = match now.state {
                LiveState::Live => (WatchState::Live, None),
                LiveState::Lost(reason) => (WatchState::Lost, Some(reason.clone())),
                LiveState::Replay => (WatchState::Replay, None),
                LiveState::Over => (WatchState::Over, None),
            };
            LiveStateAnswer {
                about: known::about(now.database, at),
                at: known::seconds(at),
                state,
                reason,
                is_over: now.is_over,
                notices: now.notices.to_vec(),
                names: drawable(now.database),
                has_sites: now.database.named_at(names::SITES, at).is_some(),
                has_log: now.database.log().next().is_some(),
            }
        });
        Ok(Answer::new(answer?, []))
    }

    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        self.moment.command(evidence)
    }
}

/// Names of observers that can be drawn, in order and without duplicates.
fn drawable(database: &Database) -> Vec<String> {
    let mut all = Vec::new();
    for series in database.series() {
        let name = full_name(series);
        if !all.contains(&name) && series.values().any(|(_, value)| !value.numbers().is_empty()) {
            all.push(name);
        }
    }
    all
}

/// All observed values of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ObserversQuestion {
    /// Which program, and when
    #[serde(flatten)]
    pub moment: LiveMoment,
}

/// The observed values of a program at a moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObserversAnswer {
    /// The moment, in seconds since the program's start.
    pub at: f64,
    /// Observers known at that moment.
    pub observers: Vec<Observer>,
    /// What samples of allocations do not show.
    pub not_seen: &'static str,
}

impl Question for ObserversQuestion {
    const NAME: &'static str = "live/observers";
    const COMMAND: Option<&'static str> = None;
    type Answer = ObserversAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<ObserversAnswer>, QuestionError> {
        let mut answer = self.moment.look(evidence, |now| {
            let at = self.moment.of(now.database);
            let observers = known::observers(now.database, at);
            ObserversAnswer { at: known::seconds(at), observers, not_seen: NOT_SEEN }
        })?;
        let notes = cut(&mut answer.observers);
        Ok(Answer::new(answer, []).with_notes(notes))
    }

    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        self.moment.command(evidence)
    }
}

/// Shortens large values that nobody reads in full. Returns notes about what was omitted.
fn cut(observers: &mut [Observer]) -> Vec<String> {
    let (mut left_out, mut texts) = (0_usize, 0_usize);
    for observer in observers {
        match &mut observer.value {
            ObserverValue::Tree { nodes } if nodes.len() > NODES => {
                left_out += nodes.len() - NODES;
                nodes.truncate(NODES);
                for node in nodes {
                    node.children.retain(|child| (*child as usize) < NODES);
                }
            }
            ObserverValue::Text(text) => {
                if let Some((end, _)) = text.char_indices().nth(LETTERS) {
                    text.truncate(end);
                    texts += 1;
                }
            }
            _ => {}
        }
    }
    let cut = (left_out > 0).then(|| format!("{left_out} nodes of trees are not shown"));
    let long = (texts > 0)
        .then(|| format!("of {texts} long texts only the first {LETTERS} characters are shown"));
    cut.into_iter().chain(long).collect()
}

/// Observed numbers over time, as lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ChartQuestion {
    /// Which program, and until when
    #[serde(flatten)]
    pub moment: LiveMoment,
    /// The observers, by name with labels
    pub name: Vec<String>,
    /// Only this many seconds until that moment; all by default
    #[schemars(range(min = 0))]
    pub last: Option<f64>,
    /// Number of values per line
    #[schemars(range(min = 2, max = 2000))]
    pub points: usize,
}

impl Default for ChartQuestion {
    fn default() -> ChartQuestion {
        let moment = LiveMoment::default();
        ChartQuestion { moment, name: Vec::new(), last: None, points: 300 }
    }
}

impl Question for ChartQuestion {
    const NAME: &'static str = "live/chart";
    const COMMAND: Option<&'static str> = None;
    type Answer = Lines;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Lines>, QuestionError> {
        let wanted = &self.name[..self.name.len().min(CHARTED)];
        let answer = self.moment.look(evidence, |now| {
            let to = self.moment.of(now.database);
            let first = now.database.first();
            let from = self.last.map_or(first, |last| to.saturating_sub(nanos(last)).max(first));
            lines::lines(now.database, wanted, from, to, self.points)
        });
        Ok(Answer::new(answer?, []))
    }
}

/// The last lines of a program's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LogQuestion {
    /// Which program, and until when
    #[serde(flatten)]
    pub moment: LiveMoment,
    /// Only lines that contain this, ignoring case
    pub filter: String,
    /// Maximum number of lines
    #[schemars(range(min = 1, max = 2000))]
    pub number: usize,
}

impl Default for LogQuestion {
    fn default() -> LogQuestion {
        LogQuestion { moment: LiveMoment::default(), filter: String::new(), number: 200 }
    }
}

/// Lines of a program's log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogAnswer {
    /// The last matching lines.
    pub log: Vec<Line>,
    /// Number of matching lines.
    pub count: usize,
}

impl Question for LogQuestion {
    const NAME: &'static str = "live/log";
    const COMMAND: Option<&'static str> = None;
    type Answer = LogAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<LogAnswer>, QuestionError> {
        let wanted = self.filter.to_lowercase();
        let answer = self.moment.look(evidence, |now| {
            // Log lines may be newer than the last moment.
            let to = self.moment.at.map_or(u64::MAX, |_| self.moment.of(now.database));
            let is_wanted =
                |line: &(u64, &str)| wanted.is_empty() || line.1.to_lowercase().contains(&wanted);
            let lines = || now.database.log_until(to).filter(is_wanted);
            let mut log: Vec<_> = lines().rev().take(self.number).map(known::line).collect();
            log.reverse();
            LogAnswer { log, count: lines().count() }
        });
        Ok(Answer::new(answer?, []))
    }

    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        self.moment.command(evidence)
    }
}
