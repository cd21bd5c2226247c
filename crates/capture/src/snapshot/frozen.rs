//! The walker: a frozen copy of a program starts it; it reads the copy and releases it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bactrian_agent_abi::frozen::{self, Facts, Frozen};
use bactrian_agent_abi::ledger::{Line, SnapshotId};
use bactrian_snapshot::{Info, Reason, Skipped, SnapshotMethod};
use rustix::process::{Pid, Signal, getppid, kill_process, setpriority_process};

use super::file::{self, Destination};
use super::{Failure, Written, describe, info_of};
use crate::heap::roots::Listing;
use crate::heap::target::{Files, Target};
use crate::heap::{Options, Subject};
use crate::memory::ProcessMemory;

/// Tells the copy that some of its memory has been read. See [`frozen::RELEASE`]: the copy must not be
/// killed.
const RELEASE: Signal = Signal::USR1;
const _: () = assert!(RELEASE.as_raw() == frozen::RELEASE);

/// The walker's niceness while the program runs: a third of the program's share where processors are scarce.
/// With a higher value we would hold memory for minutes on a busy machine, and whoever waits for our end
/// would wait as long.
const BEHIND: i32 = 5;

/// The interval between two progress lines in the ledger.
const BETWEEN_WORDS: Duration = Duration::from_millis(200);

/// Lowers our priority.
fn stand_back() {
    let _ = setpriority_process(None, BEHIND);
    // The copy, and so this process, is in a session of its own, and the kernel may divide the processor
    // among sessions first.
    let _ = std::fs::write("/proc/self/autogroup", BEHIND.to_string());
}

/// Takes the snapshot that the frozen copy asks for, and records the outcome in the ledger.
///
/// # Errors
/// If it cannot be taken.
pub fn walk_frozen() -> Result<Written, Failure> {
    let (memory, maps, mut told) = inherited()?;
    let mut bytes = Vec::new();
    told.read_to_end(&mut bytes).map_err(|why| {
        Failure::io(
            "reading the frozen copy's \
        description",
            why,
        )
    })?;
    let frozen = Frozen::read(&bytes).map_err(|bad| Failure::Refused(bad.to_string()))?;
    let id = SnapshotId { number: frozen.facts.key, copy: frozen.facts.copy };
    // When the program exits it no longer needs the processor, and its starter is waiting for us.
    if frozen.facts.reason != frozen::Reason::Exit {
        stand_back();
    }
    // Without a ledger nobody is told, but the snapshot is taken all the same.
    let ledger =
        frozen.facts.ledger.map(|path| OpenOptions::new().append(true).open(path_of(path)));
    let tell = |line: &Line| {
        if let Some(Ok(mut ledger)) = ledger.as_ref().map(Result::as_ref) {
            let _ = ledger.write_all(line.text().as_bytes());
        }
    };
    let last = Cell::new(Instant::now());
    let progress = |share: f64| {
        if last.get().elapsed() >= BETWEEN_WORDS {
            last.set(Instant::now());
            tell(&Line::Progress(id, (share * 100.0) as u8));
        }
    };
    let taken = take(&frozen, memory, maps, &told, &progress);
    let line = match &taken {
        Ok(Written { path, summary }) => Line::Done {
            id,
            path: path.as_os_str().as_bytes().to_vec(),
            blocks: summary.blocks(),
            words: summary.words(),
            gaps: summary.gaps.len() as u64,
        },
        Err(failure) => Line::Failed(id, failure.to_string()),
    };
    tell(&line);
    taken
}

fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

fn take(
    frozen: &Frozen<'_>,
    memory: File,
    maps: File,
    told: &File,
    progress: &dyn Fn(f64),
) -> Result<Written, Failure> {
    let facts = &frozen.facts;
    let unreadable = |why| Failure::io("reading the memory of the frozen copy", why);
    let memory = ProcessMemory::new(memory, maps).map_err(unreadable)?;
    let mut files = Files::of_process(facts.copy);
    if let Some(directory) = facts.directory {
        // The copy itself has changed its directory.
        files = files.from_folder(&path_of(directory));
    }
    let target = Target::find(&memory, &files);
    let target = target.map_err(|unknown| Failure::Refused(unknown.to_string()))?;
    let listing = Listing::from(frozen);
    let subject = Subject {
        memory: &memory,
        target: &target,
        listing: Some(&listing),
        process: Some(format!("/proc/{}", facts.copy).into()),
        trace: facts.trace.map(path_of),
        recording: None,
        gaps: Vec::new(),
        asked: None,
        progress,
        info: info(facts, &target),
    };
    let options =
        Options { strings: (facts.strings > 0).then_some(facts.strings), ..Options::default() };
    let give_back = |addresses: &[Range<u64>]| {
        let list = frozen::list_of(addresses);
        if told.set_len(0).and_then(|()| told.write_all_at(&list, 0)).is_err() {
            // Then the copy keeps the memory until we end.
            return;
        }
        // The copy may have been killed, and its id reused by now.
        let copy = Pid::from_raw(facts.copy.cast_signed());
        if let Some(copy) = copy.filter(|copy| getppid() == Some(*copy)) {
            let _ = kill_process(copy, RELEASE);
        }
    };
    let path = path_of(facts.heap);
    let destination = Destination { path: &path, replaces: true, most_bytes: facts.disk_limit };
    file::write(&subject, &options, destination, give_back)
}

fn info(facts: &Facts<'_>, target: &Target) -> Info {
    let frozen::Skipped { copies, memory, disk, process } = facts.skipped;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut info = Info {
        pid: facts.program,
        taken: facts.time,
        since_start: Some(facts.elapsed),
        reason: match facts.reason {
            frozen::Reason::Major => Reason::Major,
            frozen::Reason::Every => Reason::Every,
            frozen::Reason::Signal => Reason::Signal,
            frozen::Reason::Exit => Reason::Exit,
            frozen::Reason::Peak => Reason::Peak,
            frozen::Reason::Call => Reason::Call,
        },
        name: facts.name.map(text),
        sequence: u32::try_from(facts.number).unwrap_or(u32::MAX),
        way: SnapshotMethod::Agent,
        pause: (facts.pause > 0).then_some(facts.pause),
        // What the kernel refused counts as a lack of memory for another process.
        skipped: Skipped { copies, memory: memory + process, disk },
        trace: facts.trace.map(text),
        ..info_of(target)
    };
    describe(facts.copy, target, &mut info);
    info
}

/// The descriptors that the frozen copy has opened for us.
#[expect(unsafe_code, reason = "descriptors that come by inheritance are known by number only")]
fn inherited() -> Result<(File, File, File), Failure> {
    use std::os::fd::FromRawFd;
    for number in [frozen::MEMORY, frozen::MAPS, frozen::TOLD] {
        let link = std::fs::read_link(format!("/proc/self/fd/{number}"));
        link.map_err(|_| {
            Failure::Refused(
                "this is only started by frozen copies of \
            programs"
                    .to_owned(),
            )
        })?;
    }
    // SAFETY: these descriptors are open, and were passed to us by the process that started this command:
    // nothing in this process has opened anything yet that would have these numbers.
    let [memory, maps, told] = [frozen::MEMORY, frozen::MAPS, frozen::TOLD]
        .map(|number| unsafe { File::from_raw_fd(number) });
    Ok((memory, maps, told))
}
