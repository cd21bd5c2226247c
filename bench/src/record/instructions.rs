//! The number of instructions that a program executes. It is nearly the same in every run, however busy the
//! machine is, and so reveals differences of a few thousandths, which times do not.

use std::process::{Command, Output, Stdio};

use crate::measure::Run;

/// What counts instructions.
#[derive(Clone, Copy)]
pub enum Counter {
    /// The processor's performance counters; often unavailable in virtual machines.
    Perf,
    /// A simulated processor, some 15 times slower than the real one.
    Valgrind,
}

const PERF: &[&str] = &["stat", "--field-separator=,", "--event=instructions:u", "--"];
const VALGRIND: &[&str] = &[
    "--tool=cachegrind",
    // Only instructions are needed.
    "--cache-sim=no",
    "--cachegrind-out-file=/dev/null",
];

impl Counter {
    /// A counter that works here.
    pub fn find() -> Result<Counter, String> {
        let trial = Run::new("true".into(), Vec::new());
        let problem = match Counter::Perf.count(&trial) {
            Ok(_) => return Ok(Counter::Perf),
            Err(problem) => problem,
        };
        eprintln!("perf counts no instructions here ({problem}), so valgrind does");
        Counter::Valgrind.count(&trial).map_err(|reason| {
            format!("{reason}\n--instructions needs perf or valgrind: apt install valgrind")
        })?;
        Ok(Counter::Valgrind)
    }

    pub fn name(self) -> &'static str {
        match self {
            Counter::Perf => "perf",
            Counter::Valgrind => "valgrind",
        }
    }

    /// Runs a program to its end, discards its output, and returns the number of its instructions, without
    /// those in the kernel.
    pub fn count(self, run: &Run) -> Result<u64, String> {
        let options = match self {
            Counter::Perf => PERF,
            Counter::Valgrind => VALGRIND,
        };
        let mut command = Command::new(self.name());
        command.args(options).arg(&run.program).args(&run.arguments);
        // The counter gets these variables, too, but it is not an OCaml program.
        command.envs(run.environment.iter().map(|(name, value)| (name, value)));
        let output = command.env("LC_ALL", "C").stdout(Stdio::null()).output();
        let Output { status, stderr, .. } =
            output.map_err(|error| format!("{}: {error}", self.name()))?;
        let said = String::from_utf8_lossy(&stderr);
        if !status.success() {
            return Err(format!("{} failed: {}", self.name(), said.trim_end()));
        }
        let count = said.lines().rev().find_map(|line| self.parse(line));
        count.ok_or_else(|| format!("{} says {:?}", self.name(), said.trim_end()))
    }

    /// The count, if this line of the counter's output contains it.
    fn parse(self, line: &str) -> Option<u64> {
        match self {
            Counter::Perf => {
                let (count, rest) = line.split_once(',')?;
                rest.contains("instructions").then(|| count.parse().ok())?
            }
            Counter::Valgrind => {
                let (words, count) = line.split_once(':')?;
                let mut words = words.split_whitespace().skip(1);
                let is_it = words.next() == Some("I") && words.next() == Some("refs");
                is_it.then(|| count.trim().replace(',', "").parse().ok())?
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_counts_are_parsed() {
        let perf = |line| Counter::Perf.parse(line);
        assert_eq!(perf("1234,,instructions:u,99,100.00,,"), Some(1234));
        assert_eq!(perf("<not supported>,,instructions:u,0,100.00,,"), None);
        let valgrind = |line| Counter::Valgrind.parse(line);
        assert_eq!(valgrind("==12== I   refs:      2,260,084"), Some(2_260_084));
        assert_eq!(valgrind("==12== I1  misses:    4"), None);
        assert_eq!(valgrind("==12== Command: a program"), None);
    }
}
