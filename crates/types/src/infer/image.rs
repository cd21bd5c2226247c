//! The heap in the form that inference needs: shapes, pointers with their field numbers, and the few contents
//! that distinguish types. Unreadable parts are missing.

use bactrian_snapshot::{
    BlockId, FieldValue, Group, Result, Snapshot, SnapshotError, Space, SpaceKind, tag,
};
use rayon::prelude::*;

/// The form of a block that could not be read.
pub(crate) const UNREAD: Form = Form(u16::MAX);

/// Stands for all fields from this number on.
pub(crate) const FAR: u8 = u8::MAX;

/// The number of groups that a thread reads before results are merged.
const BATCH: usize = 8;

/// What a header says besides the size: the tag, and for custom blocks the identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Form(pub u16);

impl Form {
    pub(crate) fn of_tag(tag: u8) -> Form {
        Form(u16::from(tag))
    }

    /// A custom block whose identifier has this number; all beyond the first 254 share one form.
    fn of_custom(identifier: u32) -> Form {
        let number = u16::try_from(identifier).ok().filter(|&number| number < 254);
        Form(u16::from(tag::CUSTOM) | number.map_or(0, |number| (number + 1) << 8))
    }

    /// A number that is unique for each form.
    pub(crate) fn number(self) -> u16 {
        self.0
    }

    pub(crate) fn tag(self) -> u8 {
        self.0 as u8
    }

    /// The number of a custom block's identifier.
    pub(crate) fn custom(self) -> Option<usize> {
        (self != UNREAD && self.tag() == tag::CUSTOM).then_some(())?;
        usize::from(self.0 >> 8).checked_sub(1)
    }
}

/// A closure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closure {
    pub block: u32,
    /// Its first function.
    pub code: u32,
    /// The first field of its environment.
    pub environment: u32,
}

/// The heap.
#[derive(Default)]
pub(crate) struct HeapImage {
    pub forms: Vec<Form>,
    /// Sizes in words, without headers.
    pub words: Vec<u32>,
    /// Where each block's pointers begin, and where those of the last one end.
    offsets: Vec<u32>,
    targets: Vec<u32>,
    positions: Vec<u8>,
    /// A bit for each block in static data.
    statics: Vec<u64>,
    /// Blocks that look like polymorphic variants, with the hash of their case.
    cases: Vec<(u32, i32)>,
    pub closures: Vec<Closure>,
}

impl HeapImage {
    /// Reads a snapshot. `hashes` are those of all cases of polymorphic variants, ascending.
    pub(crate) fn read(
        snapshot: &Snapshot,
        hashes: &[i32],
        progress: &mut dyn FnMut(f64),
    ) -> HeapImage {
        let blocks = snapshot.blocks() as usize;
        let edges = snapshot.edges().min(snapshot.file_bytes().saturating_mul(64)) as usize;
        let mut image = HeapImage {
            forms: Vec::with_capacity(blocks),
            words: Vec::with_capacity(blocks),
            offsets: Vec::with_capacity(blocks + 1),
            targets: Vec::with_capacity(edges),
            positions: Vec::with_capacity(edges),
            statics: vec![0; blocks.div_ceil(64)],
            cases: Vec::new(),
            closures: Vec::new(),
        };
        image.offsets.push(0);
        let spaces = &snapshot.tables().spaces;
        let groups: Vec<usize> = (0..snapshot.groups().len()).collect();
        for batch in groups.chunks(BATCH * rayon::current_num_threads()) {
            progress(batch[0] as f64 / groups.len() as f64);
            let parts: Vec<_> = batch
                .par_iter()
                .map(|&index| Part::read(snapshot, index, hashes, spaces))
                .collect();
            for (&index, part) in batch.iter().zip(parts) {
                image.skip_to(snapshot.groups()[index].first.index());
                if let Ok(part) = part {
                    image.add(part);
                }
            }
        }
        image.skip_to(blocks);
        image
    }

    /// The number of blocks, including unreadable ones.
    pub(crate) fn len(&self) -> usize {
        self.forms.len()
    }

