//! The moment that is shown: the present, one in the past, or one that follows the present at a distance,
//! like a video recorder that plays what it is still recording.

use bactrian_analysis::live::numbers::show_clock;
use bactrian_live::Database;

/// How the moment moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// It is always the present.
    Live,
    /// It does not move.
    Paused,
    /// It advances at its own speed, whatever the program does.
    Playing,
}

/// The moment that is shown.
#[derive(Clone, Debug)]
pub struct Time {
    motion: Motion,
    at: u64,
    /// The newest moment when the present was left: charts do not move while the user looks.
    edge: u64,
    /// An index into [`SPEEDS`].
    speed: usize,
    /// Whether markers of the program stop the view.
    pub stops_at_markers: bool,
    /// Markers up to this moment have been seen or passed over, and how many at exactly this moment, since
    /// more may come.
    seen: (u64, usize),
    /// The time range of charts, as an index into [`WINDOWS`].
    window: usize,
    /// Why it is paused, if the user did not pause it.
    reason: Option<String>,
}

const SPEEDS: [f64; 11] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
const REAL_TIME: usize = 3;
const SECOND: u64 = 1_000_000_000;
const WINDOWS: [u64; 7] = [
    10 * SECOND,
    30 * SECOND,
    60 * SECOND,
    180 * SECOND,
    300 * SECOND,
    900 * SECOND,
    3600 * SECOND,
];
const MINUTE: usize = 2;

impl Default for Time {
    fn default() -> Time {
        Time {
            motion: Motion::Live,
            at: 0,
            edge: 0,
            speed: REAL_TIME,
            stops_at_markers: true,
            seen: (0, 0),
            window: MINUTE,
            reason: None,
        }
    }
}

impl Time {
    /// The moment, in nanoseconds of the database.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// How it moves.
    pub fn motion(&self) -> Motion {
        self.motion
    }

    /// Why it is paused, if the program asked for it.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The playback speed relative to the program.
    pub fn speed(&self) -> f64 {
        SPEEDS[self.speed]
    }

    /// The time range of charts, in nanoseconds.
    pub fn window(&self) -> u64 {
        WINDOWS[self.window]
    }

    /// The right end of charts. In the past, a little of what came after the moment is shown too.
    pub fn chart_end(&self) -> u64 {
        self.edge.max(self.at).min(self.at.saturating_add(self.window() / 4))
    }

    /// Ignores all markers so far.
    pub fn passes_over(&mut self, database: &Database) {
        self.see(database.last(), database);
    }

    /// Ignores markers up to this moment.
    fn see(&mut self, until: u64, database: &Database) {
        let newest = database.markers().rev();
        let at_once = newest.skip_while(|(time, _)| *time > until);
        let count = at_once.take_while(|(time, _)| *time == until).count();
        self.seen = self.seen.max((until, count));
    }

    /// Notes that `passed` nanoseconds are over and that events may have arrived. Returns whether the moment
    /// changed.
    pub fn advance(&mut self, database: &Database, passed: u64) -> bool {
        let before = self.at;
        match self.motion {
            Motion::Live => {
                self.go(database.last(), database);
                self.edge = self.at;
            }
            // What has left the window cannot be shown any more.
            Motion::Paused => self.at = self.at.max(database.first()),
            Motion::Playing => {
                let step = (passed as f64 * self.speed()) as u64;
                let wanted = self.at.saturating_add(step).max(database.first());
                self.edge = self.edge.max(wanted.min(database.last()));
                self.go(wanted.min(database.last()), database);
                if self.motion == Motion::Playing && wanted >= database.last() {
                    self.follow(database);
                }
            }
        }
        self.at != before
    }

    /// Moves to a later moment, or to the first marker before it.
    fn go(&mut self, to: u64, database: &Database) {
        let (seen, of_that_moment) = self.seen;
        let earlier = database.markers().take_while(|(time, _)| *time < seen).count();
        let new = database.markers().skip(earlier + of_that_moment).find(|(time, _)| *time <= to);
        match new {
            Some((time, text)) if self.stops_at_markers => {
                self.motion = Motion::Paused;
                self.reason = Some(text.to_owned());
                self.at = time;
                self.edge = self.edge.max(time);
                self.see(time, database);
            }
            _ => {
                self.see(to, database);
                self.at = to;
            }
        }
    }

    /// Pauses, or follows the present if already paused.
    pub fn toggle_pause(&mut self, database: &Database) {
        match self.motion {
            Motion::Paused => self.follow(database),
            _ => self.pause(),
        }
    }

    fn pause(&mut self) {
        self.motion = Motion::Paused;
        self.reason = None;
    }

    /// Follows the present from now on.
    pub fn follow(&mut self, database: &Database) {
        self.motion = Motion::Live;
        self.reason = None;
        self.at = database.last();
        self.edge = self.at;
        self.see(self.at, database);
    }

    /// Plays from here, or pauses if already playing. At the end of a finished program it starts from the
    /// beginning.
    pub fn toggle_play(&mut self, database: &Database, is_over: bool) {
        if self.motion == Motion::Playing {
            return self.pause();
        }
        if is_over && self.at >= database.last() {
            self.at = database.first();
        }
        self.edge = database.last();
        self.motion = Motion::Playing;
        self.reason = None;
        // Markers stop it again when playback passes them.
        self.seen = (0, 0);
        self.see(self.at, database);
    }

    /// Moves by tenths of the window, into the past if negative. Reaching the end does not yet follow it.
    pub fn step(&mut self, tenths: i64, database: &Database) {
        let step = self.window() / 10;
        let by = step.saturating_mul(tenths.unsigned_abs());
        let to = if tenths < 0 { self.at.saturating_sub(by) } else { self.at.saturating_add(by) };
        self.look_at(to, database);
    }

