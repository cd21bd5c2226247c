//! `bactrian tree`: the call tree of allocations.

use std::io::Write;

use bactrian_analysis::{Branch, By, Direction, TreeAnswer, TreeQuestion, Unit};

use super::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::output::{
    Console, FAINT, HEADING, LAST, show_error, show_estimate, show_share, show_value, tree_marks,
    visible,
};

#[derive(clap::Args, Debug)]
#[command(about = about::<TreeQuestion>(), long_about = long_about::<TreeQuestion>())]
#[command(after_help = "Examples:
  bactrian tree trace.ctf                          from main down
  bactrian tree trace.ctf List.map --callers --raw   callers of List.map, by what it allocates
  bactrian tree trace.ctf --callers --metric live  from live memory up to its callers")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    #[command(flatten)]
    question: DerivedArgs<TreeQuestion>,
    /// Tell apart calls from different lines: the same as --by site
    #[arg(long, conflicts_with = "by")]
    sites: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let mut question = args.question.0.clone();
    if args.sites {
        question.stacks.by = By::Site;
    }
    let asked = args.trace.files().ask(&question, console)?;
    asked.tell("tree", args.json, console, print)
}

fn print(answer: &TreeAnswer, console: &mut Console) -> Result<(), Failure> {
    let (tree, unit) = (&answer.tree, answer.measure.unit);
    let way = match answer.direction {
        Direction::Callers => "callers",
        Direction::Callees => "callees",
    };
    let of = answer
        .focus
        .as_ref()
        .map(|focus| format!(" of {focus}, through which {} of it goes", show_share(tree.share)));
    writeln!(
        console.out(),
        "{HEADING}{}{HEADING:#}: {} in all; {way}{}",
        answer.measure.long_title(),
        show_estimate(unit, &tree.all),
        of.unwrap_or_default()
    )?;
    if let (Some(focus), true) = (&answer.focus, tree.branches.is_empty()) {
        writeln!(console.out(), "no call stack contains a visible function {focus}")?;
    }
    Printer { unit, console }.branches(&tree.branches, tree.left_out, "")
}

/// Width of the numbers before the tree.
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
