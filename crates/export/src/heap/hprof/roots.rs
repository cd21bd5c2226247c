//! Roots in terms of Java: modules and the like are classes whose static fields hold blocks, so that tools show
//! their names; stacks are those of threads, with their frames.

use bactrian_analysis::heap::{Heap, Holder, HolderKind};
use bactrian_graph::Node;

/// The maximum number of static fields of a class: the number has two bytes.
const MOST_STATICS: usize = 65_000;

/// A module, or something else that holds blocks by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// The names and targets of its static fields.
    pub statics: Vec<(String, Node)>,
}

/// A stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The name of its thread.
    pub thread: String,
    /// The frames that hold something, innermost first, with the blocks they hold.
    pub frames: Vec<(String, Vec<Node>)>,
}

/// All roots of a heap.
pub fn roots(heap: &Heap) -> (Vec<Owner>, Vec<Stack>) {
    let (mut owners, mut stacks) = (Vec::new(), Vec::new());
    for holder in heap.holders().iter().filter(|holder| holder.level == 2) {
        match holder.kind {
            HolderKind::Stack => stacks.push(stack(heap, holder)),
            _ => owners.extend(parts(owner(heap, holder))),
        }
    }
    (owners, stacks)
}

/// What a holder points to: the holders below it with their names, and blocks.
fn held<'a>(heap: &'a Heap, holder: &Holder) -> (Vec<(String, &'a [Node])>, Vec<Node>) {
    let (mut below, mut blocks) = (Vec::new(), Vec::new());
    for &node in heap.graph().successors(holder.node) {
        match heap.holders().get(node) {
            Some(_) => below.push((heap.holder_name(node), heap.graph().successors(node))),
            None => blocks.push(node),
        }
    }
    (below, blocks)
}

fn owner(heap: &Heap, holder: &Holder) -> Owner {
    let name = heap.holder_name(holder.node);
    let name = match holder.kind {
        HolderKind::Global => name,
        kind => format!("{}: {name}", kind.title()),
    };
    let mut statics = Vec::new();
    let mut add = |name: &str, blocks: &[Node]| match blocks {
        &[block] => statics.push((name.to_owned(), block)),
        blocks => {
            let numbered = (1..).zip(blocks);
            statics.extend(numbered.map(|(number, &block)| (format!("{name} #{number}"), block)));
        }
    };
    let (below, blocks) = held(heap, holder);
    below.iter().for_each(|(name, blocks)| add(name, blocks));
    add("value", &blocks);
    Owner { name, statics }
}

/// Splits an owner of too many blocks.
fn parts(owner: Owner) -> Vec<Owner> {
    if owner.statics.len() <= MOST_STATICS {
        return vec![owner];
    }
    let parts = (1..).zip(owner.statics.chunks(MOST_STATICS));
    let part = |(number, statics): (usize, &[_])| Owner {
        name: format!("{}, part {number}", owner.name),
        statics: statics.to_vec(),
    };
    parts.map(part).collect()
}

fn stack(heap: &Heap, holder: &Holder) -> Stack {
    let (below, blocks) = held(heap, holder);
    let mut frames: Vec<_> =
        below.into_iter().map(|(name, blocks)| (name, blocks.to_vec())).collect();
    if !blocks.is_empty() {
        frames.push(("in no known frame".to_owned(), blocks));
    }
    Stack { thread: heap.holder_name(holder.node), frames }
}

/// Function, file and line of a frame whose text is like `Main.load (main.ml:12)`.
pub fn place(frame: &str) -> (&str, &str, u32) {
    let split = || {
        let (function, rest) = frame.strip_suffix(')')?.rsplit_once(" (")?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((function, file, line.parse().ok()?))
    };
    split().unwrap_or((frame, "", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_texts_are_parsed() {
        assert_eq!(place("Main.load (main.ml:12)"), ("Main.load", "main.ml", 12));
        assert_eq!(place("Main.( + ) (a b.ml:1)"), ("Main.( + )", "a b.ml", 1));
        for odd in ["", "frame at 0x12", "f (a.ml:x)", "(a)", "f (a.ml:99999999999)"] {
            assert_eq!(place(odd), (odd, "", 0));
        }
    }

    #[test]
    fn large_owners_are_split() {
        let statics = vec![("a".to_owned(), 7); MOST_STATICS + 1];
        let parts = parts(Owner { name: "Main".to_owned(), statics });
        let sizes: Vec<_> = parts.iter().map(|part| (&*part.name, part.statics.len())).collect();
        assert_eq!(sizes, [("Main, part 1", MOST_STATICS), ("Main, part 2", 1)]);
    }
}
