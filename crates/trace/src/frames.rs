//! The tables that events refer to: frames (code addresses with their source locations) and names.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::{FrameId, NameId};

/// A source location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceLocation {
    /// Source file, as it was passed to the compiler.
    pub file: NameId,
    /// Function, qualified by module (`Stdlib__list.map`).
    pub function: NameId,
    /// Line, from 1.
    pub line: u32,
    /// First column of the expression.
    pub start_char: u16,
    /// Column after the expression, counted from the start of `line`.
    pub end_char: u16,
}

/// All names of a trace, each stored once.
#[derive(Clone, Debug)]
pub struct Names {
    texts: Vec<Box<[u8]>>,
    ids: HashMap<Box<[u8]>, NameId>,
}

impl NameId {
    /// Stands for a name that was lost to damage in the file.
    pub const LOST: NameId = NameId(0);
}

impl Default for Names {
    fn default() -> Names {
        let mut names = Names { texts: Vec::new(), ids: HashMap::new() };
        let lost = names.intern(b"[name lost]");
        debug_assert_eq!(lost, NameId::LOST);
        names
    }
}

impl Names {
    /// The id of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &[u8]) -> NameId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        // 2^32 names need a file of more than 4 GiB; any names beyond that count as lost.
        let Ok(next) = u32::try_from(self.texts.len()) else { return NameId::LOST };
        let id = NameId(next);
        self.texts.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    /// The name as written in the file.
    pub fn bytes(&self, id: NameId) -> &[u8] {
        &self.texts[id.index()]
    }

    /// The name as text, invalid UTF-8 replaced.
    pub fn text(&self, id: NameId) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(id))
    }

    /// The number of names; ids are below it.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Always false: [`NameId::LOST`] is always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// All frames of a trace: code addresses and the source locations that they stand for.
#[derive(Clone, Debug)]
pub struct Frames {
    codes: Vec<u64>,
    ids: HashMap<u64, FrameId>,
    locations: Vec<Option<Box<[TraceLocation]>>>,
    names: Names,
}

impl FrameId {
    /// The frame of code 0: a cache slot that was never filled. It does not occur in sound traces.
    pub const NONE: FrameId = FrameId(0);
}

impl Default for Frames {
    fn default() -> Frames {
        let mut frames = Frames {
            codes: Vec::new(),
            ids: HashMap::new(),
            locations: Vec::new(),
            names: Names::default(),
        };
        let none = frames.intern(0);
        debug_assert_eq!(none, FrameId::NONE);
        frames
    }
}

impl Frames {
    /// The id of the frame with this code, which is added if it is new.
    pub fn intern(&mut self, code: u64) -> FrameId {
        if let Some(&id) = self.ids.get(&code) {
            return id;
        }
        // Each new code takes ten bytes of input, so this needs a file of 40 GiB that holds nothing but new
        // codes.
        let Ok(next) = u32::try_from(self.codes.len()) else { return FrameId::NONE };
        let id = FrameId(next);
        self.codes.push(code);
        self.locations.push(None);
        self.ids.insert(code, id);
        id
    }

    /// The frame with this code, if there is one.
    pub fn find(&self, code: u64) -> Option<FrameId> {
        self.ids.get(&code).copied()
    }

    /// Sets the locations of a frame, outermost first. Only the first announcement counts.
    pub fn announce(&mut self, id: FrameId, locations: &[TraceLocation]) {
        let slot = &mut self.locations[id.index()];
        if slot.is_none() {
            *slot = Some(locations.into());
        }
    }

    /// The code address of a frame.
    pub fn code(&self, id: FrameId) -> u64 {
        self.codes[id.index()]
    }

    /// Source locations: several if functions were inlined, outermost caller first; empty if unknown.
    pub fn locations(&self, id: FrameId) -> &[TraceLocation] {
        self.locations[id.index()].as_deref().unwrap_or(&[])
    }

    /// Whether the trace says anything about this frame, even "no debug information".
    pub fn is_announced(&self, id: FrameId) -> bool {
        self.locations[id.index()].is_some()
    }

    /// The number of frames; ids are below it.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Always false: [`FrameId::NONE`] is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All frames, in order of first appearance.
    pub fn ids(&self) -> impl Iterator<Item = FrameId> + use<> {
        (0..self.codes.len() as u32).map(FrameId)
    }

    /// The names that locations refer to.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, to add new ones.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }
}
