//! Immediate dominators, from the first node to the last.

use super::sideways::Sideways;

/// A way that was gone: from a parent up, no higher than a semidominator if that can be.
struct Way {
    parent: u32,
    semi: u32,
    end: u32,
}

/// Makes semidominators immediate dominators: of each node, the nearest that its parent and its semidominator have
/// in common in the tree of dominators. `jump` and `depth` are arrays of any content, to be used anew.
///
/// Going up one by one takes too long in some graphs (see the trap). So each node also has a jump to somewhere
/// above, as far as its depth, written with skew binary digits, says: any place above is then a logarithmic number
/// of steps away.
pub fn find(
    semi: Vec<u32>,
    sideways: &Sideways,
    mut jump: Vec<u32>,
    mut depth: Vec<u32>,
) -> Vec<u32> {
    // All before the node are immediate dominators already.
    let mut dominator = semi;
    jump[0] = 0;
    depth[0] = 0;
    let mut place = 0;
    // Elements of a list that are also held from elsewhere go up by the same way, each from one cell further down.
    let mut before = Way { parent: 0, semi: 0, end: 0 };
    for node in 1..dominator.len() {
        let semi = dominator[node];
        let mut above = semi;
        // Of all others the semidominator is the parent.
        if sideways.nodes.has(node) {
            above = sideways.sources[place];
            place += 1;
            while place < sideways.sources.len() && !sideways.begins_at(place) {
                place += 1;
            }
            let parent = above;
            if before.semi == semi
                && before.parent > semi
                && before.parent == dominator[above as usize]
            {
                above = before.end;
            }
            while above > semi {
                let far = jump[above as usize];
                above = if far >= semi { far } else { dominator[above as usize] };
            }
            before = Way { parent, semi, end: above };
            dominator[node] = above;
        }
        let above = above as usize;
        let far = jump[above] as usize;
        let farther = jump[far];
        // Two jumps of one length make a longer one.
        let equal = depth[above] - depth[far] == depth[far] - depth[farther as usize];
        jump[node] = if equal { farther } else { above as u32 };
        depth[node] = depth[above] + 1;
    }
    dominator
}