    /// Moves to the next or previous moment at which something arrived.
    pub fn single_step(&mut self, is_back: bool, database: &Database) {
        let to = if is_back {
            database.moments().rev().find(|moment| *moment < self.at)
        } else {
            database.moments().find(|moment| *moment > self.at)
        };
        self.look_at(to.unwrap_or(self.at), database);
    }

    /// Shows this moment, clamped to the window.
    pub fn look_at(&mut self, moment: u64, database: &Database) {
        self.pause();
        self.at = moment.clamp(database.first(), database.last().max(database.first()));
        self.edge = database.last();
        self.see(database.last(), database);
    }

    /// Goes to the next or previous marker. Returns whether there is one.
    pub fn go_to_marker(&mut self, is_back: bool, database: &Database) -> bool {
        let found = if is_back {
            database.markers().rev().find(|(time, _)| *time < self.at)
        } else {
            database.markers().find(|(time, _)| *time > self.at)
        };
        let Some((time, text)) = found else { return false };
        let text = text.to_owned();
        self.look_at(time, database);
        self.reason = Some(text);
        true
    }

    /// Changes the playback speed by one step.
    pub fn change_speed(&mut self, is_faster: bool) {
        self.speed = shifted(self.speed, is_faster, SPEEDS.len());
    }

    /// Changes the time range of charts by one step.
    pub fn change_window(&mut self, is_longer: bool) {
        self.window = shifted(self.window, is_longer, WINDOWS.len());
    }

    /// How far the moment is behind the present, for people.
    pub fn delay(&self, database: &Database) -> String {
        show_clock(database.last().saturating_sub(self.at))
    }
}

fn shifted(position: usize, is_up: bool, length: usize) -> usize {
    if is_up { (position + 1).min(length - 1) } else { position.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use bactrian_live::{Event, Limits, Stamp};

    use super::*;

    fn database(seconds: std::ops::Range<u64>) -> Database {
        let mut database = Database::new(Limits::default());
        seconds.for_each(|second| tick(&mut database, second));
        database
    }

    fn tick(database: &mut Database, second: u64) {
        database.add(Event::Tick(Stamp { at: second * SECOND, cpu: 0 }));
    }

    #[test]
    fn pause_holds_the_moment_while_events_arrive() {
        let mut database = database(0..10);
        let mut time = Time::default();
        assert!(time.advance(&database, 0));
        assert_eq!(time.at(), 9 * SECOND);
        time.toggle_pause(&database);
        (10..20).for_each(|second| tick(&mut database, second));
        assert!(!time.advance(&database, SECOND));
        assert_eq!((time.at(), time.chart_end()), (9 * SECOND, 9 * SECOND));
        time.toggle_pause(&database);
        assert_eq!((time.at(), time.motion()), (19 * SECOND, Motion::Live));
    }

    #[test]
    fn playback_keeps_its_delay_and_catches_up_when_faster() {
        let mut database = database(0..100);
        let mut time = Time::default();
        time.look_at(50 * SECOND, &database);
        time.toggle_play(&database, false);
        for second in 100..110 {
            tick(&mut database, second);
            time.advance(&database, SECOND);
        }
        assert_eq!(time.at(), 60 * SECOND);
        assert_eq!(time.delay(&database), "00:49.0");
        (0..3).for_each(|_| time.change_speed(true));
        assert_eq!(time.speed(), 8.0);
        time.advance(&database, 10 * SECOND);
        assert_eq!((time.at(), time.motion()), (109 * SECOND, Motion::Live));
    }

    #[test]
    fn marker_stops_live_view_and_playback_once() {
        let mut database = database(0..10);
        let mut time = Time::default();
        time.advance(&database, 0);
        database.add(Event::Marker("look".into()));
        (10..12).for_each(|second| tick(&mut database, second));
        database.add(Event::Marker("again".into()));
        time.advance(&database, 0);
        assert_eq!((time.at(), time.reason()), (9 * SECOND, Some("look")));
        time.toggle_play(&database, false);
        time.advance(&database, 20 * SECOND);
        assert_eq!((time.at(), time.reason()), (11 * SECOND, Some("again")));
        time.follow(&database);
        time.advance(&database, 0);
        assert_eq!(time.motion(), Motion::Live);

        time.look_at(5 * SECOND, &database);
        time.toggle_play(&database, false);
        time.advance(&database, 20 * SECOND);
        assert_eq!((time.at(), time.reason()), (9 * SECOND, Some("look")));
        time.stops_at_markers = false;
        time.toggle_play(&database, false);
        time.advance(&database, 20 * SECOND);
        assert_eq!(time.motion(), Motion::Live);
        assert!(time.go_to_marker(true, &database));
        assert_eq!(time.reason(), Some("look"));
        assert!(!time.go_to_marker(true, &database));
    }

    #[test]
    fn moments_outside_the_window_are_not_shown() {
        let limits = Limits { window: std::time::Duration::from_secs(10), ..Limits::default() };
        let mut database = Database::new(limits);
        (0..10).for_each(|second| tick(&mut database, second));
        let mut time = Time::default();
        time.look_at(0, &database);
        (10..100).for_each(|second| tick(&mut database, second));
        assert!(time.advance(&database, 0));
        assert_eq!(time.at(), database.first());
    }

    #[test]
    fn a_recording_plays_again_from_its_start() {
        let database = database(0..10);
        let mut time = Time::default();
        time.advance(&database, 0);
        time.toggle_play(&database, true);
        time.advance(&database, 2 * SECOND);
        assert_eq!((time.at(), time.motion()), (2 * SECOND, Motion::Playing));
    }
}
