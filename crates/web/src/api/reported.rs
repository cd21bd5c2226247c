//! What a report has: the answers that the page asks for at first, and those of the next few clicks.

use bactrian_analysis::heap::{
    self, BlockFilter, ClassBy, ClassesQuestion, DominatorRow, DominatorsQuestion, EvolutionBy,
    EvolutionQuestion, FieldsQuestion, FinalisersQuestion, GraphQuestion, PathsQuestion, RootRow,
    RootsQuestion, ShowQuestion, SummaryQuestion, SuspectsQuestion,
};
use bactrian_analysis::question::{self, FileNumber, Rows, parameters};
use bactrian_analysis::{
    By, ContentsQuestion, DiffFlameQuestion, DiffQuestion, FilterOptions, FlameQuestion,
    HotPathsQuestion, InfoQuestion, LifetimesQuestion, Metric, SourceQuestion, StacksOptions,
    TimelineQuestion, TopBy, TopQuestion,
};

use super::{files, live};
use crate::evidence::{Contents, Evidence};
use crate::query::Query;

/// Something that the page asks for, so that a report should have its answer.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, as the page would write them.
    pub query: Query,
    /// What it shows, for people: said if there is no room for it.
    pub what: String,
    /// Those with a lower rank are taken first: 0 is what every page needs, 1 the first picture of a view, 2 what one click
    /// leads to, 3 the rest.
    pub rank: u8,
}

/// Rows of the page's tables: the same in `ui/src/parts/table.tsx`.
const ROWS: usize = 200;
/// Nodes of the page's first tables that can be looked at in a report.
const MOST_NODES: usize = 60;
/// Nodes whose paths and neighbours can be looked at, too: these answers are larger.
const MOST_PATHS: usize = 20;
/// Rows of tables of classes whose details can be looked at.
const MOST_CLASSES: usize = 20;
/// Places whose source a report has.
const SOURCES: usize = 30;

/// What a report of these files has the answers of, the most wanted first.
pub fn reported(evidence: &Evidence) -> Vec<Question> {
    let mut list = Listing::default();
    list.all.extend(files::reported());
    for (at, file) in evidence.files().iter().enumerate() {
        list.of = file.path.display().to_string();
        match &file.contents {
            Contents::Trace(_) => list.trace(evidence, FileNumber(at)),
            Contents::Snapshot(..) => list.snapshot(evidence, FileNumber(at)),
            Contents::Live(_) => {}
        }
    }
    list.comparisons(evidence);
    list.evolution(evidence);
    list.all.extend(live::reported(evidence));
    list.all.sort_by_key(|question| question.rank);
    list.all
}

fn first_rows() -> Rows {
    Rows { number: ROWS, ..Rows::default() }
}

#[derive(Default)]
struct Listing {
    all: Vec<Question>,
    /// The file that is being listed.
    of: String,
}

impl Listing {
    fn add<Q: question::Question>(&mut self, question: &Q, what: &str, rank: u8) {
        let query = Query::of(parameters::pairs_with_files(question));
        let what = format!("{what} of {}", self.of);
        self.all.push(Question { name: Q::NAME, query, what, rank });
    }

    fn trace(&mut self, evidence: &Evidence, file: FileNumber) {
        self.add(&InfoQuestion { file }, "the overview", 0);
        let filter = FilterOptions::default();
        self.add(&ContentsQuestion { file, filter: filter.clone() }, "the overview", 0);
        let timeline = TimelineQuestion { file, ..TimelineQuestion::default() };
        self.add(&timeline, "the overview", 0);
        let points = Some(600);
        self.add(&TimelineQuestion { points, ..timeline }, "the timeline", 1);
        let lifetimes = LifetimesQuestion { file, rows: first_rows(), ..Default::default() };
        self.add(&lifetimes, "lifetimes", 2);
        self.add(&overview_top(file), "the overview", 0);
        for metric in
            [Metric::Allocated, Metric::Live, Metric::Peak, Metric::Objects, Metric::Promoted]
        {
            let later = u8::from(metric != Metric::default());
            for (by, rank) in [(By::Function, 1), (By::Site, 3), (By::Module, 3)] {
                let stacks = StacksOptions { metric, by, ..StacksOptions::default() };
                let flame = FlameQuestion { file, stacks, ..FlameQuestion::default() };
                self.add(&flame, "flame graphs", rank + later);
            }
            for (by, rank) in [(By::Function, 1), (By::Site, 1), (By::Module, 2), (By::File, 2)] {
                let rows = first_rows();
                let by = TopBy::Place(by);
                let top = TopQuestion { file, by, metric, rows, ..TopQuestion::default() };
                self.add(&top, "tables of functions, sites, modules and files", rank + later);
            }
            let rows = first_rows();
            let paths = HotPathsQuestion { file, metric, rows, ..HotPathsQuestion::default() };
            self.add(&paths, "hot paths", 2 + later);
        }
        if let Ok(trace) = question::Evidence::trace(evidence, file) {
            let sites = trace.top(&Default::default(), By::Site, Metric::default().measure()).rows;
            let places = sites.iter().filter_map(|row| row.label.file.as_ref().zip(row.label.line));
            for (path, line) in places.take(SOURCES) {
                let (path, line) = (path.clone(), line as usize);
                let filter = filter.clone();
                let source = SourceQuestion { file, path, line, metric: Metric::default(), filter };
                self.add(&source, "source files", 3);
            }
        }
    }

