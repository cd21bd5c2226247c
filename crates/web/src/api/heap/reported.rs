//! What a report has of each snapshot: what the page of `ui/src/heap` asks for at first, and the next few clicks.

use bactrian_analysis::heap::{self, DominatorRow, Heap, RootRow, RootsQuestion};

use crate::api::Question;
use crate::evidence::Evidence;
use crate::query::Query;

/// Nodes of the page's first tables that can be looked at in a report.
const MOST_NODES: usize = 60;
/// Nodes whose paths and neighbours can be looked at, too: these answers are larger.
const MOST_PATHS: usize = 20;
/// Rows of tables of classes whose details can be looked at.
const MOST_CLASSES: usize = 20;

/// What the pictures of dominators ask for; the same in `ui/src/heap/questions.ts`.
const TREE: [(&str, &str); 3] = [("depth", "9"), ("number", "25"), ("min-share", "0.1")];

pub fn reported(evidence: &Evidence) -> Vec<Question> {
    let snapshots = evidence.snapshots();
    let last = snapshots.last().copied();
    let mut questions = Vec::new();
    for at in snapshots {
        let Ok(file) = evidence.file(at) else { continue };
        let name = file.path.display().to_string();
        let mut listing = Listing { at, name, questions: &mut questions };
        listing.first_pictures();
        // Of several snapshots the last is looked into: it has what was there to stay.
        if Some(at) == last
            && let Ok((_, heap)) = evidence.heap(at)
        {
            listing.next_clicks(heap);
        }
    }
    questions
}

struct Listing<'q> {
    at: usize,
    name: String,
    questions: &'q mut Vec<Question>,
}

impl Listing<'_> {
    fn add(&mut self, name: &'static str, options: &[(&str, &str)], what: &str, rank: u8) {
        let file = self.at.to_string();
        let pairs = std::iter::once(("file", &*file)).chain(options.iter().copied());
        let what = format!("{what} of {}", self.name);
        self.questions.push(Question { name, query: Query::of(pairs), what, rank });
    }

    fn first_pictures(&mut self) {
        self.add("heap/roots", &[], "the roots", 1);
        self.add("heap/dominators", &TREE, "the tree of dominators", 1);
        let rows = [("number", "200")];
        self.add("heap/types", &rows, "blocks by type", 1);
        self.add("heap/modules", &rows, "blocks by module", 1);
        self.add("heap/functions", &rows, "blocks by function", 1);
        self.add("heap/sites", &rows, "blocks by place of allocation", 1);
        self.add("heap/tags", &rows, "blocks by tag", 2);
        self.add("heap/finalisers", &[], "finalisers", 1);
        self.add("heap/graph", &[("nodes", "25")], "the reduced graph", 1);
        self.add("heap/duplicates", &[("number", "50")], "what is there more than once", 1);
        self.add("heap/collections", &rows, "collections", 1);
        self.add("heap/roots", &[("depth", "3"), ("number", "50")], "all levels of the roots", 2);
    }

    fn next_clicks(&mut self, heap: &Heap) {
        let mut nodes = Vec::new();
        roots_below(&heap::roots(heap, &RootsQuestion { depth: 2, limit: 10 }).all, &mut nodes);
        let question = heap::DominatorsQuestion {
            of: None,
            below: Vec::new(),
            by_block: false,
            depth: 9,
            limit: 25,
            min_share: 0.001,
        };
        if let Ok(tree) = heap::dominators(heap, &question) {
            nodes_below(&tree.rows, &mut nodes);
        }
        let finalisers = heap::finalisers(heap).groups;
        nodes.extend(finalisers.iter().flat_map(|group| group.cycle.iter().map(|step| step.node)));
        let mut known = std::collections::HashSet::new();
        nodes.retain(|node| known.insert(*node));
        for (place, node) in nodes.iter().take(MOST_NODES).enumerate() {
            let number = format!("#{node}");
            let rank = if place < MOST_PATHS { 2 } else { 3 };
            self.add("heap/show", &[("block", &number)], "single blocks and roots", rank);
            if place < MOST_PATHS {
                self.add("heap/paths", &[("what", &number)], "paths to blocks and roots", 3);
                let options = [("around", &*number), ("nodes", "30")];
                self.add("heap/graph", &options, "what is around blocks and roots", 3);
            }
        }
        self.clicks_on_classes(heap);
    }

    /// Paths to the largest types, their fields; functions of modules, and so on.
    fn clicks_on_classes(&mut self, heap: &Heap) {
        let rows = ("number", "200");
        let texts = |by: heap::ClassBy| -> Vec<String> {
            let rows = heap::classes(heap, by).rows;
            rows.iter().take(MOST_CLASSES).map(|row| row.label.text()).collect()
        };
        let types = heap::classes(heap, heap::ClassBy::Type).rows;
        for name in types.iter().take(MOST_CLASSES).map(|row| &*row.label.name) {
            self.add("heap/paths", &[("what", name)], "paths to types", 3);
            self.add("heap/fields", &[("type", name)], "fields of types", 3);
            self.add("heap/sites", &[("type", name), rows], "where types are allocated", 3);
        }
        for module in texts(heap::ClassBy::Module) {
            self.add("heap/functions", &[("module", &module), rows], "functions of modules", 2);
        }
        for function in texts(heap::ClassBy::Function) {
            self.add("heap/sites", &[("function", &function), rows], "sites of functions", 3);
        }
        for site in texts(heap::ClassBy::Site) {
            self.add("heap/types", &[("site", &site), rows], "types of sites", 3);
        }
    }
}

/// The nodes of all rows, from above.
fn roots_below(row: &RootRow, nodes: &mut Vec<u32>) {
    nodes.push(row.node);
    row.rows.iter().for_each(|row| roots_below(row, nodes));
}

fn nodes_below(rows: &[DominatorRow], nodes: &mut Vec<u32>) {
    nodes.extend(rows.iter().filter_map(|row| row.node));
    rows.iter().for_each(|row| nodes_below(&row.rows, nodes));
}
