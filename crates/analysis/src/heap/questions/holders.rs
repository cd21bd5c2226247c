//! Questions about who holds what: summary, suspects, roots, dominators, paths, finalisers, and what if a
//! reference were missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    ClassPaths, DominatorTree, DominatorsShape, Finalisers, FirstRootRow, Found, Paths, PathsShape,
    Roots, RootsShape, Series, Summary, Suspect, WhatIf, class_paths, dominators, finalisers,
    first_roots, paths, roots, summary, suspects, what_if,
};
use super::{answer, as_named, in_order};
use crate::question::{Answer, Evidence, FileNumber, Limit, Question, QuestionError, Rows};

/// What the memory is used for: words by use, blocks by kind and generation, the heap compared with the memory of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SummaryQuestion {
    /// The heap snapshot
    pub file: FileNumber,
}

impl Question for SummaryQuestion {
    const NAME: &'static str = "heap/summary";
    const COMMAND: Option<&'static str> = Some("heap summary");
    type Answer = Summary;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Summary>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        Ok(answer(&heap, summary(&heap)))
    }
}

/// What is likely wrong, in sentences with evidence, worst first.
///
/// Findings are about the last snapshot; earlier ones of the same process show what grows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SuspectsQuestion {
    /// The heap snapshots
    pub files: Vec<FileNumber>,
}

/// What is likely wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspectsAnswer {
    /// The snapshot that was examined: the one taken last.
    #[serde(skip)]
    pub file: FileNumber,
    /// Findings, the worst first.
    pub suspects: Vec<Suspect>,
}

impl Question for SuspectsQuestion {
    const NAME: &'static str = "heap/suspects";
    const COMMAND: Option<&'static str> = Some("heap suspects");
    type Answer = SuspectsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<SuspectsAnswer>, QuestionError> {
        let files = in_order(evidence, &self.files)?;
        let Some((&last, earlier)) = files.split_last() else {
            return Err(QuestionError::Wrong("there is no heap snapshot".to_owned()));
        };
        let mut series = Series::default();
        let mut losses = Vec::new();
        for &file in earlier {
            // One heap at a time is in memory.
            let heap = evidence.heap(file)?;
            losses.push((file, heap.losses().clone().into()));
            series.add(heap, false);
        }
        let heap = evidence.heap(last)?;
        let growth = (!earlier.is_empty()).then(|| {
            series.add_uncompared(&heap);
            series.finish()
        });
        losses.push((last, heap.losses().clone().into()));
        let suspects = suspects(&heap, growth.as_ref());
        let notes = heap.unreached_note();
        Ok(Answer::new(SuspectsAnswer { file: last, suspects }, as_named(losses)).with_notes(notes))
    }
}

/// What holds the memory: kinds of roots, modules, threads and finalisers, their fields and frames.
///
/// `reachable` is everything reachable from a root, `retained` what would be freed without it, `fair share` its part if each
/// block is divided among the blocks that point to it, `shallow` the blocks that the root points to directly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct RootsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Levels: 1 for kinds of roots, 2 also for modules, threads and the like, 3 also for their fields and frames
    #[schemars(range(min = 1, max = 3), extend("x-value" = "LEVELS"))]
    pub depth: u8,
    /// How many rows below each row; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for RootsQuestion {
    fn default() -> RootsQuestion {
        RootsQuestion { file: FileNumber::default(), depth: 2, number: 10 }
    }
}

impl Question for RootsQuestion {
    const NAME: &'static str = "heap/roots";
    const COMMAND: Option<&'static str> = Some("heap roots");
    type Answer = Roots;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Roots>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let limit = evidence.at_most(self.number);
        Ok(answer(&heap, roots(&heap, &RootsShape { depth: self.depth, limit })))
    }
}

/// What roots point to: available at once, while the rest is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct FirstRootsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
}

