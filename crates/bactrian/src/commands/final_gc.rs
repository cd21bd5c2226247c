//! `record --final-gc`: what is unreachable at the end of the program counts as collected.
//!
//! The program's own collector is not run, because it would also run finalisers, which the program would not
//! have run. Instead, a snapshot at the exit shows what is reachable, and sampled blocks that are not in it
//! are marked as dead in the trace.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bactrian_snapshot::{Reason, Snapshot};
use bactrian_trace::{Index, Input, Micros, ObjectId, Recorder, State};

use crate::failure::Failure;
use crate::output::{Console, shortened, show_number};

/// The snapshot at a program's exit: what was reachable then.
struct ExitSnapshot {
    file: PathBuf,
    pid: u64,
    /// In microseconds since 1970.
    taken: u64,
    objects: HashSet<ObjectId>,
    /// The number of things that could not be read, any of which may hold more objects.
    gaps: usize,
}

impl ExitSnapshot {
    /// None if the file is not a snapshot at an exit.
    fn read(file: &Path) -> Option<ExitSnapshot> {
        let snapshot = Snapshot::open(file).ok()?;
        let (info, tables) = (snapshot.info(), snapshot.tables());
        let damaged = usize::from(!snapshot.losses().is_clean());
        (info.reason == Reason::Exit).then(|| ExitSnapshot {
            file: file.to_owned(),
            pid: info.pid.into(),
            taken: info.taken,
            objects: tables.samples.iter().map(|sample| ObjectId(sample.allocation)).collect(),
            gaps: tables.gaps.len() + damaged,
        })
    }
}

/// Marks unreachable objects in each trace as dead. Snapshots at exits are removed unless the user asked for
/// them.
pub fn apply(
    traces: &[PathBuf],
    snapshots: &[PathBuf],
    are_wanted: bool,
    quiet: bool,
    console: &mut Console,
) {
    let at_exit: Vec<_> = snapshots.iter().filter_map(|file| ExitSnapshot::read(file)).collect();
    let done = traces.iter().map(|trace| (shortened(trace).display(), apply_to(trace, &at_exit)));
    let (mut dead, mut failed) = (0, Vec::new());
    for (trace, applied) in done {
        match applied {
            Ok(more) => dead += more,
            Err(failure) => failed.push(format!("{trace}: {failure}")),
        }
    }
    if !quiet && failed.len() < traces.len() {
        let dead = show_number(dead as u64, "sampled block");
        // A failure to print does not affect the recording.
        let _ = console.note(&format!(
            "{dead} unreachable at the end but not collected yet: counted as collected"
        ));
    }
    if let Some(first) = failed.first() {
        let others = match failed.len() - 1 {
            0 => String::new(),
            others => {
                format!(", and {} had similar problems", show_number(others as u64, "trace"))
            }
        };
        console.complain(&format!(
            "--final-gc failed, so blocks that are live at the end may be unreachable: \
             {first}{others}"
        ));
    }
    for one in at_exit.iter().filter(|_| !are_wanted) {
        // It may be gone already.
        let _ = std::fs::remove_file(&one.file);
    }
}

/// Marks unreachable objects in a trace as dead, and returns their number.
fn apply_to(trace: &Path, snapshots: &[ExitSnapshot]) -> Result<usize, Failure> {
    let no = |why: &str| Failure::Input(anyhow::anyhow!("{why}"));
    let input = Input::open(trace)?;
    let index = Index::skim(&input).map_err(anyhow::Error::from)?;
    let info = index.info();
    let of_it = snapshots.iter().find(|snapshot| snapshot.pid == info.pid);
    let snapshot = of_it.ok_or_else(|| no("there is no snapshot of the program at exit"))?;
    let state = Recorder::parse(&info.context).map(|recorder| recorder.state);
    if state != Some(State::Ended) {
        return Err(no("the sampler did not run until the program ended"));
    }
    if snapshot.gaps > 0 || !index.losses().is_clean() {
        return Err(no("the snapshot at exit, or the trace, is incomplete"));
    }
    let before = Micros(snapshot.taken.saturating_sub(info.start));
    let mut dead = bactrian_trace::uncollected(&input, &index, before);
    dead.retain(|object| !snapshot.objects.contains(object));
    let packets = bactrian_trace::collected_at_end(&index, &dead);
    let mut file = OpenOptions::new().append(true).open(trace).context("cannot write the trace")?;
    if let Err(error) = file.write_all(&packets) {
        // For example because the disk is full. The recording is restored.
        let _ = file.set_len(input.len() as u64);
        return Err(Failure::Input(anyhow::Error::from(error).context("cannot write the trace")));
    }
    Ok(dead.len())
}
