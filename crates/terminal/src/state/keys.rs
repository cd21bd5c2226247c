//! The effects of keys.

use bactrian_live::{Action, Database, Value};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::prompt::Written;
use super::{Effect, Over, Prompt, Purpose, State, Subject, Tab};
use crate::lists::{self, NodePath, RowId, definition};
use crate::measure::Measure;
use crate::session::Status;

/// How far the arrow keys go in time, in tenths of the chart's window; with shift, a whole window.
const STEP: i64 = 1;
const LARGE_STEP: i64 = 10;

impl State {
    /// Handles a key. Call [`State::settle`] before the next drawing.
    pub fn key(&mut self, key: KeyEvent, database: &Database, status: &Status) -> Effect {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return Effect::Quit;
        }
        if self.prompt.is_some() {
            return self.write(key);
        }
        self.message = None;
        if self.key_of_over(key, database) || self.key_of_time(key, database, status) {
            return Effect::None;
        }
        self.key_of_view(key, database, status)
    }

    fn write(&mut self, key: KeyEvent) -> Effect {
        let Some(prompt) = &mut self.prompt else { return Effect::None };
        let written = prompt.key(key);
        let is_search = prompt.purpose == Purpose::Search;
        match written {
            Written::NotYet if is_search => self.search = prompt.text.clone(),
            Written::NotYet => {}
            Written::Given => {
                if is_search {
                    self.search.clear();
                }
                self.prompt = None;
            }
            Written::Done => {
                let Some(Prompt { purpose, text, .. }) = self.prompt.take() else {
                    return Effect::None;
                };
                return self.written(&purpose, text);
            }
        }
        Effect::None
    }

    /// Keys for time, which are the same in all views. Returns whether it was one.
    fn key_of_time(&mut self, key: KeyEvent, database: &Database, status: &Status) -> bool {
        let is_shifted = key.modifiers.contains(KeyModifiers::SHIFT);
        let step = if is_shifted { LARGE_STEP } else { STEP };
        match key.code {
            KeyCode::Char('p') => self.time.toggle_pause(database),
            KeyCode::Char('P') => {
                let is_over = State::is_over(database, status);
                self.time.toggle_play(database, is_over);
            }
            KeyCode::Char('l') => self.time.follow(database),
            KeyCode::Left => self.time.step(-step, database),
            KeyCode::Right => self.time.step(step, database),
            KeyCode::Char('{') => self.time.step(-LARGE_STEP, database),
            KeyCode::Char('}') => self.time.step(LARGE_STEP, database),
            KeyCode::Char('[') => self.time.single_step(true, database),
            KeyCode::Char(']') => self.time.single_step(false, database),
            KeyCode::Char('<') => self.time.look_at(database.first(), database),
            KeyCode::Char('>') => self.time.look_at(database.last(), database),
            KeyCode::Char('+' | '=') => self.time.change_speed(true),
            KeyCode::Char('-') => self.time.change_speed(false),
            KeyCode::Char('z') => self.time.change_window(false),
            KeyCode::Char('Z') => self.time.change_window(true),
            KeyCode::Char('n') => self.go_to_marker(false, database),
            KeyCode::Char('N') => self.go_to_marker(true, database),
            KeyCode::Char('M') => {
                self.time.stops_at_markers = !self.time.stops_at_markers;
                let does = if self.time.stops_at_markers { "pause" } else { "do not pause" };
                self.say(format!("markers {does} the view"));
            }
            _ => return false,
        }
        true
    }

    fn go_to_marker(&mut self, is_back: bool, database: &Database) {
        if !self.time.go_to_marker(is_back, database) {
            let where_ = if is_back { "before" } else { "after" };
            self.say(format!("there is no marker {where_} this moment"));
        }
    }

    /// Keys for the overlay. Returns whether it was one.
    fn key_of_over(&mut self, key: KeyEvent, database: &Database) -> bool {
        let is_closing = matches!(key.code, KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('q'));
        let (up, down) = (is_up(key), is_down(key));
        let at = self.time.at();
        match &mut self.over {
            Over::Nothing => return false,
            _ if is_closing => self.over = Over::Nothing,
            Over::Help(top) if up => *top = top.saturating_sub(1),
            Over::Help(top) if down => *top += 1,
            Over::Help(_) => self.over = Over::Nothing,
            Over::Warning(_) => {
                self.over = Over::Nothing;
                return key.code == KeyCode::Enter;
            }
            Over::Details(_, chosen) | Over::Chart(chosen) if up => {
                *chosen = chosen.saturating_sub(1);
            }
            Over::Details(_, chosen) | Over::Chart(chosen) if down => *chosen += 1,
            Over::Details(..) if key.code == KeyCode::Enter => self.over = Over::Nothing,
            Over::Details(subject, chosen) if key.code == KeyCode::Char(' ') => {
                let measures = subject.measures(database, at);
                if let Some(measure) = measures.into_iter().nth(*chosen) {
                    self.mark(measure, database);
                }
            }
            Over::Chart(_) if matches!(key.code, KeyCode::Enter | KeyCode::Char('c')) => {
                self.over = Over::Nothing;
            }
            Over::Chart(chosen) if matches!(key.code, KeyCode::Char(' ' | 'd')) => {
                if *chosen < self.marked.len() {
                    self.marked.remove(*chosen);
                }
                if self.marked.is_empty() {
                    self.over = Over::Nothing;
                }
            }
            Over::Chart(_) if key.code == KeyCode::Char('y') => {
                self.is_normalised = !self.is_normalised;
            }
            // Switching to another view closes the overlay; other keys work as in views.
            _ if tab_of(key, self.tab, |_| true).is_some() => {
                self.over = Over::Nothing;
                return false;
            }
            _ => return false,
        }
        true
    }

    fn key_of_view(&mut self, key: KeyEvent, database: &Database, status: &Status) -> Effect {
        let at = self.time.at();
        let is_shown = |tab| !lists::is_empty(tab, database, at);
        if let Some(tab) = tab_of(key, self.tab, is_shown) {
            self.tab = tab;
            return Effect::None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?') | KeyCode::F(1) => self.over = Over::Help(0),
            KeyCode::Char('/') => {
                let text = self.search.clone();
                self.prompt = Some(Prompt::going_on(Purpose::Search, text));
            }
            KeyCode::Esc => self.search.clear(),
            KeyCode::Char('c') => match self.marked.len() {
                0 => self.say("nothing is marked: space marks the chosen number for the chart"),
                _ => self.over = Over::Chart(0),
            },
            KeyCode::Char('C') => {
                self.marked.clear();
                self.say("all marks were removed");
            }
            KeyCode::Char('s') => {
                // Trees are not sortable.
                let is_sortable = self.tab != Tab::Trees;
                let count = if is_sortable { lists::columns(self.tab).len() } else { 0 };
                self.list_mut().next_column(count);
            }
            KeyCode::Char('S') => self.list_mut().reverse(),
            KeyCode::Char('e') => self.folds.change_depth(true),
            KeyCode::Char('E') => self.folds.change_depth(false),
            KeyCode::Char(' ') => self.mark_chosen(database),
            KeyCode::Enter => self.enter(database),
            KeyCode::Char('i') => self.show_details(),
            KeyCode::Char('d') if is_control => self.move_by(key, database),
            KeyCode::Char('x' | 'r' | 'h' | 'a' | 'm') => {
                return self.control(key, database, status);
            }
            _ => self.move_by(key, database),
        }
        Effect::None
    }

    fn move_by(&mut self, key: KeyEvent, database: &Database) {
        let page = self.page();
        let far = page.saturating_sub(1).max(1);
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let by = match key.code {
            _ if is_up(key) => -1,
            _ if is_down(key) => 1,
            KeyCode::PageUp => -(far as i64),
            KeyCode::PageDown => far as i64,
            KeyCode::Char('b' | 'u') if is_control => -(far as i64),
            KeyCode::Char('f' | 'd') if is_control => far as i64,
            KeyCode::Home | KeyCode::Char('g') => i64::MIN,
            KeyCode::End | KeyCode::Char('G') => i64::MAX,
            _ => return,
        };
        if self.tab == Tab::Log {
            return self.move_in_log(by, page, database);
        }
        let position = self.list().position() as i64;
        let to = position.saturating_add(by).max(0) as usize;
        let rows = std::mem::take(&mut self.rows);
        self.list_mut().choose(to, &rows, page);
        self.rows = rows;
    }

    fn move_in_log(&mut self, by: i64, page: usize, database: &Database) {
        let at = self.time.at();
        match by {
            i64::MIN => self.log.go_to_start(page, database, at),
            i64::MAX => self.log.go_to_end(),
            _ if by < 0 => self.log.up(by.unsigned_abs() as usize, database, at),
            _ => self.log.down(by as usize, database, at),
        }
    }

    fn mark_chosen(&mut self, database: &Database) {
        match self.chosen().map(|row| row.measure.clone()) {
            Some(Some(measure)) => self.mark(measure, database),
            Some(None) => self.say("there is no number in this row to draw"),
            None => {}
        }
    }

    fn mark(&mut self, measure: Measure, database: &Database) {
        let title = measure.title(database);
        match self.marked.iter().position(|marked| *marked == measure) {
            Some(position) => {
                self.marked.remove(position);
                self.say(format!("{title} is no longer marked"));
            }
            None => {
                self.marked.push(measure);
                self.say(format!("{title} is marked; c shows the chart"));
            }
        }
    }

    fn show_details(&mut self) {
        let Some(row) = self.chosen() else { return };
        let Some(place) = row.place() else { return };
        let site = match &row.id {
            RowId::Site(_, site) => Some(site.clone()),
            _ => None,
        };
        self.over = Over::Details(Subject { place, site }, 0);
    }

    fn enter(&mut self, database: &Database) {
        match self.chosen().map(|row| row.id.clone()) {
            Some(RowId::Node(path)) => self.fold(path, database),
            Some(RowId::Warning(..)) => {
                let warning = self.warnings.get(self.list().position()).cloned();
                if let Some(warning) = warning {
                    self.over = Over::Warning(warning);
                }
            }
            Some(_) => self.show_details(),
            None => {}
        }
    }

    /// Folds or unfolds a node; on a mere reference, goes to where the node is shown.
    fn fold(&mut self, path: NodePath, database: &Database) {
        let series = path.place.series(database);
        let value = series.and_then(|series| series.at(self.time.at()));
        let Some((_, Value::Tree(tree))) = value else { return };
        match definition(tree, &path) {
            Some(shown) if !path.path.is_empty() => {
                self.folds.reveal(&shown);
                self.list_mut().choose_id(RowId::Node(shown));
            }
            _ => self.folds.toggle(path),
        }
    }

    fn control(&mut self, key: KeyEvent, database: &Database, status: &Status) -> Effect {
        if *status == Status::Replay {
            self.complain("this is a recording: there is no program to control");
            return Effect::None;
        }
        if let Some((_, reason)) = database.ended() {
            self.complain(format!("the program has ended: {reason}"));
            return Effect::None;
        }
        match key.code {
            KeyCode::Char('x') => self.stop_or_resume(database),
            KeyCode::Char('r') => {
                self.ask_for_period(database);
                Effect::None
            }
            KeyCode::Char('a') => {
                let wanted = !self.is_sampling(database);
                self.sampling = Some(wanted);
                self.say(if wanted { "requested sampling" } else { "requested to stop sampling" });
                Effect::Wish(Action::Sampling(wanted))
            }
            KeyCode::Char('h') => {
                let text = self.snapshot_name(database);
                self.prompt = Some(Prompt::going_on(Purpose::Snapshot, text));
                Effect::None
            }
            _ => {
                self.prompt = Some(Prompt::going_on(Purpose::Marker, "here".to_owned()));
                Effect::None
            }
        }
    }
}

fn is_up(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Up | KeyCode::Char('k'))
}

fn is_down(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Down | KeyCode::Char('j'))
}

/// The view that a key selects.
fn tab_of(key: KeyEvent, tab: Tab, is_shown: impl Fn(Tab) -> bool) -> Option<Tab> {
    match key.code {
        KeyCode::Tab => Some(tab.shifted(1, is_shown)),
        KeyCode::BackTab => Some(tab.shifted(Tab::ALL.len() - 1, is_shown)),
        KeyCode::Char(c) => Tab::of_key(c),
        _ => None,
    }
}