impl Question for FirstRootsQuestion {
    const NAME: &'static str = "heap/first-roots";
    const COMMAND: Option<&'static str> = None;
    type Answer = FirstRootRow;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FirstRootRow>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        Ok(Answer::new(first_roots(&heap, RootsQuestion::default().number), []))
    }
}

/// The dominator tree: retained sizes, the largest first.
///
/// A block dominates everything that can only be reached through it. At each level, all blocks of a class are one row. It
/// includes blocks of the class that are held by others of the class, directly or not, so that a list or a tree is one row.
/// Blocks that several roots hold are listed beside the roots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DominatorsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Start at a block (0xADDRESS, @NUMBER), a module or value of one (Main.table), or a class
    #[schemars(extend("x-value" = "WHAT"))]
    pub of: Option<String>,
    /// From there go down to this row, by name or @NUMBER; may be repeated, from top to bottom
    #[schemars(extend("x-value" = "ROW", "x-conflicts" = "blocks"))]
    pub below: Vec<String>,
    /// Show each block as a row of its own
    pub blocks: bool,
    /// How many levels
    #[schemars(extend("x-value" = "N"))]
    pub depth: usize,
    /// How many rows at each level; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
    /// Leave out what retains less than this share of the heap, in percent
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
}

impl Default for DominatorsQuestion {
    fn default() -> DominatorsQuestion {
        DominatorsQuestion {
            file: FileNumber::default(),
            of: None,
            below: Vec::new(),
            blocks: false,
            depth: 7,
            number: 10,
            min_share: 1.0,
        }
    }
}

impl Question for DominatorsQuestion {
    const NAME: &'static str = "heap/dominators";
    const COMMAND: Option<&'static str> = Some("heap dominators");
    type Answer = DominatorTree;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<DominatorTree>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let of = self.of.as_ref().map(|text| heap.find(text)).transpose()?;
        let shape = DominatorsShape {
            of,
            below: self.below.clone(),
            by_block: self.blocks,
            depth: self.depth,
            limit: self.number,
            min_share: self.min_share / 100.0,
            most_rows: evidence.most_rows(),
        };
        Ok(answer(&heap, dominators(&heap, &shape)?))
    }
}

/// Why something is alive: the shortest paths from roots.
///
/// For a block, the shortest path from each root that reaches it; paths with the same classes and fields are merged. For a
/// class, one shortest path to each of its blocks, as a tree; steps that repeat on a path, as in lists, are one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PathsQuestion {
    /// The heap snapshot
    #[serde(default)]
    pub file: FileNumber,
    /// A block (0xADDRESS, @NUMBER, Main.table) or a class
    pub what: String,
    /// How many paths; for a class, rows at each level; 0 for all
    #[serde(default = "ten")]
    #[schemars(with = "Limit")]
    pub number: usize,
    /// For a class: how many levels
    #[serde(default = "twenty")]
    #[schemars(extend("x-value" = "N"))]
    pub depth: usize,
    /// For a class: leave out what leads to less than this share of it, in percent
    #[serde(default = "one_percent")]
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// For a class: also list the blocks of one row, which is given by one of them (0xADDRESS, @NUMBER)
    #[serde(default)]
    #[schemars(extend("x-value" = "BLOCK"))]
    pub members: Option<String>,
}

fn ten() -> usize {
    10
}

fn twenty() -> usize {
    20
}

fn one_percent() -> f64 {
    1.0
}

impl PathsQuestion {
    /// To this block or class of the first file.
    pub fn to(what: &str) -> PathsQuestion {
        PathsQuestion {
            file: FileNumber::default(),
            what: what.to_owned(),
            number: ten(),
            depth: twenty(),
            min_share: one_percent(),
            members: None,
        }
    }
}

/// Why something is alive.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathsAnswer {
    /// One block.
    Block {
        /// The requested paths.
        block: Paths,
        /// Number of paths.
        row_count: usize,
    },
    /// All blocks of some classes.
    Class {
        /// The tree of paths.
        class: ClassPaths,
    },
}

