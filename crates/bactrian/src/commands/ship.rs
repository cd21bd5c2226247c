//! `bactrian ship`: sends profiles of recorded programs, minute by minute, to the store of a fleet.

use std::collections::BTreeMap;
use std::env;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use bactrian_capture::launch::interrupts;
use bactrian_fleet::{PushServer, Pusher, ShipError, Shipper, Store};

use crate::commands::heap_summaries::{HeapOptions, HeapSummaries, is_snapshot_name};
use crate::engine::{self, Engine};
use crate::failure::{Failure, Status};
use crate::origin_args::OriginArgs;
use crate::output::{Console, show_number};

/// The interval between polls.
const LOOK: Duration = Duration::from_secs(2);
/// The longest delay before an unreachable store is tried again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Send profiles of recorded programs into a store, minute by minute.
///
/// Follows traces while `bactrian record` writes them; in a folder, all traces, also those that are added later. With each
/// minute it sends what the program's runtime counted, read from its memory, if it runs on this machine. For snapshots beside
/// the trace (`run.1.heap` beside `run.ctf`, as `record --snapshots` writes them) it sends sums by class and root, a few kilobytes.
/// The store is a folder, or whatever is mounted there: Parquet files by date and hour, which DuckDB, Spark, Trino, ClickHouse and
/// others read as tables (docs/fleet.md). A file appears complete or not at all, and says up to which point of the trace it was
/// shipped: this command may be stopped and started again at any moment, and sends nothing twice. While the store is
/// unreachable, samples wait in the traces.
///
/// What is sent has names of functions and files, as far as --redact allows, and no data: no strings, no arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian record -o /var/lib/bactrian/server.ctf -- ./server &
  bactrian ship /var/lib/bactrian --to /mnt/profiles --service shop --label zone=a
  bactrian ship server.ctf --to profiles --once          send what is there, and exit
  bactrian ship --systemd /var/lib/bactrian --to /mnt/profiles > bactrian-ship.service
  duckdb -c \"select service, host, sum(live / rate) * 8 as bytes from '/mnt/profiles/samples/**/*.parquet' where time = (select max(time) from '/mnt/profiles/samples/**/*.parquet') group by all\"

The service, its version, the host and the container are also taken from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.")]
pub struct Args {
    /// Traces, snapshots, and folders of both
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The store: a folder, or s3://BUCKET/FOLDER (also gs://, az://), which needs bactrian-query
    #[arg(long, value_name = "STORE")]
    to: String,
    #[command(flatten)]
    origin: OriginArgs,
    /// Leave snapshots larger than this to `bactrian snapshot --summary`: summing one up takes about fifty times its size in memory
    #[arg(long, value_name = "MB", default_value_t = 3)]
    largest_snapshot: u64,
    /// Push to a server that understands Pyroscope's /ingest, too, which needs bactrian-query: http://HOST:4040
    ///
    /// What is allocated (alloc_space) and what is alive (inuse_space) are profiles of their own. A request is tried three times,
    /// and then given up: the store has everything, and shipping continues while a server is unreachable.
    #[arg(long, value_name = "URL", value_parser = address)]
    push: Vec<String>,
    /// Push OpenTelemetry profiles (/v1development/profiles) in the same way: http://HOST:4318
    #[arg(long, value_name = "URL", value_parser = address)]
    push_otlp: Vec<String>,
    /// Send what has been recorded so far, also of programs that still run, and end
    #[arg(long)]
    once: bool,
    /// Only print a unit for systemd that runs this command
    #[arg(long)]
    systemd: bool,
}

/// The address of a server, without the path of its requests.
fn address(text: &str) -> Result<String, String> {
    let is_one = ["http://", "https://"].iter().any(|start| {
        text.strip_prefix(start).is_some_and(|rest| !rest.is_empty() && !rest.contains(['?', '#']))
    });
    match is_one {
        true => Ok(text.to_owned()),
        false => Err("an address is http://HOST:PORT or https://HOST".to_owned()),
    }
}

impl Args {
    /// The servers that profiles are pushed to.
    fn servers(&self) -> Vec<PushServer> {
        let pyroscope = self.push.iter().cloned().map(PushServer::Pyroscope);
        pyroscope.chain(self.push_otlp.iter().cloned().map(PushServer::Otlp)).collect()
    }

    fn heap_options(&self) -> HeapOptions<'_> {
        HeapOptions {
            files: &self.files,
            origin: &self.origin,
            largest: self.largest_snapshot.saturating_mul(1_000_000),
        }
    }
}

