//! What users do: search, sort, go back in time, send requests.

use bactrian_live::{
    Action, Declaration, Event, LogLine, ObserverId, ObserverKind, Program, Stamp, Unit, Value,
    names,
};

use super::{SECOND, User};
use crate::draw::KEYS;
use crate::session::Status;
use crate::state::{Effect, Motion, Tab};

fn tick(second: u64) -> Event {
    Event::Tick(Stamp { at: second * SECOND, cpu: 0 })
}

#[test]
fn views_are_reached_by_number_and_one_after_another() {
    let mut user = User::of_server(80, 24);
    for tab in Tab::ALL {
        assert_eq!(user.state.tab, tab);
        user.types("<tab>");
    }
    assert_eq!(user.state.tab, Tab::Overview);
    assert_eq!(user.types("3").state.tab, Tab::Gc);
    assert_eq!(user.types("0").state.tab, Tab::Spans);
}

#[test]
fn search_narrows_while_typing_and_escape_ends_it() {
    let mut user = User::of_server(80, 24);
    user.types("5/CACHE");
    assert!(user.row_with("cache.hit").is_some() && user.row_with("requests").is_none());
    user.types("x");
    assert!(user.row_with("Nothing here contains \"CACHEx\"").is_some());
    user.types("<backspace><enter>");
    assert!(user.row_with("cache.miss").is_some());
    user.types("6");
    assert!(user.row_with("sessions").is_none(), "it holds for all views");
    user.types("<esc>");
    assert!(user.row_with("sessions").is_some());
    user.types("9/not found<enter>");
    assert!(user.row_with("routes").is_some(), "trees are found by what is in them");
}

#[test]
fn sorting_cycles_through_columns_and_keeps_the_selection() {
    let mut user = User::of_server(80, 24);
    let names = |user: &User| -> Vec<String> {
        user.state.rows.iter().map(|row| row.cells[0].text.clone()).collect()
    };
    user.types("5<down>");
    let declared = names(&user);
    let chosen = user.state.chosen().map(|row| row.id.clone());
    user.types("s");
    assert_eq!(names(&user), ["cache.hit", "cache.miss", "parse", "query", "requests", "sent"]);
    user.types("ss");
    assert_eq!(names(&user)[..3], ["sent", "requests", "parse"].map(String::from));
    user.types("S");
    assert_eq!(names(&user)[0], "query");
    assert_eq!(user.state.chosen().map(|row| row.id.clone()), chosen);
    user.types("sssss");
    assert_eq!(names(&user), declared, "after the last column nothing is sorted");
}

#[test]
fn the_past_is_shown_in_every_view() {
    let mut user = User::of_server(80, 24);
    user.types("6");
    assert!(user.row_with("\"serving\"").is_some());
    assert!(user.row_with("failed: Not_found").is_some());
    assert!(user.row_with("collected").is_some());
    // A whole chart window is a minute.
    user.types("{{");
    assert_eq!(user.state.time.at(), 0);
    assert!(user.row_with("\"warming up\"").is_some());
    assert!(user.row_with("failed").is_none() && user.row_with("collected").is_none());
    assert!(user.row_with("paused -02:00.0").is_some());
    user.types("4");
    assert!(user.row_with("collected statistics").is_some());
    assert!(user.row_with("served").is_none(), "that came later");
    user.types("l");
    assert!(user.row_with("served").is_some());
    assert_eq!(user.state.time.motion(), Motion::Live);
}

#[test]
fn single_steps_follow_the_programs_ticks() {
    let mut user = User::of_server(80, 24);
    user.types("[[[");
    assert_eq!(user.state.time.at(), 118 * SECOND + SECOND / 2);
    user.types("]");
    assert_eq!(user.state.time.at(), 119 * SECOND);
    user.types("<");
    assert_eq!(user.state.time.at(), 0);
    user.types(">");
    assert_eq!((user.state.time.at(), user.state.time.motion()), (120 * SECOND, Motion::Paused));
}

#[test]
fn marker_pauses_the_view_unless_disabled() {
    let mut user = User::of(vec![tick(1), tick(2)], 80, 24);
    user.comes(vec![Event::Marker("after the first batch".into()), tick(3), tick(9)]);
    assert_eq!((user.state.time.at(), user.state.time.motion()), (2 * SECOND, Motion::Paused));
    assert!(user.row_with("marker: after the first batch").is_some());
    user.types("lM");
    user.comes(vec![tick(10), Event::Marker("again".into()), tick(11)]);
    assert_eq!((user.state.time.at(), user.state.time.motion()), (11 * SECOND, Motion::Live));
    user.types("NN");
    assert_eq!(user.state.time.at(), 2 * SECOND);
    user.types("n");
    assert_eq!(user.state.time.reason(), Some("again"));
}