impl Question for PathsQuestion {
    const NAME: &'static str = "heap/paths";
    const COMMAND: Option<&'static str> = Some("heap paths");
    type Answer = PathsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<PathsAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let limit = evidence.at_most(self.number);
        let result = match heap.find(&self.what)? {
            Found::Node(_) if self.members.is_some() => {
                let what = &self.what;
                let why = format!("{what} is one block: only rows of a class have members");
                return Err(QuestionError::Wrong(why));
            }
            Found::Node(node) => {
                let mut block = paths(&heap, node);
                let row_count = block.rows.len();
                if limit > 0 {
                    block.rows.truncate(limit);
                }
                PathsAnswer::Block { block, row_count }
            }
            Found::Classes(classes) => {
                let members_of =
                    self.members.as_ref().map(|text| heap.find_node(text)).transpose()?;
                let shape = PathsShape {
                    depth: self.depth,
                    limit,
                    min_share: self.min_share / 100.0,
                    most_rows: evidence.most_rows(),
                    members_of,
                };
                PathsAnswer::Class { class: class_paths(&heap, &classes, &shape) }
            }
        };
        let mut answer = answer(&heap, result);
        if let (Some(members), PathsAnswer::Class { class }) = (&self.members, &answer.result)
            && class.members.is_none()
        {
            let note = format!("no row contains {members}: none of the paths goes through it");
            answer = answer.with_notes([note]);
        }
        Ok(answer)
    }
}

/// Finalisers that can never run because their functions hold their own values: certain leaks.
///
/// Each with the shortest path from the function to the value, block by block; finalisers with the same path are grouped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct FinalisersQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// How many different paths; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for FinalisersQuestion {
    fn default() -> FinalisersQuestion {
        FinalisersQuestion { file: FileNumber::default(), number: 10 }
    }
}

/// Finalisers that can never run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FinalisersAnswer {
    /// The finalisers, with the requested groups.
    #[serde(flatten)]
    pub finalisers: Finalisers,
    /// Number of groups.
    pub row_count: usize,
}

impl Question for FinalisersQuestion {
    const NAME: &'static str = "heap/finalisers";
    const COMMAND: Option<&'static str> = Some("heap finalisers");
    type Answer = FinalisersAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FinalisersAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let mut finalisers = finalisers(&heap);
        let row_count = finalisers.groups.len();
        match evidence.at_most(self.number) {
            0 => {}
            most => finalisers.groups.truncate(most),
        }
        Ok(answer(&heap, FinalisersAnswer { finalisers, row_count }))
    }
}

/// What would be freed without some references, all together and each alone.
///
/// A reference is a field of a type (Cache.entry.session), a module or a value of one (Log.lines), a class, an allocating line
/// (cache.ml:12; only blocks that were sampled), a block, or a kind of roots (finalisers, stacks). The heap is traversed without
/// these references, so that blocks held by several of them are counted, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct WhatIfQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// References to leave out: a field (Main.entry.session), a value (Main.table), a class, a line (main.ml:12), finalisers; may be
    /// repeated
    #[schemars(extend("x-value" = "WHAT"))]
    pub cut: Vec<String>,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// What would be freed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhatIfAnswer {
    /// The result, with the requested rows.
    #[serde(flatten)]
    pub what_if: WhatIf,
    /// Number of rows.
    pub row_count: usize,
}

impl Question for WhatIfQuestion {
    const NAME: &'static str = "heap/what-if";
    const COMMAND: Option<&'static str> = Some("heap what-if");
    type Answer = WhatIfAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<WhatIfAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let mut what_if = what_if(&heap, &self.cut)?;
        let row_count = evidence.cut(&self.rows, &mut what_if.rows, |row| row.name.clone());
        Ok(answer(&heap, WhatIfAnswer { what_if, row_count }))
    }
}
