//! A program that reports its own numbers.

use std::collections::HashSet;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;

use bactrian_live::client::{Client, Incoming};
use bactrian_live::{Event, ObserverId, names};

use crate::live::{Message, Status, Wish};

/// Forwards what a program sends, and requests to it.
///
/// If the same program is also observed from outside, `is_beside` omits what is known from there: its state,
/// and the numbers of its runtime.
///
/// # Errors
/// If there can be no other thread.
pub fn connect(
    (mut client, incoming): (Client, Receiver<Incoming>),
    is_beside: bool,
    messages: SyncSender<Message>,
) -> io::Result<Wish> {
    thread::Builder::new().spawn(move || {
        let mut outside = HashSet::new();
        for incoming in incoming {
            let message = match incoming {
                Incoming::Connected(_) | Incoming::Lost { .. } if is_beside => continue,
                Incoming::Event(event) if is_beside && is_known_outside(&event, &mut outside) => {
                    continue;
                }
                Incoming::Event(event) => Message::Event(event),
                Incoming::Connected(_) => Message::Status(Status::Live),
                Incoming::Lost { reason, retries: true } => Message::Status(Status::Lost(reason)),
                Incoming::Lost { reason, retries: false } => Message::Event(Event::End(reason)),
            };
            if messages.send(message).is_err() {
                return;
            }
        }
    })?;
    Ok(Box::new(move |action| client.control(action).map(drop).map_err(|error| error.to_string())))
}

fn is_known_outside(event: &Event, outside: &mut HashSet<ObserverId>) -> bool {
    match event {
        Event::Declare(declaration) if names::is_reserved(&declaration.name) => {
            outside.insert(declaration.id);
            true
        }
        Event::Update(id, _) => outside.contains(id),
        // From outside, the same run is named differently.
        Event::Hello(_) | Event::End(_) => true,
        _ => false,
    }
}
