//! Resource usage of a program. The standard library cannot get the usage of a single child without unsafe
//! code. GNU time reports memory, but time only in hundredths of a second; the `time` of bash reports
//! thousandths.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program to run.
#[derive(Clone, Debug)]
pub struct Run {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Environment variables to set for it.
    pub environment: Vec<(OsString, OsString)>,
}

impl Run {
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Run {
        Run { program, arguments, environment: Vec::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Processor time of the program, its children, and the kernel on their behalf. Wall time would depend more
    /// on other processes.
    pub cpu_seconds: f64,
    /// Peak resident memory of any single process, mapped files included.
    pub max_rss_bytes: u64,
}

/// Prints memory in kilobytes on one line, user and system time in seconds on the next.
const SCRIPT: &str = "TIMEFORMAT='%3U %3S'; time command time --format %M \"$@\"";

/// Runs a program to its end and discards its output.
pub fn measure(run: &Run) -> Result<Usage, String> {
    let mut command = Command::new("bash");
    command.args(["-c", SCRIPT, "bash"]).arg(&run.program).args(&run.arguments);
    command.envs(run.environment.iter().map(|(name, value)| (name, value)));
    let output = command.env("LC_ALL", "C").stdout(Stdio::null()).output();
    let output = output.map_err(|error| format!("bash: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} failed: {}", run.program.display(), said.trim_end()));
    }
    parse(&said).ok_or_else(|| format!("no time and memory in {said:?}; is GNU time installed?"))
}

fn parse(said: &str) -> Option<Usage> {
    let mut lines = said.lines().rev();
    let (user, system) = lines.next()?.split_once(' ')?;
    let (user, system): (f64, f64) = (user.parse().ok()?, system.parse().ok()?);
    let kilobytes: u64 = lines.next()?.parse().ok()?;
    Some(Usage { cpu_seconds: user + system, max_rss_bytes: kilobytes * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_parsed_from_the_last_lines() {
        let usage = Usage { cpu_seconds: 0.75, max_rss_bytes: 20_480 };
        assert_eq!(parse("warning: a name\n20\n0.500 0.250\n"), Some(usage));
        assert_eq!(parse("0.500 0.250\n"), None);
        assert_eq!(parse(""), None);
    }
}
