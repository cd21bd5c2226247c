//! Programs that cause trouble: no observer is silenced, and the program is not harmed.

use bactrian_fixtures::{BOTH, Compiler, Variant};
use bactrian_live::Value;

use crate::programs::program;
use crate::watch::{Running, Watch};

fn start(compiler: Compiler, what: &str) -> Running {
    Running::start_fast(&program("observe_trouble", compiler, Variant::Plain), Some(what))
}

fn is_at_least(watch: &Watch, name: &str, least: i64) -> bool {
    matches!(watch.value(name), Some(Value::Int(number)) if *number >= least)
}

#[test]
fn one_observer_does_not_silence_others() {
    for compiler in BOTH {
        // At the default period, because some evaluations take longer than a short one.
        let program = program("observe_trouble", compiler, Variant::Plain);
        let mut running = Running::start_with(&program, |command| {
            command.arg("observers");
        });
        running.lines_until("ready");
        let mut watch = running.watch();
        for (name, value) in [
            ("slow", Value::Int(1)),
            ("collects", Value::Int(2)),
            ("deep", Value::Int(100_000)),
            ("yields", Value::Int(3)),
            ("creates", Value::Text("yes".into())),
            ("created", Value::Killed),
        ] {
            watch.expect(name, &value);
        }
        watch.until("an overflow", |watch| {
            matches!(watch.value("overflows"), Some(Value::Failed(why)) if why == "Stack overflow")
        });
        for name in ["before", "after"] {
            watch.until("evaluations", |watch| is_at_least(watch, name, 10));
        }
        // A slow observer is evaluated less often, and its declaration says so.
        watch.until("a longer period", |watch| {
            watch.declaration("slow").is_some_and(|known| known.period_ms >= 1000)
        });
        assert!(watch.log.iter().any(|line| line == "created"));
        assert!(running.end().1, "{compiler:?}");
    }
}

#[test]
fn exceptions_of_signal_handlers_reach_the_program() {
    for compiler in BOTH {
        let mut running = start(compiler, "signals");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("timeouts", |watch| is_at_least(watch, "timeouts", 100));
        assert_eq!(watch.value("slow"), Some(&Value::Int(1)), "{compiler:?}");
        let (said, is_success) = running.end();
        assert!(is_success && said.starts_with("timeouts "), "{compiler:?}: {said}");
    }
}

/// Signals that arrive while the program waits for its values to be shown reach the program, and the wait
/// ends.
#[test]
fn signals_may_come_while_values_are_shown() {
    for compiler in BOTH {
        let mut running = start(compiler, "shown");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("timeouts", |watch| watch.value("timeouts") == Some(&Value::Int(300)));
        assert_eq!(running.line(), "timeouts 300", "{compiler:?}");
        assert!(running.end().1, "{compiler:?}");
    }
}

#[test]
fn no_system_call_is_interrupted() {
    for compiler in BOTH {
        let mut running = start(compiler, "waits");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", 20));
        assert_eq!(running.end(), ("interrupted 0\n".into(), true), "{compiler:?}");
    }
}

#[test]
fn program_may_handle_any_signal() {
    for compiler in BOTH {
        let mut running = start(compiler, "takes all");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", 3));
        running.tell("");
        assert_eq!(running.line(), "took them", "{compiler:?}");
        let Some(Value::Int(before)) = watch.value("evaluated").cloned() else {
            panic!("no value")
        };
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", before + 5));
        assert_eq!(running.end(), ("own 0\n".into(), true), "{compiler:?}");
    }
}

#[test]
fn forked_children_continue_unobserved() {
    for compiler in BOTH {
        let mut running = start(compiler, "forks");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", 2));
        running.tell("");
        // A program that a child executes inherits none of our sockets.
        assert_eq!(running.lines_until("forked"), ["0"], "{compiler:?}");
        let Some(Value::Int(before)) = watch.value("evaluated").cloned() else {
            panic!("no value")
        };
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", before + 5));
        assert_eq!(watch.value("point"), Some(&Value::Count(0)));
        assert!(
            watch.log.is_empty() && watch.declaration("made later").is_none(),
            "{:?}",
            watch.log
        );
        assert_eq!(running.end(), (String::new(), true), "{compiler:?}");
    }
}

#[test]
fn observing_does_not_keep_values_alive() {
    for compiler in BOTH {
        let mut running = start(compiler, "weak");
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.expect("function", &Value::Int(2));
        watch.expect("ref", &Value::Int(5));
        watch.expect("tag", &Value::Tag { count: Some(100), bytes: Some(100 * 240) });
        watch.until("a table", |watch| matches!(watch.value("table"), Some(Value::Table(table)) if table.bindings == 1));
        running.tell("");
        assert_eq!(running.line(), "dropped", "{compiler:?}");
        for name in ["function", "ref", "table"] {
            watch.expect(name, &Value::Collected);
        }
        watch.expect("tag", &Value::Tag { count: Some(0), bytes: Some(0) });
        assert!(running.end().1, "{compiler:?}");
    }
}

#[test]
fn blocked_program_with_threads_answers() {
    for (compiler, variant) in [
        (Compiler::OCaml4, Variant::Plain),
        (Compiler::OCaml5, Variant::Plain),
        (Compiler::OCaml4, Variant::Bytecode),
    ] {
        let mut running = Running::start_fast(&program("observe_threads", compiler, variant), None);
        running.lines_until("ready");
        let mut watch = running.watch();
        watch.until("evaluations", |watch| is_at_least(watch, "evaluated", 5));
        watch.expect("point", &Value::Count(400_000));
        watch.expect("tag", &Value::Tag { count: Some(1), bytes: Some(24_000) });
        assert!(running.end().1, "{compiler:?} {variant:?}");
    }
}

#[test]
fn no_count_is_lost_between_domains() {
    let mut running = Running::start(&program("observe_domains", Compiler::OCaml5, Variant::Plain));
    let said = running.lines_until("ready");
    let bytes = said[0].parse().expect("a number");
    let mut watch = running.watch();
    watch.expect("point", &Value::Count(9 * 300_000));
    watch.expect("counter", &Value::Count(16 * 300_000));
    watch.expect("tag", &Value::Tag { count: Some(8 * 3000), bytes: Some(bytes) });
    watch.until("a histogram", |watch| {
        matches!(watch.value("histogram"), Some(Value::Histogram(all)) if all.count() == 8 * 3000)
    });
    watch.until("evaluations", |watch| is_at_least(watch, "evaluated", 2));
    watch.until("all times", |watch| {
        matches!(watch.value("time"), Some(Value::Elapsed { runs: 24_000, running: false, .. }))
    });
    assert!(running.end().1);
}
