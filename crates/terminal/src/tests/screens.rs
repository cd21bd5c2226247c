//! Every view and every overlay, on a small screen and on a large one.

use std::path::PathBuf;

use super::User;

/// The keys to press, and the golden file for the resulting screen.
const SCREENS: &[(&str, &str)] = &[
    ("overview", ""),
    ("overview_a_minute_ago", "<shift-left><shift-left><right>"),
    ("points", "5"),
    ("points_sorted_and_searched", "5sss/cache<enter>"),
    ("values", "6<down><down>"),
    ("tags", "7"),
    ("tables", "8"),
    ("trees", "9eee"),
    ("log", "4"),
    ("log_searched", "4/statistics<enter>p"),
    ("gc", "3"),
    ("sites", "2"),
    ("details_of_a_site", "2<down><enter><down> "),
    ("spans", "0"),
    ("details", "5<down><enter>"),
    ("details_of_what_fails", "6<end><up><enter>"),
    ("chart", "5 <down> 6 3 <down> <down><down> c"),
    ("chart_of_two_units", "3 <down> 6<down> c"),
    ("help", "?"),
    ("warning", "<down><enter>"),
];

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];

fn golden(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden");
    folder.join(format!("{name}.txt"))
}

fn check(name: &str, seen: &str) {
    let path = golden(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, seen).expect("the golden file is written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(seen, expected, "{name} looks different; UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn every_view_looks_as_it_should() {
    for (width, height) in SIZES {
        for (name, keys) in SCREENS {
            let mut user = User::of_server(width, height);
            user.types(keys);
            check(&format!("{name}_{width}x{height}"), &user.sees());
        }
    }
}

#[test]
fn only_ascii_is_drawn_without_utf8() {
    for (name, keys) in SCREENS {
        let mut user = User::of_server(80, 24);
        user.look = super::Look { has_colours: false, is_unicode: false };
        user.types(keys);
        let seen = user.sees();
        assert!(seen.is_ascii(), "{name}:\n{seen}");
        if ["overview", "trees", "chart"].contains(name) {
            check(&format!("{name}_ascii"), &seen);
        }
    }
}

#[test]
fn any_size_of_screen_is_drawn() {
    for (width, height) in
        [(1, 1), (0, 0), (5, 3), (20, 5), (40, 10), (79, 23), (81, 25), (500, 4), (3, 200)]
    {
        for (_, keys) in SCREENS {
            User::of_server(width, height).types(keys).sees();
        }
        User::of(Vec::new(), width, height).types("1234567890?").sees();
    }
}

#[test]
fn without_colours_none_is_used() {
    use ratatui::style::Color;
    for (name, keys) in SCREENS {
        let mut user = User::of_server(80, 24);
        user.look.has_colours = false;
        user.types(keys);
        let buffer = user.buffer();
        let coloured =
            |cell: &&ratatui::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
        assert_eq!(buffer.content.iter().find(coloured), None, "{name}");
    }
}
