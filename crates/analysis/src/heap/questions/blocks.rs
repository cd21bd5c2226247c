//! Single blocks, and what a text that somebody types stands for.

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{Found, Shown, ValueLimits, show};
use super::answer;
use crate::question::{Answer, Evidence, FileNumber, Limit, Question, QuestionError};

/// One block or root: what it is, what is in it, who points to it, where it was allocated.
///
/// With a table of types, the block is printed as OCaml would, as far as the snapshot keeps what is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShowQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The block: 0xADDRESS, @NUMBER, or a module or value of one (Main.table, Main.3)
    pub block: String,
    /// How many fields, and how many of those that point to it; 0 for all
    #[serde(default = "rows")]
    #[schemars(with = "Limit")]
    pub number: usize,
    /// Levels of the value that is printed
    #[serde(default = "levels")]
    #[schemars(extend("x-value" = "LEVELS"))]
    pub depth: usize,
    /// Elements of each list, array or block in the value that is printed
    #[serde(default = "items")]
    #[schemars(extend("x-value" = "COUNT"))]
    pub items: usize,
}

fn rows() -> usize {
    20
}

fn levels() -> usize {
    4
}

fn items() -> usize {
    10
}

impl ShowQuestion {
    /// About this block of the first file.
    pub fn of(block: &str) -> ShowQuestion {
        ShowQuestion {
            file: FileNumber::default(),
            block: block.to_owned(),
            number: rows(),
            depth: levels(),
            items: items(),
        }
    }
}

impl Question for ShowQuestion {
    const NAME: &'static str = "heap/show";
    const COMMAND: Option<&'static str> = Some("heap show");
    type Answer = Shown;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Shown>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let node = heap.find_node(&self.block)?;
        let limits = ValueLimits { depth: self.depth, items: self.items };
        Ok(answer(&heap, show(&heap, node, evidence.at_most(self.number), &limits)))
    }
}

/// What a text stands for: a block or root, or classes by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FindQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// The text
    pub what: String,
}

/// What a text stands for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FindAnswer {
    /// A block or root.
    Node {
        /// Its number.
        node: Node,
    },
    /// Classes.
    Classes {
        /// The names of the first.
        classes: Vec<String>,
        /// How many there are.
        class_count: usize,
    },
}

/// Names of classes that are told of a text that is part of many.
const MOST_NAMES: usize = 50;

impl Question for FindQuestion {
    const NAME: &'static str = "heap/find";
    const COMMAND: Option<&'static str> = None;
    type Answer = FindAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FindAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let found = match heap.find(&self.what)? {
            Found::Node(node) => FindAnswer::Node { node },
            Found::Classes(classes) => {
                let named = classes.iter().filter_map(|&class| heap.classes().get(class as usize));
                FindAnswer::Classes {
                    classes: named.take(MOST_NAMES).map(|class| class.name.clone()).collect(),
                    class_count: classes.len(),
                }
            }
        };
        Ok(Answer::new(found, []))
    }
}
