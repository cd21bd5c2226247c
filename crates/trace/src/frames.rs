//! The tables that events refer to: frames (codes with their source locations) and names.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::{FrameId, NameId};

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Source file as the compiler was given it.
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

/// All names of a trace, each held once.
#[derive(Clone, Debug)]
pub struct Names {
    texts: Vec<Box<[u8]>>,
    ids: HashMap<Box<[u8]>, NameId>,
}

impl NameId {
    /// The name of what lost its name to damage in the file.
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
    /// The id of `text`, new or known.
    pub fn intern(&mut self, text: &[u8]) -> NameId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        // A file of less than 4 GiB per name cannot hold 2^32 names; past that, all are lost ones.
        let Ok(next) = u32::try_from(self.texts.len()) else { return NameId::LOST };
        let id = NameId(next);
        self.texts.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    /// The bytes as written in the file.
    pub fn bytes(&self, id: NameId) -> &[u8] {
        &self.texts[id.index()]
    }

    /// The name for people.
    pub fn text(&self, id: NameId) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(id))
    }

    /// How many names there are; ids run below this.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never: the name of lost names is always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// All frames of a trace: code addresses and what source locations they stand for.
#[derive(Clone, Debug)]
pub struct Frames {
    codes: Vec<u64>,
    ids: HashMap<u64, FrameId>,
    locations: Vec<Option<Box<[Location]>>>,
    names: Names,
}

impl FrameId {
    /// The frame of code 0: a cache slot that was never filled. Sound traces do not show it.
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
    /// The id of the frame with this code, new or known.
    pub fn intern(&mut self, code: u64) -> FrameId {
        if let Some(&id) = self.ids.get(&code) {
            return id;
        }
        // Each new code takes ten bytes of input, so this needs a file of 40 GiB of new codes only.
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

    /// Gives a frame its locations, outermost first; the first announcement stays.
    pub fn announce(&mut self, id: FrameId, locations: &[Location]) {
        let slot = &mut self.locations[id.index()];
        if slot.is_none() {
            *slot = Some(locations.into());
        }
    }

    /// The code address.
    pub fn code(&self, id: FrameId) -> u64 {
        self.codes[id.index()]
    }

    /// Source locations: several if functions were inlined, outermost caller first; empty if unknown.
    pub fn locations(&self, id: FrameId) -> &[Location] {
        self.locations[id.index()].as_deref().unwrap_or(&[])
    }

    /// Whether the trace said anything (even "no debug information") about this frame.
    pub fn is_announced(&self, id: FrameId) -> bool {
        self.locations[id.index()].is_some()
    }

    /// How many frames there are; ids run below this.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Never: [`FrameId::NONE`] is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Every frame, in order of first appearance.
    pub fn ids(&self) -> impl Iterator<Item = FrameId> + use<> {
        (0..self.codes.len() as u32).map(FrameId)
    }

    /// The names that locations refer to.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, to add to.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }
}