    fn comparisons(&mut self, evidence: &Evidence) {
        let traces: Vec<FileNumber> = evidence
            .files()
            .iter()
            .enumerate()
            .filter(|(_, file)| matches!(file.contents, Contents::Trace(_)))
            .map(|(at, _)| FileNumber(at))
            .collect();
        self.of = "traces".to_owned();
        for &after in &traces {
            for &before in traces.iter().filter(|before| **before != after) {
                let rows = first_rows();
                let diff = DiffQuestion { before, after, rows, ..DiffQuestion::default() };
                self.add(&diff, "comparisons", 2);
                let flame = DiffFlameQuestion { before, after, ..DiffFlameQuestion::default() };
                self.add(&flame, "compared flame graphs", 3);
            }
        }
    }

    fn snapshot(&mut self, evidence: &Evidence, file: FileNumber) {
        self.add(&InfoQuestion { file }, "the overview", 0);
        self.add(&SummaryQuestion { file }, "the overview", 0);
        self.add(&SuspectsQuestion { files: vec![file] }, "the overview", 0);
        let roots = RootsQuestion { file, ..RootsQuestion::default() };
        self.add(&roots, "the roots", 0);
        self.add(&dominators(file), "the dominator tree", 1);
        for by in [ClassBy::Type, ClassBy::Module, ClassBy::Function, ClassBy::Site, ClassBy::Tag] {
            self.add(&classes(file, by), "blocks by class", 1 + u8::from(by == ClassBy::Tag));
        }
        let finalisers = FinalisersQuestion { file, ..FinalisersQuestion::default() };
        self.add(&finalisers, "finalisers", 1);
        self.add(&GraphQuestion { file, nodes: 25, ..GraphQuestion::default() }, "the graph", 1);
        let duplicates = heap::DuplicatesQuestion { file, number: 50 };
        self.add(&duplicates, "what is there more than once", 1);
        let rows = first_rows();
        let collections = heap::CollectionsQuestion { file, rows, ..Default::default() };
        self.add(&collections, "collections", 1);
        self.add(&RootsQuestion { depth: 3, number: 50, ..roots }, "all levels of the roots", 2);
        // Of several snapshots the last is looked into: it has what was there to stay.
        if question::Evidence::snapshots(evidence).last() == Some(&file) {
            self.next_clicks(evidence, file);
        }
    }

    fn next_clicks(&mut self, evidence: &Evidence, file: FileNumber) {
        let mut nodes = Vec::new();
        use question::Question as _;
        let roots = RootsQuestion { file, ..RootsQuestion::default() };
        if let Ok(roots) = roots.ask(evidence) {
            roots_below(&roots.result.all, &mut nodes);
        }
        if let Ok(tree) = dominators(file).ask(evidence) {
            nodes_below(&tree.result.rows, &mut nodes);
        }
        let finalisers = FinalisersQuestion { file, ..FinalisersQuestion::default() };
        if let Ok(found) = finalisers.ask(evidence) {
            let groups = found.result.finalisers.groups;
            nodes.extend(groups.iter().flat_map(|group| group.cycle.iter().map(|step| step.node)));
        }
        let mut known = std::collections::HashSet::new();
        nodes.retain(|node| known.insert(*node));
        for (place, node) in nodes.iter().take(MOST_NODES).enumerate() {
            let number = format!("#{node}");
            let rank = if place < MOST_PATHS { 2 } else { 3 };
            self.add(&show(file, &number), "single blocks and roots", rank);
            if place < MOST_PATHS {
                self.add(&paths(file, &number), "paths to blocks and roots", 3);
                let around = Some(number);
                let near = GraphQuestion { file, around, nodes: 30, ..GraphQuestion::default() };
                self.add(&near, "what is around blocks and roots", 3);
            }
        }
        self.clicks_on_classes(evidence, file);
    }

