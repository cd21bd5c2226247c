//! Requests to the program.

use bactrian_live::{Action, Database, Value, names};

use super::{Effect, Over, Prompt, Purpose, State};
use crate::measure::{ObserverIndex, full_name};

/// The range of reasonable periods, in milliseconds.
const PERIODS: std::ops::RangeInclusive<u32> = 10..=3_600_000;

impl State {
    /// The selected observer.
    fn meant(&self) -> Option<ObserverIndex> {
        if let Over::Details(subject, _) = &self.over {
            return Some(subject.place);
        }
        self.chosen()?.place()
    }

    pub(super) fn stop_or_resume(&mut self, database: &Database) -> Effect {
        let Some(series) = self.meant().and_then(|place| place.series(database)) else {
            self.say("choose an observer to stop first");
            return Effect::None;
        };
        let (id, name) = (series.declaration.id, full_name(series));
        match series.declaration.period_ms {
            0 => {
                self.say(format!("requested to resume observing {name}"));
                Effect::Wish(Action::Resume(id))
            }
            _ => {
                self.say(format!("requested to stop observing {name}"));
                Effect::Wish(Action::Stop(id))
            }
        }
    }

    pub(super) fn ask_for_period(&mut self, database: &Database) {
        let Some(series) = self.meant().and_then(|place| place.series(database)) else {
            return self.say("choose an observer first");
        };
        let declaration = &series.declaration;
        let purpose = Purpose::Period(declaration.id, full_name(series));
        self.prompt = Some(Prompt::proposing(purpose, declaration.period_ms.to_string()));
    }

    /// Whether the program samples allocations, as far as is known.
    pub(super) fn is_sampling(&self, database: &Database) -> bool {
        let is_seen = || match database.named(names::SITES).and_then(|series| series.latest()) {
            Some(Value::Sites(sites)) => !sites.is_empty(),
            _ => false,
        };
        self.sampling.unwrap_or_else(is_seen)
    }

    pub(super) fn snapshot_name(&self, database: &Database) -> String {
        let program = &database.program().name;
        let name = program.rsplit('/').next().filter(|name| !name.is_empty());
        format!("{}-{}s", name.unwrap_or("program"), database.last() / 1_000_000_000)
    }

    /// Handles a completed prompt.
    pub(super) fn written(&mut self, purpose: &Purpose, text: String) -> Effect {
        match purpose {
            Purpose::Search => self.search = text,
            Purpose::Period(id, name) => match text.trim().parse() {
                Ok(period) if PERIODS.contains(&period) => {
                    self.say(format!("requested a value of {name} every {period} ms"));
                    return Effect::Wish(Action::SetPeriod(*id, period));
                }
                _ => self.complain(format!(
                    "{text:?} is not a number of milliseconds from {} to {}",
                    PERIODS.start(),
                    PERIODS.end()
                )),
            },
            Purpose::Snapshot if text.trim().is_empty() => self.say("a snapshot needs a name"),
            Purpose::Snapshot => {
                self.say(format!("requested a snapshot, {text}"));
                return Effect::Wish(Action::Snapshot(text));
            }
            Purpose::Marker => {
                self.say("requested a marker");
                return Effect::Wish(Action::Mark(text));
            }
        }
        Effect::None
    }
}