pub fn run(
    args: &Args,
    engine: Option<&dyn Engine>,
    console: &mut Console,
) -> Result<Status, Failure> {
    if args.systemd {
        return print_unit(args, console);
    }
    let servers = args.servers();
    if engine.is_none() && (args.to.contains("://") || !servers.is_empty()) {
        // Only the engine can use object stores and servers.
        return engine::become_engine();
    }
    let store = engine::open_store(&args.to, engine)?;
    if let Some(path) = args.files.iter().find(|path| !path.exists()) {
        return Err(Failure::Input(anyhow::anyhow!("{}: there is no such file", path.display())));
    }
    let interrupted = interrupts();
    let mut pushing = Pushing::to(servers, engine)?;
    let mut traces = Traces { pusher: pushing.pusher.clone(), ..Traces::default() };
    let mut snapshots = HeapSummaries::default();
    loop {
        let mut is_all = traces.ship(args, &store, console)?;
        // While the store is unavailable, nothing else is tried.
        if traces.failed.is_none() {
            is_all &= snapshots.ship(args.heap_options(), &*store, console)?;
        }
        pushing.tell_trouble(console)?;
        let are_files = args.files.iter().all(|path| path.is_file());
        if args.once || (is_all && are_files) {
            let mut told = show_number(traces.profiles as u64, "profile");
            if snapshots.shipped > 0 {
                told += &format!(" and {} of heaps", show_number(snapshots.shipped, "snapshot"));
            }
            writeln!(console.out(), "{told} in {}", args.to)?;
            traces.under_way.clear();
            traces.pusher = None;
            pushing.finish(console)?;
            let failed = traces.failed.or(snapshots.failed);
            return match failed.or(traces.unreadable).or(snapshots.unreadable) {
                Some(reason) => Err(Failure::Input(anyhow::anyhow!(reason))),
                None => Ok(Status::Done),
            };
        }
        let failures = traces.failures.max(snapshots.failures);
        let until = SystemTime::now() + pause(failures);
        while SystemTime::now() < until {
            if interrupted() {
                return Ok(Status::Done);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The servers that profiles are pushed to.
#[derive(Default)]
struct Pushing {
    pusher: Option<Arc<Pusher>>,
    /// The trouble that was reported last.
    said: Option<String>,
}

impl Pushing {
    fn to(servers: Vec<PushServer>, engine: Option<&dyn Engine>) -> Result<Pushing, Failure> {
        let Some(engine) = engine.filter(|_| !servers.is_empty()) else {
            return Ok(Pushing::default());
        };
        let pusher = Pusher::new(servers, engine.http()?);
        Ok(Pushing { pusher: Some(Arc::new(pusher)), said: None })
    }

    /// Reports once that pushing fails, and once that it works again.
    fn tell_trouble(&mut self, console: &mut Console) -> Result<(), Failure> {
        let Some(pusher) = &self.pusher else { return Ok(()) };
        let trouble = pusher.trouble();
        match (&trouble, &self.said) {
            (Some(what), None) => {
                console.warn(&format!("a profile could not be pushed: {what}"))?
            }
            (None, Some(_)) => console.warn("pushing profiles works again")?,
            _ => {}
        }
        self.said = trouble;
        Ok(())
    }

    /// Waits for queued requests, and reports how many were dropped.
    fn finish(&mut self, console: &mut Console) -> Result<(), Failure> {
        if let Some(pusher) = self.pusher.as_mut().and_then(Arc::get_mut) {
            pusher.finish();
        }
        self.tell_trouble(console)?;
        if let Some((_, dropped @ 1..)) = self.pusher.as_ref().map(|pusher| pusher.counts()) {
            console.warn(&format!("{} not pushed", show_number(dropped, "request")))?;
        }
        Ok(())
    }
}

/// Distinguishes a file from another of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    inode: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    pub fn of(path: &Path) -> FileIdentity {
        let about = std::fs::metadata(path);
        about.map_or(FileIdentity::default(), |about| FileIdentity {
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
        })
    }
}

/// The traces that are being shipped.
#[derive(Default)]
struct Traces {
    under_way: Vec<Shipper>,
    /// Traces that are in the store as a whole, or cannot be read.
    told: BTreeMap<PathBuf, FileIdentity>,
    profiles: usize,
    pusher: Option<Arc<Pusher>>,
    /// The last trace that could not be read, and why.
    unreadable: Option<String>,
    /// The last error of the store, so that it is reported once.
    failed: Option<String>,
    failures: u32,
}

impl Traces {
    /// Ships what is new in all traces. Returns whether that was everything.
    fn ship(
        &mut self,
        args: &Args,
        store: &Arc<dyn Store>,
        console: &mut Console,
    ) -> Result<bool, Failure> {
        let (mut is_all, mut failed) = (true, None);
        for path in found(&args.files) {
            // Another run may write a trace of the same name, while the last part of the earlier one is still being shipped.
            let is_open = |shipper: &Shipper| shipper.path() == path && shipper.is_in_place();
            let is_told = self.told.get(&path) == Some(&FileIdentity::of(&path));
            if is_told || self.under_way.iter().any(is_open) {
                continue;
            }
            match Shipper::open(&path, Arc::clone(store), args.origin.origin()) {
                Ok(shipper) => self.under_way.push(match &self.pusher {
                    Some(pusher) => shipper.pushing(Arc::clone(pusher)),
                    None => shipper,
                }),
                // It existed when this command started, and was removed since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    failed = Some(format!("{}: {error}", path.display()));
                    is_all = false;
                }
            }
        }
        for mut shipper in std::mem::take(&mut self.under_way) {
            // Taken before the file is read: if more is written later, its identity differs.
            let identity = FileIdentity::of(shipper.path());
            let is_in_place = shipper.is_in_place();
            let is_done = match shipper.poll(SystemTime::now()) {
                Ok(shipped) => {
                    self.profiles += shipped.profiles;
                    is_all &= shipped.is_all;
                    shipped.is_all
                }
                // An unreadable trace does not hold up the others.
                Err(ShipError::Trace(what)) => {
                    let what = format!("{}: {what}", shipper.path().display());
                    // If only files were given, the command fails with this at the end; for directories it
                    // continues.
                    if args.files.iter().any(|path| path.is_dir()) {
                        console.warn(&what)?;
                    }
                    self.unreadable = Some(what);
                    true
                }
                Err(ShipError::Store(error)) => {
                    failed = Some(format!("{}: {error}", args.to));
                    is_all = false;
                    false
                }
            };
            match is_done {
                true if is_in_place => drop(self.told.insert(shipper.path().to_owned(), identity)),
                true => {}
                false => self.under_way.push(shipper),
            }
        }
        self.told.retain(|path, _| path.exists());
        self.failures = if failed.is_some() { self.failures.saturating_add(1) } else { 0 };
        if failed != self.failed && !args.once {
            let what = match &failed {
                Some(reason) => format!("{reason}; trying again"),
                None => "the store is available again".to_owned(),
            };
            console.warn(&what)?;
        }
        self.failed = failed;
        Ok(is_all)
    }
}

/// How long to wait: longer after each failure, and not equally long in all processes, so that they do not all poll at once.
fn pause(failures: u32) -> Duration {
    let wait = LOOK.saturating_mul(1 << failures.min(5)).min(PATIENCE);
    let odd = Duration::from_millis(u64::from(std::process::id() % 1000));
    wait + odd.min(wait / 2)
}

/// The named traces, and those in the named folders; snapshots are left out.
fn found(files: &[PathBuf]) -> Vec<PathBuf> {
    let is_trace = |path: &Path| path.extension().is_some_and(|end| end == "ctf");
    let mut all = Vec::new();
    for path in files {
        match std::fs::read_dir(path) {
            Ok(listed) => {
                let listed = listed.flatten().map(|file| file.path());
                all.extend(listed.filter(|path| is_trace(path) && path.is_file()));
            }
            Err(_) if is_snapshot_name(path) => {}
            Err(_) => all.push(path.clone()),
        }
    }
    all
}

fn print_unit(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let this = env::current_exe()?;
    let words = env::args_os().skip(1).filter(|word| word != "--systemd");
    let word = |word: std::ffi::OsString| {
        let text = word.to_string_lossy().replace('%', "%%");
        match text.contains([' ', '"', '\\', '$']) {
            true => format!(
                "\"{}\"",
                text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "$$")
            ),
            false => text,
        }
    };
    let words: Vec<String> = words.map(word).collect();
    writeln!(
        console.out(),
        "[Unit]\nDescription=Profiles of OCaml programs, into {}\nAfter=network.target\n\n[Service]\nExecStart={} {}\n\
         Restart=always\nRestartSec=10\nNice=10\nMemoryMax=200M\nNoNewPrivileges=yes\nProtectSystem=full\n\n\
         [Install]\nWantedBy=multi-user.target",
        args.to,
        this.display(),
        words.join(" ")
    )?;
    Ok(Status::Done)
}
