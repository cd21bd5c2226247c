//! The promises of filters as options, which anybody can write into a URL.

use bactrian_analysis::Filter;

/// Takes `text` as options, a line each: a name, `=`, a value. Those that are understood are told in a way that is
/// understood again, and means the same.
pub fn check(text: &str) {
    let mut filter = Filter::default();
    for line in text.lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        if filter.clone().set(name, value).is_ok() {
            let _ = filter.set(name, value);
        }
    }
    let options = filter.options();
    let mut again = Filter::default();
    for (name, value) in &options {
        again.set(name, value).expect("what we write is understood");
    }
    assert_eq!(again.options(), options);
}
