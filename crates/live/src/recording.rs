//! Recordings of live numbers: a magic line, then the frames of our protocol as a client would have received
//! them.
//!
//! A recording grows while a program runs and may be cut anywhere; all complete frames can be played.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Event;
use crate::wire::{self, Frames, Malformed};

/// The first line of the file.
pub const MAGIC: &[u8; 16] = b"bactrian live 1\n";

/// Why a recording could not be read.
#[derive(Debug)]
pub enum RecordingError {
    /// An error of the operating system.
    Io(io::Error),
    /// Not a recording, or one of an unknown version.
    NotARecording,
    /// The data is malformed from here on.
    Malformed(Malformed),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::Io(error) => write!(f, "{error}"),
            RecordingError::NotARecording => f.write_str("not a recording"),
            RecordingError::Malformed(malformed) => {
                write!(f, "the recording is damaged: {malformed}")
            }
        }
    }
}

impl std::error::Error for RecordingError {}

/// Writes a recording to a file.
#[derive(Debug)]
pub struct Recorder {
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

impl Recorder {
    /// Creates or truncates a file that only its owner may read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut file = BufWriter::new(file);
        file.write_all(MAGIC)?;
        Ok(Recorder { file, bytes: Vec::new() })
    }

    /// Appends an event.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, event: &Event) -> io::Result<()> {
        self.bytes.clear();
        wire::put_event(&mut self.bytes, event);
        self.file.write_all(&self.bytes)
    }

    /// Writes all buffered data to the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads a recording.
#[derive(Debug)]
pub struct Player<R> {
    source: R,
    frames: Frames,
    is_over: bool,
}

/// The size of a read.
const PIECE: usize = 64 << 10;

impl<R: Read> Player<R> {
    /// Starts reading.
    ///
    /// # Errors
    /// If it is not a recording.
    pub fn new(mut source: R) -> Result<Player<R>, RecordingError> {
        let mut magic = [0; MAGIC.len()];
        match source.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => {
                Ok(Player { source, frames: Frames::default(), is_over: false })
            }
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Err(RecordingError::Io(error))
            }
            _ => Err(RecordingError::NotARecording),
        }
    }

    /// Whether the recording ended in the middle of an event; valid after the last event was returned.
    pub fn is_cut(&self) -> bool {
        self.is_over && !self.frames.is_empty()
    }

    fn step(&mut self) -> Result<Option<Event>, RecordingError> {
        let at = self.frames.offset();
        loop {
            let moved = |malformed: Malformed| {
                RecordingError::Malformed(Malformed {
                    offset: MAGIC.len() as u64 + at,
                    ..malformed
                })
            };
            if let Some(frame) = self.frames.next().map_err(moved)? {
                match wire::take_event(&frame).map_err(moved)? {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            if self.is_over {
                return Ok(None);
            }
            let mut piece = [0; PIECE];
            match self.source.read(&mut piece) {
                Ok(0) => self.is_over = true,
                Ok(length) => self.frames.push(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RecordingError::Io(error)),
            }
        }
    }
}

impl<R: Read> Iterator for Player<R> {
    type Item = Result<Event, RecordingError>;

    fn next(&mut self) -> Option<Result<Event, RecordingError>> {
        let step = self.step();
        if step.is_err() {
            // Nothing after damage can be decoded.
            self.is_over = true;
            self.frames = Frames::default();
        }
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObserverId, Stamp, Value};

    fn recorded() -> (Vec<Event>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.live");
        let events: Vec<Event> = (0..3000)
            .flat_map(|at| {
                let value = Value::Text("x".repeat(at as usize % 50));
                [Event::Tick(Stamp { at, cpu: 0 }), Event::Update(ObserverId(1), value)]
            })
            .collect();
        let mut recorder = Recorder::create(&path).expect("created");
        events.iter().for_each(|event| recorder.add(event).expect("written"));
        recorder.flush().expect("written");
        (events, std::fs::read(&path).expect("read"))
    }

    #[test]
    fn recorded_events_are_replayed() {
        let (events, bytes) = recorded();
        let player = Player::new(&bytes[..]).expect("a recording");
        assert_eq!(player.map(Result::unwrap).collect::<Vec<_>>(), events);
    }

    #[test]
    fn truncated_recording_is_played_to_its_last_complete_event() {
        let (events, bytes) = recorded();
        let mut player = Player::new(&bytes[..bytes.len() / 2]).expect("a recording");
        let played: Vec<Event> = player.by_ref().map(Result::unwrap).collect();
        assert!(played.len() > 1000 && events.starts_with(&played));
        assert!(player.is_cut());
    }

    #[test]
    fn damage_is_reported_with_its_offset() {
        let (_, mut bytes) = recorded();
        let middle = MAGIC.len();
        bytes[middle..middle + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut player = Player::new(&bytes[..]).expect("a recording");
        let error = player.next().expect("something").expect_err("damaged");
        assert!(error.to_string().contains("(at byte 16)"), "{error}");
        assert!(player.next().is_none());
        assert!(matches!(
            Player::new(&b"bactrian live 9\n"[..]),
            Err(RecordingError::NotARecording)
        ));
        assert!(matches!(Player::new(&b"short"[..]), Err(RecordingError::NotARecording)));
    }
}