#[test]
fn playback_follows_the_program_with_a_delay() {
    let mut user = User::of((0..100).map(tick).collect(), 80, 24);
    user.types("{P");
    assert_eq!(user.state.time.at(), 39 * SECOND);
    user.comes(vec![tick(101)]);
    user.passes(5 * SECOND);
    assert_eq!(user.state.time.at(), 44 * SECOND);
    assert!(user.row_with("playing 1x -00:57.0").is_some());
    user.types("+").passes(5 * SECOND);
    assert_eq!(user.state.time.at(), 54 * SECOND);
    user.types("P").passes(5 * SECOND);
    assert_eq!((user.state.time.at(), user.state.time.motion()), (54 * SECOND, Motion::Paused));
}

#[test]
fn requests_reach_the_program_and_answers_the_user() {
    let mut user = User::of_server(80, 24);
    user.types("5x");
    assert_eq!(user.effect, Effect::Wish(Action::Stop(ObserverId(13))));
    assert!(user.row_with("requested to stop observing requests").is_some());
    // What is written takes the place of the period that was, unless one goes back in it.
    user.types("r250<enter>");
    assert_eq!(user.effect, Effect::Wish(Action::SetPeriod(ObserverId(13), 250)));
    user.types("r<backspace><backspace>9<enter>");
    assert_eq!(user.effect, Effect::Wish(Action::SetPeriod(ObserverId(13), 59)));
    user.types("r<enter>");
    assert_eq!(user.effect, Effect::Wish(Action::SetPeriod(ObserverId(13), 500)));
    user.types("rx<enter>");
    assert_eq!(user.effect, Effect::None);
    assert!(user.row_with("is not a number of milliseconds").is_some());
    user.types("h<enter>");
    assert_eq!(user.effect, Effect::Wish(Action::Snapshot("server-120s".into())));
    user.types("a");
    assert_eq!(user.effect, Effect::Wish(Action::Sampling(false)), "it sampled");
    user.types("a");
    assert_eq!(user.effect, Effect::Wish(Action::Sampling(true)));
    user.types("m<enter>");
    assert_eq!(user.effect, Effect::Wish(Action::Mark("here".into())));
    user.status = Status::Replay;
    user.types("x");
    assert_eq!(user.effect, Effect::None);
    assert!(user.row_with("this is a recording").is_some());
}

#[test]
fn state_of_the_source_is_shown_and_data_stays() {
    let mut user = User::of_server(80, 24);
    user.status = Status::Lost("the other side closed".into());
    assert!(user.row_with("connection lost: the other side closed; trying again").is_some());
    user.status = Status::Over;
    user.comes(vec![Event::End("exit status 2".into())]);
    assert!(user.row_with("ended at 02:00.0: exit status 2").is_some());
    user.types("5<left> ");
    assert!(user.row_with("requests per second is marked").is_some());
    user.passes(11 * SECOND);
    assert!(user.row_with("ended at").is_some(), "what was said makes room again");
    user.types("x");
    assert!(user.row_with("the program has ended").is_some());
}

#[test]
fn a_program_that_follows_another_is_shown_alone() {
    let mut user = User::of_server(80, 24);
    user.comes(vec![
        Event::Hello(Program { pid: 7, name: "next".into(), ..Program::default() }),
        tick(5),
    ]);
    user.types("5");
    assert!(user.row_with("requests").is_none());
    user.types("{");
    assert!(user.row_with("requests").is_some(), "what was before is still there");
}

#[test]
fn numbers_are_marked_and_drawn_together() {
    let mut user = User::of_server(80, 24);
    user.types("c");
    assert!(user.row_with("nothing is marked").is_some());
    user.types("5 <down> c");
    assert!(user.row_with("cache.hit per second").is_some());
    let row = user.row_with("requests per second").expect("in the legend");
    assert!(row.contains("1234/s") && row.contains("left"), "{row}");
    user.types(" ");
    assert!(user.row_with("requests per second").is_none());
    user.types(" ");
    assert!(user.state.marked.is_empty());
    assert!(user.row_with("cache.hit").is_some(), "the chart of nothing is left");
    // Any number of an observer can be marked in its details.
    user.types("8<enter><down><down><down><down> ");
    assert!(user.row_with("cache longest is marked").is_some());
    user.types("<esc>2 c");
    assert!(user.row_with("Parser.parse_request").is_some());
}