    /// Paths to the largest types, their fields; functions of modules, and so on.
    fn clicks_on_classes(&mut self, evidence: &Evidence, file: FileNumber) {
        let Ok(heap) = question::Evidence::heap(evidence, file) else { return };
        let labels = |by: ClassBy| {
            let rows = heap::classes(&heap, by).rows;
            rows.into_iter().take(MOST_CLASSES).map(|row| row.label).collect::<Vec<_>>()
        };
        for name in labels(ClassBy::Type).into_iter().map(|label| label.name) {
            self.add(&paths(file, &name), "paths to types", 3);
            let fields = FieldsQuestion {
                file,
                class: name.clone(),
                sort: heap::FieldsSort::default(),
                rows: Rows::default(),
            };
            self.add(&fields, "fields of types", 3);
            let sites = ClassesQuestion {
                blocks: BlockFilter { class: Some(name), ..BlockFilter::default() },
                ..classes(file, ClassBy::Site)
            };
            self.add(&sites, "where types are allocated", 3);
        }
        for module in labels(ClassBy::Module) {
            let blocks = BlockFilter { module: Some(module.text()), ..BlockFilter::default() };
            let functions = ClassesQuestion { blocks, ..classes(file, ClassBy::Function) };
            self.add(&functions, "functions of modules", 2);
        }
        for function in labels(ClassBy::Function) {
            let blocks = BlockFilter { function: Some(function.text()), ..BlockFilter::default() };
            let sites = ClassesQuestion { blocks, ..classes(file, ClassBy::Site) };
            self.add(&sites, "sites of functions", 3);
        }
        for site in labels(ClassBy::Site) {
            let blocks = BlockFilter { site: Some(site.text()), ..BlockFilter::default() };
            let types = ClassesQuestion { blocks, ..classes(file, ClassBy::Type) };
            self.add(&types, "types of sites", 3);
        }
    }

    /// Each way to tell blocks apart, and from the largest module and function the way down.
    fn evolution(&mut self, evidence: &Evidence) {
        if question::Evidence::snapshots(evidence).len() < 2 {
            return;
        }
        use heap::{EvolutionOrder, SizeUnit};
        use question::{Question as _, Text};
        self.of = "snapshots".to_owned();
        let all = EvolutionQuestion::default();
        for by in [EvolutionBy::Type, EvolutionBy::Module, EvolutionBy::Function, EvolutionBy::Site]
        {
            let plain = EvolutionQuestion { by, ..all.clone() };
            self.add(&plain, "the evolution", 1);
            let sort = Text(EvolutionOrder::Growth);
            self.add(&EvolutionQuestion { sort, ..plain.clone() }, "the evolution", 2);
            for unit in [SizeUnit::Blocks, SizeUnit::Words] {
                self.add(&EvolutionQuestion { unit, ..plain.clone() }, "the evolution", 2);
            }
        }
        let rows = |question: &EvolutionQuestion| -> Vec<String> {
            let question = EvolutionQuestion { number: CLICKABLE, ..question.clone() };
            let rows = question.ask(evidence).map(|answer| answer.result.rows).unwrap_or_default();
            rows.into_iter().map(|row| row.title).collect()
        };
        let modules = EvolutionQuestion { by: EvolutionBy::Module, ..all.clone() };
        for module in rows(&modules).into_iter().map(Some) {
            let by = EvolutionBy::Function;
            let of_module = BlockFilter { module, ..BlockFilter::default() };
            let functions = EvolutionQuestion { by, blocks: of_module.clone(), ..all.clone() };
            self.add(&functions, "the evolution", 2);
            for function in rows(&functions).into_iter().map(Some) {
                let by = EvolutionBy::Site;
                let of_function = BlockFilter { function, ..of_module.clone() };
                let sites = EvolutionQuestion { by, blocks: of_function.clone(), ..all.clone() };
                self.add(&sites, "the evolution", 3);
                for site in rows(&sites).into_iter().map(Some) {
                    let blocks = BlockFilter { site, ..of_function.clone() };
                    self.add(&EvolutionQuestion { blocks, ..all.clone() }, "the evolution", 3);
                }
            }
        }
    }
}

/// So many rows of each picture can be clicked in a report.
const CLICKABLE: usize = 5;

/// Who holds most, as the overview asks: library functions count to who calls them.
fn overview_top(file: FileNumber) -> TopQuestion {
    let library = "/^(Stdlib|Caml)|^caml_/".parse().map(question::Text);
    let filter = FilterOptions { hide: library.into_iter().collect(), ..Default::default() };
    let rows = Rows { number: 5, ..Rows::default() };
    TopQuestion { file, metric: Metric::Live, rows, filter, ..TopQuestion::default() }
}

/// What the pictures of dominators ask for; the same in `ui/src/heap/dominators.tsx`.
fn dominators(file: FileNumber) -> DominatorsQuestion {
    DominatorsQuestion { file, depth: 9, number: 25, min_share: 0.1, ..Default::default() }
}

fn classes(file: FileNumber, by: ClassBy) -> ClassesQuestion {
    ClassesQuestion { file, by, rows: first_rows(), ..ClassesQuestion::default() }
}

fn show(file: FileNumber, block: &str) -> ShowQuestion {
    ShowQuestion { file, ..ShowQuestion::of(block) }
}

fn paths(file: FileNumber, what: &str) -> PathsQuestion {
    PathsQuestion { file, ..PathsQuestion::to(what) }
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
