//! Sources of values: closures that fail or never return, and programs that answer at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use bactrian_live::{Event, ObserverId, ObserverKind, Value};
use bactrian_observe::Origin;

use crate::{Served, wait_until};

#[test]
fn failing_or_hanging_closure_silences_nobody() {
    let served = Served::new();
    let server = &served.server;
    let calls = Arc::new(AtomicU64::new(0));
    let called = Arc::clone(&calls);
    let failing = server.watch(ObserverKind::Int, "failing", move || {
        if called.fetch_add(1, Ordering::Relaxed) == 0 {
            panic!("not yet");
        }
        Value::Int(7)
    });
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let hanging = server.watch(ObserverKind::Int, "hanging", move || {
        let _ = held.lock().expect("only here").recv();
        Value::Int(8)
    });
    let sound = server.watch(ObserverKind::Int, "sound", || Value::Int(9));
    let point = server.declare(ObserverKind::Point, "point", Origin::Cell);
    let mut client = served.client();
    let mut expected = vec![
        (point.id(), Value::Count(0)),
        (failing.id(), Value::Failed("not yet".into())),
        (sound.id(), Value::Int(9)),
        (hanging.id(), Value::Failed("no answer for 2 s".into())),
        (failing.id(), Value::Int(7)),
    ];
    while !expected.is_empty() {
        if let Event::Update(id, value) = client.event().expect("it goes on") {
            expected.retain(|it| *it != (id, value.clone()));
        }
    }
    // A closure that returns after all is shown again.
    drop(release);
    client.value(hanging.id(), |value| *value == Value::Int(8));
}

#[test]
fn no_evaluation_without_clients() {
    let served = Served::new();
    let calls = Arc::new(AtomicU64::new(0));
    let called = Arc::clone(&calls);
    served.server.watch(ObserverKind::Int, "watched", move || {
        Value::Int(called.fetch_add(1, Ordering::Relaxed) as i64)
    });
    served.server.places();
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let client = served.client();
    wait_until("calls", || calls.load(Ordering::Relaxed) > 2);
    drop(client);
    served.wait_for_clients(0);
    let until_now = calls.load(Ordering::Relaxed);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(calls.load(Ordering::Relaxed) <= until_now + 1);
}

#[test]
fn program_answers_at_any_time_and_is_not_asked_twice() {
    let served = Served::new();
    let server = &served.server;
    let asked = Arc::new(Mutex::new(Vec::<ObserverId>::new()));
    let asks = Arc::clone(&asked);
    server.set_evaluator(move |due| asks.lock().expect("no panic").extend(due));
    let slow = server.declare(ObserverKind::Int, "slow", Origin::Asked);
    let mut client = served.client();
    client.declared("slow");
    let from = server.ticks();
    wait_until("ticks", || server.ticks() > from + 5);
    assert_eq!(*asked.lock().expect("no panic"), [slow.id()]);
    slow.publish(Value::Int(1));
    client.value(slow.id(), |value| *value == Value::Int(1));
    wait_until("another question", || asked.lock().expect("no panic").len() >= 2);
}