#[test]
fn trees_fold_and_references_lead_to_their_nodes() {
    let mut user = User::of_server(80, 24);
    user.types("9");
    assert!(user.row_with("users").is_none());
    user.types("e");
    let row = user.row_with("└─→ #2 not found").or_else(|| user.row_with("→ #2 not found"));
    assert!(row.is_some(), "{}", user.sees());
    assert!(user.row_with("↑ #1 /").is_some());
    user.types("/x<esc><home><down><down><down><down><down><down>");
    assert!(user.state.chosen().is_some_and(|row| row.cells[0].text.contains("→ #2")));
    user.types("<enter>");
    assert!(user.state.chosen().is_some_and(|row| row.cells[0].text.ends_with("not found  #2")));
    user.types("<home><enter>");
    assert!(user.row_with("api").is_none());
}

#[test]
fn the_log_is_scrolled_without_losing_the_place() {
    let lines =
        (0..100).map(|at| Event::Log(LogLine { at: at * SECOND, text: format!("line {at}.") }));
    let mut user = User::of(vec![tick(0)], 80, 24);
    user.comes(lines.chain([tick(100)]).collect());
    user.types("4");
    assert!(user.row_with("line 99.").is_some() && user.row_with("line 80.").is_none());
    user.types("<up><up>");
    assert!(user.row_with("line 97.").is_some() && user.row_with("line 98.").is_none());
    user.comes(vec![tick(101), Event::Log(LogLine { at: 101 * SECOND, text: "fresh".into() })]);
    assert!(user.row_with("line 97.").is_some() && user.row_with("fresh").is_none());
    user.types("<home>");
    assert!(user.row_with("line 0.").is_some() && user.row_with("line 18.").is_some());
    user.types("<end>");
    assert!(user.row_with("fresh").is_some());
}

#[test]
fn texts_of_the_program_do_not_reach_the_terminal_as_commands() {
    let text = "\x1b[2J\u{7}bell".to_owned();
    let events = vec![tick(0), Event::Log(LogLine { at: 0, text })];
    let mut user = User::of(events, 80, 24);
    assert!(user.types("4").row_with("�[2J�bell").is_some());
}

#[test]
fn failing_observer_is_highlighted_and_recovers() {
    let mut user = User::of_server(80, 24);
    user.types("6");
    let failed = user.row_with("depth").expect("it is listed");
    assert!(failed.contains("failed: Not_found"), "{failed}");
    user.comes(vec![tick(121), Event::Update(ObserverId(25), Value::Int(8))]);
    assert!(!user.row_with("depth").expect("it is listed").contains("failed"));
}

#[test]
fn unknown_numbers_are_explained_in_place_without_a_warning() {
    let declaration = Declaration {
        id: ObserverId(1),
        kind: ObserverKind::Sites,
        name: names::SITES.into(),
        labels: Vec::new(),
        unit: Unit::Bytes,
        period_ms: 200,
    };
    let reason = "the agent is not loaded in it: start it under bactrian live";
    let failed = Event::Update(ObserverId(1), Value::Failed(reason.into()));
    let mut user = User::of(vec![Event::Declare(declaration), tick(1), failed], 80, 24);
    assert!(user.row_with("no warnings").is_some());
    assert!(user.types("2").row_with("Allocations are unknown: the agent is not").is_some());
    assert!(user.types("3").row_with("Pauses of this program are unknown").is_some());
}

#[test]
fn q_and_control_c_quit_everywhere() {
    let mut user = User::of_server(80, 24);
    assert_eq!(user.types("q").effect, Effect::Quit);
    assert_eq!(user.types("?q").effect, Effect::None, "closes the help");
    assert_eq!(user.types("/q").effect, Effect::None, "is a letter");
    assert_eq!(user.types("<ctrl-c>").effect, Effect::Quit);
}

#[test]
fn the_guide_names_every_key() {
    let guide = include_str!("../../../../docs/live.md");
    for (key, does) in KEYS.iter().flat_map(|(_, keys)| *keys) {
        for key in key.split(", ").flat_map(|key| key.split(" .. ")) {
            assert!(guide.contains(&format!("`{key}`")), "{key}: {does}");
        }
    }
}
