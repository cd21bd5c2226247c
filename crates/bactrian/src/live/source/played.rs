//! Recordings.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::thread;

use bactrian_live::recording::{Player, RecordingError};

use crate::live::{Message, Status};

/// Plays a recording into a channel, as fast as it is received.
///
/// # Errors
/// If it is not a recording. Damage further on is a notice: everything before it can be viewed.
pub fn play(path: &Path, messages: SyncSender<Message>) -> Result<(), RecordingError> {
    let player = Player::new(File::open(path).map_err(RecordingError::Io)?)?;
    let thread = thread::Builder::new().spawn(move || pass_on(player, &messages));
    thread.map(drop).map_err(RecordingError::Io)
}

fn pass_on(mut player: Player<File>, messages: &SyncSender<Message>) {
    let tell = |message| messages.send(message).is_ok();
    tell(Message::Status(Status::Replay));
    for event in player.by_ref() {
        let goes_on = match event {
            Ok(event) => tell(Message::Event(event)),
            Err(error) => {
                tell(Message::Notice(format!("{error}; everything before that is shown")));
                false
            }
        };
        if !goes_on {
            return;
        }
    }
    if player.is_cut() {
        tell(Message::Notice("the recording is truncated".to_owned()));
    }
}