    /// The pointers of a block: the field, or [`FAR`], and the block that it points to.
    pub(crate) fn pointers(&self, block: u32) -> impl Iterator<Item = (u8, u32)> + '_ {
        let range = self.range(block);
        let positions = self.positions[range.clone()].iter().copied();
        positions.zip(self.targets[range].iter().copied())
    }

    /// The range of a block's pointers among all pointers.
    fn range(&self, block: u32) -> std::ops::Range<usize> {
        let at = block as usize;
        self.offsets[at] as usize..self.offsets[at + 1] as usize
    }

    /// The target of the field with this number.
    pub(crate) fn target(&self, block: u32, field: u8) -> Option<u32> {
        self.pointers(block).find(|&(position, _)| position == field).map(|(_, target)| target)
    }

    /// Whether a block is in static data.
    pub(crate) fn is_static(&self, block: u32) -> bool {
        self.statics[block as usize / 64] >> (block % 64) & 1 == 1
    }

    /// The hash of the case of a polymorphic variant.
    pub(crate) fn case(&self, block: u32) -> Option<i32> {
        let found = self.cases.binary_search_by_key(&block, |&(block, _)| block).ok()?;
        Some(self.cases[found].1)
    }

    /// Drops the pointers, when they are no longer needed.
    pub(crate) fn without_pointers(self) -> (Vec<Form>, Vec<u32>) {
        (self.forms, self.words)
    }

    /// Inserts lost blocks up to this number.
    fn skip_to(&mut self, block: usize) {
        if self.forms.len() < block {
            self.forms.resize(block, UNREAD);
            self.words.resize(block, 0);
            self.offsets.resize(block + 1, self.targets.len() as u32);
        }
    }

    fn add(&mut self, part: Part) {
        let before = self.forms.len();
        self.forms.extend_from_slice(&part.forms);
        self.words.extend_from_slice(&part.words);
        for at in part.statics {
            let block = before + at as usize;
            self.statics[block / 64] |= 1 << (block % 64);
        }
        self.cases.extend_from_slice(&part.cases);
        self.closures.extend_from_slice(&part.closures);
        let edges = self.targets.len();
        if u32::try_from(edges + part.targets.len()).is_err() {
            // There are more pointers than 32-bit indices. The pointers from here on are unknown.
            self.offsets.resize(self.forms.len() + 1, edges as u32);
            return;
        }
        self.offsets.extend(part.ends.iter().map(|end| edges as u32 + end));
        self.targets.extend_from_slice(&part.targets);
        self.positions.extend_from_slice(&part.positions);
    }
}

/// A group of blocks.
#[derive(Default)]
struct Part {
    forms: Vec<Form>,
    words: Vec<u32>,
    ends: Vec<u32>,
    targets: Vec<u32>,
    positions: Vec<u8>,
    /// Those in static data, numbered from the group's first block.
    statics: Vec<u32>,
    cases: Vec<(u32, i32)>,
    closures: Vec<Closure>,
}

impl Part {
    fn read(snapshot: &Snapshot, index: usize, hashes: &[i32], spaces: &[Space]) -> Result<Part> {
        let group = snapshot.group(index)?;
        let mut part = Part::default();
        let small = |words: u64| u32::try_from(words).unwrap_or(u32::MAX);
        part.forms = group.blocks().iter().map(|block| Form::of_tag(block.tag)).collect();
        part.words = group.blocks().iter().map(|block| small(block.words)).collect();
        part.statics = statics(&group, spaces);
        let first = group.facts().first.0;
        for custom in group.customs().unwrap_or_default() {
            part.forms[(custom.block.0 - first) as usize] = Form::of_custom(custom.identifier.0);
        }
        for closure in group.closures().unwrap_or_default() {
            let (block, environment) = (closure.block.0, closure.environment);
            let code = closure.codes.first();
            part.closures.extend(code.map(|code| Closure { block, code: code.0, environment }));
        }
        // What was read before an error counts.
        let _: std::result::Result<(), SnapshotError> = part.fields(&group, hashes);
        let end = part.targets.len() as u32;
        part.ends.resize(part.forms.len(), end);
        Ok(part)
    }

    fn fields(&mut self, group: &Group<'_>, hashes: &[i32]) -> Result<()> {
        let first = group.facts().first.0;
        let edges = group.facts().edges.min(1 << 24) as usize;
        self.targets.reserve_exact(edges);
        self.positions.reserve_exact(edges);
        self.ends.reserve_exact(self.forms.len());
        for field in group.fields()?.iter() {
            let field = field?;
            let at = (field.block.0 - first) as usize;
            if self.ends.len() < at {
                self.ends.resize(at, self.targets.len() as u32);
            }
            match field.value {
                // A pointer to a function inside a closure says nothing about the closure as a whole.
                FieldValue::Pointer(pointer) if pointer.infix == 0 => {
                    self.targets.push(pointer.block.0);
                    self.positions.push(u8::try_from(field.index).unwrap_or(FAR));
                }
                FieldValue::Immediate(Some(value))
                    if field.index == 0
                        && self.words[at] == 2
                        && self.forms[at] == Form::of_tag(0) =>
                {
                    let hash = i32::try_from(value).ok();
                    let hash = hash.filter(|hash| hashes.binary_search(hash).is_ok());
                    self.cases.extend(hash.map(|hash| (field.block.0, hash)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The blocks of a group that are in static data, numbered from its first block.
fn statics(group: &Group<'_>, spaces: &[Space]) -> Vec<u32> {
    let facts = group.facts();
    let ours = spaces.iter().filter(|space| {
        let is_near = space.start <= facts.last_address && facts.first_address < space.end;
        space.kind == SpaceKind::Static && is_near
    });
    let mut found = Vec::new();
    for space in ours {
        let blocks = group.blocks();
        let from = blocks.partition_point(|block| block.address < space.start);
        let to = blocks.partition_point(|block| block.address < space.end);
        found.extend(from as u32..to as u32);
    }
    found
}

/// The number of a block that can be read.
pub(crate) fn number(block: BlockId, image: &HeapImage) -> Option<u32> {
    (block.index() < image.len() && image.forms[block.index()] != UNREAD).then_some(block.0)
}
