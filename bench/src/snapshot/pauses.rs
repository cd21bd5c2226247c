//! How long a snapshot pauses the program and how long it takes, by the size of the heap.
//!
//! The pause is measured twice: by the agent, which measures its own work, and by the program, which reads the
//! clock in short intervals and reports the longest interval.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Tools;
use super::ledger::Written;
use super::programs::{Formulas, observe};
use xtask::command::succeed;

/// How long the program is observed without a snapshot.
const QUIET: Duration = Duration::from_millis(500);

/// One snapshot.
struct Taken {
    /// As measured by the agent.
    pause: Duration,
    /// The longest interval in the program while it was taken.
    gap: Duration,
    /// The longest interval without a snapshot.
    quiet_gap: Duration,
    /// From the signal to the complete file.
    seconds: f64,
    written: Written,
}

/// A table with a row for each size.
pub fn bench(
    formulas: &Formulas,
    sizes: &[u32],
    rounds: usize,
    tools: &Tools,
) -> Result<String, String> {
    let mut text = String::from(
        "| live heap | blocks | pause, best | median | longest | allowed | longest step of the program | \
         without | until written, best | median | file | of the heap |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for size in sizes {
        eprintln!("OCaml {}: {size} MB", formulas.version);
        text.push_str(&row(&take(formulas, *size, rounds, tools)?));
    }
    Ok(text)
}

/// A program that does light work and reports its longest interval.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| format!("the program: {error}"))?;
        Ok(line)
    }

    /// The longest interval since the last call.
    fn longest(&mut self) -> Result<Duration, String> {
        self.input.write_all(b"\n").map_err(|error| format!("the program: {error}"))?;
        let line = self.line()?;
        let micros = line.trim().strip_prefix("longest ").and_then(|micros| micros.parse().ok());
        micros.map(Duration::from_micros).ok_or_else(|| format!("the program says {line:?}"))
    }
}

fn take(
    formulas: &Formulas,
    size: u32,
    rounds: usize,
    tools: &Tools,
) -> Result<Vec<Taken>, String> {
    let mut command = Command::new(&formulas.program);
    command.arg(size.to_string()).arg("hold").stdin(Stdio::piped()).stdout(Stdio::piped());
    let ledger = observe(&mut command, "signal", tools)?;
    let mut child = command.spawn().map_err(|error| format!("the program: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take()).ok_or("the program has no pipes")?;
    let mut program = Program { child, input: pipes.0, output: BufReader::new(pipes.1) };
    let line = program.line()?;
    if !line.starts_with("built ") {
        return Err(format!("the program says {line:?}"));
    }
    let process = program.child.id().to_string();
    let mut all = Vec::new();
    for round in 1..=rounds {
        program.longest()?;
        thread::sleep(QUIET);
        let quiet_gap = program.longest()?;
        let start = Instant::now();
        succeed(Command::new("kill").args(["-USR2", &process]))?;
        let account = ledger.wait(Some(round))?.all_well()?;
        let seconds = start.elapsed().as_secs_f64();
        let gap = program.longest()?;
        let last = account.written.last().zip(account.pauses.last());
        let (written, pause) = last.ok_or("there is no snapshot, or no pause")?;
        all.push(Taken { pause: *pause, gap, quiet_gap, seconds, written: written.clone() });
    }
    let Program { mut child, input, .. } = program;
    drop(input);
    child.wait().map_err(|error| format!("the program: {error}"))?;
    Ok(all)
}

fn row(all: &[Taken]) -> String {
    let Some(Taken { written, .. }) = all.last() else { return String::new() };
    let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
    let pauses = sorted(all.iter().map(|taken| millis(taken.pause)));
    let seconds = sorted(all.iter().map(|taken| taken.seconds));
    let gap = all.iter().map(|taken| millis(taken.gap)).fold(0.0, f64::max);
    let quiet_gap = all.iter().map(|taken| millis(taken.quiet_gap)).fold(0.0, f64::max);
    let gigabytes = written.heap_bytes as f64 / 1e9;
    format!(
        "| {gigabytes:.2} GB | {:.1} M | {:.1} ms | {:.1} ms | {:.1} ms | {:.0} ms | {gap:.1} ms | \
         {quiet_gap:.1} ms | {:.2} s | {:.2} s | {:.1} MB | {:.1} % |\n",
        written.blocks as f64 / 1e6,
        pauses[0],
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1],
        10.0 + 40.0 * gigabytes,
        seconds[0],
        seconds[seconds.len() / 2],
        written.file_bytes as f64 / 1e6,
        100.0 * written.file_bytes as f64 / written.heap_bytes as f64,
    )
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_was_measured() {
        let taken = |pause, seconds| Taken {
            pause: Duration::from_micros(pause),
            gap: Duration::from_millis(20),
            quiet_gap: Duration::from_millis(1),
            seconds,
            written: Written {
                number: 1,
                blocks: 2_000_000,
                heap_bytes: 500_000_000,
                file_bytes: 25_000_000,
            },
        };
        assert_eq!(
            row(&[taken(12_000, 0.5), taken(11_000, 0.7), taken(15_500, 0.6)]),
            "| 0.50 GB | 2.0 M | 11.0 ms | 12.0 ms | 15.5 ms | 30 ms | 20.0 ms | 1.0 ms | 0.50 s | 0.60 s | \
             25.0 MB | 5.0 % |\n"
        );
        assert_eq!(row(&[]), "");
    }
}
