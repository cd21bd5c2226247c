//! `bactrian heap suspects`: what is probably wrong.

use std::io::Write;
use std::path::Path;

use bactrian_analysis::heap::{Severity, Suspect, SuspectsQuestion};
use bactrian_analysis::question::CommandLine;
use bactrian_analysis::units::show_bytes;

use crate::commands::arguments::{about, long_about};
use crate::failure::{Failure, Status};
use crate::file_args::HeapsArg;
use crate::output::{BAD, Console, FAINT, HEADING, WARNING, show_share, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<SuspectsQuestion>())]
#[command(long_about = format!("{}. Exit status 1 if a finding is certain", long_about::<SuspectsQuestion>()))]
#[command(after_help = "Examples:
  bactrian heap suspects server.1.heap
  bactrian heap suspects server.*.heap       also what grows from one to the next")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heaps.files().ask(&SuspectsQuestion::default(), console)?;
    let ended = asked.tell("heap suspects", args.json, console, |answer, console| {
        let last = args.heaps.name(answer.file);
        for (number, suspect) in (1..).zip(&answer.suspects) {
            print(number, suspect, &last, console)?;
        }
        if answer.suspects.is_empty() {
            writeln!(console.out(), "nothing stands out")?;
        }
        Ok(())
    })?;
    let is_certain =
        asked.answer.result.suspects.iter().any(|suspect| suspect.severity == Severity::Certain);
    Ok(if is_certain { Status::Finding } else { ended })
}

fn print(number: u32, suspect: &Suspect, file: &str, console: &mut Console) -> Result<(), Failure> {
    let (style, sure) = match suspect.severity {
        Severity::Certain => (BAD, "certain"),
        Severity::Likely => (WARNING, "likely"),
        Severity::Possible => (HEADING, "possible"),
    };
    let size = show_bytes(suspect.bytes as f64);
    // Memory outside the heap may exceed the heap.
    let share = match suspect.share {
        share if share <= 1.0 => format!(" ({})", show_share(share)),
        _ => String::new(),
    };
    if number > 1 {
        writeln!(console.out())?;
    }
    writeln!(console.out(), "{HEADING}{number}.{HEADING:#} {style}{sure}{style:#}, {size}{share}")?;
    let room = console.width().unwrap_or(100).clamp(40, 120) - 3;
    for line in wrapped(&format!("{}.", visible(&suspect.sentence)), room) {
        writeln!(console.out(), "   {line}")?;
    }
    let (verb, what) = &suspect.next;
    let next = CommandLine::new(&format!("heap {verb}")).file(Path::new(file));
    let next = match (*verb, &**what) {
        (_, "") => next,
        ("dominators", what) => next.option("of", what),
        (_, what) => next.operand(what),
    };
    Ok(writeln!(console.out(), "   {FAINT}{}{FAINT:#}", visible(&next.to_string()))?)
}

/// Wraps a text at this width; a longer word makes a longer line.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn sentences_are_wrapped_at_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcdefghij", "k"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
