//! Questions about a live program or a recording of one. Every answer is about one moment and is limited in
//! size.

use bactrian_live::{Database, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known::{self, About, Line, Observer, Said};
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

/// Which program or recording, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LiveMoment {
    /// The program, or the recording
    pub file: FileNumber,
    /// The moment that is looked at, in seconds since the program's start; the last if nothing is said
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
        seen.ok_or_else(|| QuestionError::Broken("it is over with watching".to_owned()))
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

/// What is known of a program as a whole, and how it stands with watching it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LiveStateQuestion {
    /// Which, and when
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
    /// How it stands with watching it.
    pub state: Standing,
    /// Why no numbers are coming.
    pub reason: Option<String>,
    /// Whether no more will come.
    pub is_over: bool,
    /// Sentences for people, the last one last.
    pub notices: Vec<String>,
    /// Observers that can be drawn.
    pub names: Vec<String>,
    /// Whether places of allocation are told, or why they are not.
    pub has_sites: bool,
    /// Whether there is a log.
    pub has_log: bool,
}

/// How it stands with watching a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Numbers are coming.
    Live,
    /// None are coming; it is tried again.
    Lost,
    /// They are from a file.
    Replay,
    /// No more will come.
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
                LiveState::Live => (Standing::Live, None),
                LiveState::Lost(reason) => (Standing::Lost, Some(reason.clone())),
                LiveState::Replay => (Standing::Replay, None),
                LiveState::Over => (Standing::Over, None),
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

/// What all observers of a program say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ObserversQuestion {
    /// Which, and when
    #[serde(flatten)]
    pub moment: LiveMoment,
}

/// What observers say at a moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ObserversAnswer {
    /// The moment, in seconds since the program's start.
    pub at: f64,
    /// Those that are known of then.
    pub observers: Vec<Observer>,
    /// What samples of allocations do not tell.
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
            Said::Tree { nodes } if nodes.len() > NODES => {
                left_out += nodes.len() - NODES;
                nodes.truncate(NODES);
                for node in nodes {
                    node.children.retain(|child| (*child as usize) < NODES);
                }
            }
            Said::Text(text) => {
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

/// Numbers of observers over time, as lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ChartQuestion {
    /// Which, and until when
    #[serde(flatten)]
    pub moment: LiveMoment,
    /// The observers, by their names with what tells them apart
    pub name: Vec<String>,
    /// Only so many seconds until then; all if nothing is said
    #[schemars(range(min = 0))]
    pub last: Option<f64>,
    /// So many values has a line
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

/// The last lines that a program wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LogQuestion {
    /// Which, and until when
    #[serde(flatten)]
    pub moment: LiveMoment,
    /// Only lines with this in them, in large or small letters
    pub filter: String,
    /// So many lines at most
    #[schemars(range(min = 1, max = 2000))]
    pub number: usize,
}

impl Default for LogQuestion {
    fn default() -> LogQuestion {
        LogQuestion { moment: LiveMoment::default(), filter: String::new(), number: 200 }
    }
}

/// Lines that a program wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogAnswer {
    /// The last of them.
    pub log: Vec<Line>,
    /// How many there are.
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
