//! `bactrian tree`: who calls what allocates.

use std::io::Write;

use bactrian_analysis::{Branch, By, Direction, Pattern, Profile, TreeQuestion, Unit, call_tree};
use serde_json::json;

use super::arguments::{Metric, RecursionArg, share};
use crate::failure::{Failure, Status};
use crate::filters::{FilterArgs, pattern};
use crate::open::TraceArg;
use crate::output::{
    Console, FAINT, HEADING, LAST, print_json, show_error, show_estimate, show_share, show_value,
    tree_marks, visible,
};

/// Who calls what allocates, as a tree.
///
/// From the outermost calls in, or with --callers from the allocations out; around FUNCTION if one is
/// named. Branches below --min-share of everything are left out. A chain of calls with nothing beside it
/// is not indented.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian tree trace.ctf                          from main down
  bactrian tree trace.ctf Stdlib__List.map --callers   who calls List.map, by what it allocates
  bactrian tree trace.ctf --callers --metric live  from what is held up to who asked for it")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Only around this function: a name, or /REGEX/
    #[arg(value_name = "FUNCTION", value_parser = pattern)]
    focus: Option<Pattern>,
    /// Grow from callees to callers
    #[arg(long)]
    callers: bool,
    /// What to measure
    #[arg(long, short, value_name = "METRIC", default_value = "allocated")]
    metric: Metric,
    /// Tell apart calls from different lines
    #[arg(long)]
    sites: bool,
    /// Leave out branches below this share of everything, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_share: f64,
    /// Leave out what is deeper than this
    #[arg(long, value_name = "N", default_value_t = 100)]
    levels: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    recursion: RecursionArg,
    #[command(flatten)]
    filters: FilterArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let min_share = share(args.min_share)?;
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let by = if args.sites { By::Site } else { By::Function };
    let measure = args.metric.measure();
    let profile = Profile::with(&trace, &filter, by, args.recursion.choice(), &[measure]);
    let question = TreeQuestion {
        direction: if args.callers { Direction::Callers } else { Direction::Callees },
        focus: args.focus.clone(),
        min_share,
        max_levels: args.levels,
    };
    let tree = call_tree(&profile, &question);
    if args.json {
        let result = json!({
            "measure": measure,
            "direction": question.direction,
            "focus": question.focus,
            "filter": filter,
            "tree": tree,
        });
        print_json(console, "tree", &args.trace.file, &profile.losses, &result)?;
    } else {
        let all = show_estimate(measure.unit, &tree.all);
        let way = if args.callers { "callers" } else { "callees" };
        let of = args.focus.as_ref().map(|focus| {
            format!(" of {focus}, through which {} of it goes", show_share(tree.share))
        });
        writeln!(
            console.out(),
            "{HEADING}{}{HEADING:#}: {all} in all; {way}{}",
            measure.title(),
            of.unwrap_or_default()
        )?;
        if let (Some(focus), true) = (&args.focus, tree.branches.is_empty()) {
            writeln!(console.out(), "no stack has a function {focus} that is not hidden")?;
        }
        let mut printer = Printer { unit: measure.unit, console };
        printer.branches(&tree.branches, tree.left_out, "")?;
    }
    args.filters.warn_if_empty(&filter, &tree.all, console)?;
    args.trace.account(&profile.losses, console)?;
    Ok(Status::Done)
}

/// Columns that numbers take before the tree.
const NUMBERS: usize = 9 + 1 + 8 + 1 + 10 + 2;

struct Printer<'a> {
    unit: Unit,
    console: &'a mut Console,
}

impl Printer<'_> {
    fn branches(
        &mut self,
        branches: &[Branch],
        left_out: usize,
        indent: &str,
    ) -> Result<(), Failure> {
        let lines = branches.len() + usize::from(left_out > 0);
        for (at, branch) in branches.iter().enumerate() {
            let (mark, below) = tree_marks(at, lines);
            let name = branch.label.text();
            self.line(&format!("{indent}{mark}{}", visible(&name)), branch)?;
            self.branches(&branch.children, branch.left_out, &format!("{indent}{below}"))?;
        }
        if left_out > 0 {
            let space = " ".repeat(NUMBERS);
            writeln!(
                self.console.out(),
                "{space}{indent}{LAST}{FAINT}{left_out} left out{FAINT:#}"
            )?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str, branch: &Branch) -> Result<(), Failure> {
        let total = show_value(self.unit, branch.total.value);
        let (share, error) = (show_share(branch.share), show_error(&branch.total));
        let own = match branch.own.value > 0.0 && !branch.children.is_empty() {
            true => format!("  {FAINT}self {}{FAINT:#}", show_value(self.unit, branch.own.value)),
            false => String::new(),
        };
        let room =
            self.console.width().map_or(usize::MAX, |width| width.saturating_sub(NUMBERS + 16));
        let text: String = match text.chars().count() > room {
            true => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
            false => text.to_owned(),
        };
        let numbers = format!("{total:>9} {share:>8} {FAINT}{error:>10}{FAINT:#}  ");
        Ok(writeln!(self.console.out(), "{numbers}{text}{own}")?)
    }
}
