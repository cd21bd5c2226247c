//! The example of Bactrian's predecessor: a program whose heap only grows, with a snapshot at every major
//! collection. Wall time is what counts, on all available cores.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Tools;
use super::ledger::Account;
use super::programs::{Formulas, observe};

/// One run of the program.
struct Ran {
    seconds: f64,
    /// None if it ran without Bactrian.
    account: Option<Account>,
}

/// A table of alternating plain and observed runs.
pub fn bench(
    formulas: &Formulas,
    megabytes: u32,
    rounds: usize,
    tools: &Tools,
) -> Result<String, String> {
    let (mut plain, mut observed) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        eprintln!("OCaml {}: round {round} of {rounds}", formulas.version);
        plain.push(run(formulas, megabytes, None, tools)?);
        observed.push(run(formulas, megabytes, Some("major"), tools)?);
    }
    Ok(table(&plain, &observed))
}

fn run(
    formulas: &Formulas,
    megabytes: u32,
    when: Option<&str>,
    tools: &Tools,
) -> Result<Ran, String> {
    let mut command = Command::new(&formulas.program);
    command.arg(megabytes.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
    let ledger = when.map(|when| observe(&mut command, when, tools)).transpose()?;
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("the program: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("the program failed ({status})"));
    }
    // Unfinished writes must not disturb the next run.
    let account = ledger.map(|ledger| ledger.wait(None)?.all_well()).transpose()?;
    Ok(Ran { seconds, account })
}

fn table(plain: &[Ran], observed: &[Ran]) -> String {
    let best = |runs: &[Ran]| runs.iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    let median = |runs: &[Ran]| {
        let mut seconds: Vec<_> = runs.iter().map(|run| run.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().unwrap_or(0.0)
    };
    let mut text = String::from(
        "| | wall, best | ratio | wall, median | ratio | snapshots written | skipped | longest pause |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    text.push_str(&format!(
        "| plain | {:.2} s | | {:.2} s | | | | |\n",
        best(plain),
        median(plain)
    ));
    let accounts: Vec<_> = observed.iter().filter_map(|run| run.account.as_ref()).collect();
    let range = |numbers: Vec<u64>| match (numbers.iter().min(), numbers.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => String::new(),
    };
    let written = accounts.iter().map(|account| account.written.len() as u64).collect();
    let skipped = accounts.iter().map(|account| account.skipped).collect();
    let pause = accounts.iter().flat_map(|account| &account.pauses).max();
    text.push_str(&format!(
        "| a snapshot at every major collection | {:.2} s | {:.3} | {:.2} s | {:.3} | {} | {} | {:.1} ms |\n",
        best(observed),
        best(observed) / best(plain),
        median(observed),
        median(observed) / median(plain),
        range(written),
        range(skipped),
        pause.copied().unwrap_or(Duration::ZERO).as_secs_f64() * 1e3,
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_plain_runs() {
        let plain = |seconds| Ran { seconds, account: None };
        let observed = |seconds, skipped| {
            let pauses = vec![Duration::from_millis(30)];
            Ran { seconds, account: Some(Account { skipped, pauses, ..Account::default() }) }
        };
        let table = table(&[plain(4.0), plain(5.0)], &[observed(5.0, 3), observed(6.0, 4)]);
        assert!(table.ends_with("| 5.00 s | 1.250 | 6.00 s | 1.200 | 0 | 3 to 4 | 30.0 ms |\n"));
    }
}
