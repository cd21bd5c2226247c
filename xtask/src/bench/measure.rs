//! What a program takes from the machine, as GNU time tells it: the standard library cannot ask for the
//! resources of one child without unsafe code.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Processor time of the program and of the kernel for it; wall time says more of the neighbours.
    pub cpu_seconds: f64,
    /// The most memory that was resident at a time, mapped files included.
    pub max_rss_bytes: u64,
}

/// Runs a program to its end, with its output going nowhere.
pub fn run(program: &Path, arguments: &[OsString]) -> Result<Usage, String> {
    let mut command = Command::new("time");
    command.args(["--format", "%U %S %M"]).arg(program).args(arguments).stdout(Stdio::null());
    let output = command.output().map_err(|error| format!("GNU time: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} failed: {}", program.display(), said.trim_end()));
    }
    let last = said.lines().last().unwrap_or_default();
    parse(last).ok_or_else(|| format!("GNU time said {last:?}"))
}

fn parse(line: &str) -> Option<Usage> {
    let mut numbers = line.split(' ').map(str::parse::<f64>);
    let (user, system, kilobytes) =
        (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Usage { cpu_seconds: user + system, max_rss_bytes: kilobytes as u64 * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_gnu_time_is_understood() {
        let usage = Usage { cpu_seconds: 0.75, max_rss_bytes: 20_480 };
        assert_eq!(parse("0.50 0.25 20"), Some(usage));
        assert_eq!(parse("Command terminated"), None);
        assert_eq!(parse(""), None);
    }
}
