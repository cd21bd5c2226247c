//! Immediate dominators, from the first node to the last.

use super::sideways::Sideways;

/// A finished walk: from a parent up to the first node that is not below the semidominator.
struct Walk {
    parent: u32,
    semi: u32,
    end: u32,
}

/// Turns semidominators into immediate dominators: for each node the nearest common ancestor of its parent and
/// its semidominator in the dominator tree. `jump` and `depth` are scratch arrays of any content.
///
/// Walking up step by step takes too long in some graphs (see "A trap" in the parent module). So each node also
/// has a jump to an ancestor. How far it goes follows from the node's depth in skew binary digits, so any
/// ancestor is a logarithmic number of steps away.
pub fn find(
    semi: Vec<u32>,
    sideways: &Sideways,
    mut jump: Vec<u32>,
    mut depth: Vec<u32>,
) -> Vec<u32> {
    // Entries before the current node are immediate dominators; the others are still semidominators.
    let mut dominator = semi;
    jump[0] = 0;
    depth[0] = 0;
    let mut place = 0;
    // Elements of a list that are also held from elsewhere walk up the same path, each starting one cell
    // further down. So the last walk is remembered and continued.
    let mut before = Walk { parent: 0, semi: 0, end: 0 };
    for node in 1..dominator.len() {
        let semi = dominator[node];
        let mut above = semi;
        // The semidominator of every other node is its parent.
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
            before = Walk { parent, semi, end: above };
            dominator[node] = above;
        }
        let above = above as usize;
        let far = jump[above] as usize;
        let farther = jump[far];
        // Two jumps of the same length combine into a longer one.
        let equal = depth[above] - depth[far] == depth[far] - depth[farther as usize];
        jump[node] = if equal { farther } else { above as u32 };
        depth[node] = depth[above] + 1;
    }
    dominator
}
