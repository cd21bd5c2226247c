//! Positions in a trace from which reading can start.
//!
//! Stacks and names are coded relative to everything before them, so a window in the middle of a trace cannot
//! be read by itself. One pass over the whole trace saves the decoders' state at regular distances (about 130
//! KB per domain each). From then on any window can be read from the checkpoint before it.

use crate::frames::Frames;
use crate::index::Index;
use crate::model::Micros;

use super::stream::{Head, Stream};
use super::{Reader, Stacks};

/// Decoder states at regular distances in a trace.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    points: Vec<Checkpoint>,
    frames: Frames,
}

#[derive(Clone, Debug)]
struct Checkpoint {
    /// No event from here on is earlier.
    time: Micros,
    streams: Vec<Stream>,
    heads: Vec<Option<Head>>,
    current: Option<usize>,
}

impl Checkpoint {
    /// The state of a reader whose last event was at `time`.
    fn of(reader: &Reader<'_>, time: Micros) -> Checkpoint {
        let Reader { streams, heads, current, .. } = reader;
        Checkpoint { time, streams: streams.clone(), heads: heads.clone(), current: *current }
    }
}

impl Checkpoints {
    /// Reads the whole trace once and makes a checkpoint every `bytes_apart` bytes.
    pub fn build(bytes: &[u8], index: &Index, bytes_apart: usize) -> Checkpoints {
        let mut reader = Reader::new(bytes, index, Stacks::Decode);
        let mut points = vec![Checkpoint::of(&reader, Micros(0))];
        let mut due = reader.position().saturating_add(bytes_apart);
        while let Some(time) = reader.next().map(|event| event.time()) {
            if reader.position() >= due {
                points.push(Checkpoint::of(&reader, time));
                due = reader.position().saturating_add(bytes_apart);
            }
        }
        Checkpoints { points, frames: reader.frames }
    }

    /// The number of checkpoints.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// A reader of the same trace that starts at the last checkpoint before which all events are earlier than
    /// `time`. Its frames are those of the whole trace from the beginning.
    pub fn reader_from<'a>(&self, bytes: &'a [u8], index: &'a Index, time: Micros) -> Reader<'a> {
        let after = self.points.partition_point(|point| point.time < time);
        let point = &self.points[after.saturating_sub(1)];
        Reader {
            bytes,
            index,
            stacks: Stacks::Decode,
            streams: point.streams.clone(),
            heads: point.heads.clone(),
            current: point.current,
            frames: self.frames.clone(),
        }
    }
}
