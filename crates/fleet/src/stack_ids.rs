//! Ids of stacks that are the same wherever a program runs: hashes of the names of their frames.

use std::collections::HashMap;
use std::sync::Arc;

use bactrian_tables::StackNumbers;
use bactrian_trace::{FrameId, Frames};
use bactrian_types::written;

use crate::profiler::FrameText;

/// Ids of stacks by their numbers in a trace. The id of a stack is made from that of its caller, so that each frame is read once.
#[derive(Default)]
pub struct StackIds {
    known: Vec<Option<u64>>,
    /// The texts of frames, which many stacks share.
    texts: HashMap<FrameId, Arc<[Arc<FrameText>]>>,
}

/// FNV-1a, which is the same in every version and on every machine.
pub fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The hash of nothing.
pub const FIRST: u64 = 0xcbf2_9ce4_8422_2325;

impl StackIds {
    pub fn of(&mut self, stack: u32, numbers: &StackNumbers, frames: &Frames) -> i64 {
        // From the stack outwards to a known one, and back.
        let mut way = Vec::new();
        let (mut at, mut hash) = (stack, FIRST);
        while let Some((outer, frame)) = numbers.innermost(at) {
            if let Some(Some(known)) = self.known.get(at as usize) {
                hash = *known;
                break;
            }
            way.push((at, frame));
            at = outer;
        }
        for (at, frame) in way.into_iter().rev() {
            for text in &*self.texts(frame, frames) {
                let FrameText { function, file, line } = &**text;
                hash = mix(hash, function.as_bytes());
                hash = mix(mix(hash, &[0]), file.as_bytes());
                hash = mix(mix(hash, &[0]), &line.to_le_bytes());
            }
            // The names of other frames may still follow in the trace.
            if frames.is_announced(frame) {
                if self.known.len() <= at as usize {
                    self.known.resize(at as usize + 1, None);
                }
                self.known[at as usize] = Some(hash);
            }
        }
        hash.cast_signed()
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(
        &mut self,
        stack: u32,
        numbers: &StackNumbers,
        frames: &Frames,
    ) -> Vec<Arc<FrameText>> {
        let mut all = Vec::new();
        for frame in numbers.frames(stack) {
            all.extend(self.texts(frame, frames).iter().rev().cloned());
        }
        all
    }

    /// The texts of a frame, the outermost inlined function first.
    fn texts(&mut self, frame: FrameId, frames: &Frames) -> Arc<[Arc<FrameText>]> {
        if let Some(known) = self.texts.get(&frame) {
            return Arc::clone(known);
        }
        let texts: Arc<[Arc<FrameText>]> = read(frame, frames).into_iter().map(Arc::new).collect();
        if frames.is_announced(frame) {
            self.texts.insert(frame, Arc::clone(&texts));
        }
        texts
    }
}

fn read(frame: FrameId, frames: &Frames) -> Vec<FrameText> {
    let names = frames.names();
    let locations = frames.locations(frame);
    if locations.is_empty() {
        // Addresses of code differ between runs.
        return vec![FrameText { function: "[unknown]".to_owned(), file: String::new(), line: 0 }];
    }
    let text = |location: &bactrian_trace::TraceLocation| FrameText {
        function: written(&names.text(location.function)).into_owned(),
        file: names.text(location.file).into_owned(),
        line: location.line,
    };
    locations.iter().map(text).collect()
}
