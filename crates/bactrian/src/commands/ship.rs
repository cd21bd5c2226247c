//! `bactrian ship`: sends profiles of recorded programs, minute by minute, to the store of a fleet.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use bactrian_capture::launch::interrupts;
use bactrian_fleet::{Folder, Origin, Redact, ShipError, Shipper, Store};

use crate::engine::{self, Engine};
use crate::failure::{Failure, Status};
use crate::output::{Console, show_number};

/// The interval between polls.
const LOOK: Duration = Duration::from_secs(2);
/// The longest delay before an unreachable store is tried again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Send profiles of recorded programs into a store, minute by minute.
///
/// Follows traces while `bactrian record` writes them; of folders, all traces that are in them and that come. The store is a
/// folder, or whatever is mounted there: Parquet files by date and hour, which DuckDB, Spark, Trino, ClickHouse and others read
/// as tables (docs/fleet.md). A file is there as a whole or not at all, and says up to where a trace is told: this may be ended
/// and started again at any moment, and nothing is told twice. While the store is away, what is to be told waits in the traces.
///
/// What is sent has names of functions and files, as far as --redact allows, and no data: no strings, no arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian record -o /var/lib/bactrian/server.ctf -- ./server &
  bactrian ship /var/lib/bactrian --to /mnt/profiles --service shop --label zone=a
  bactrian ship server.ctf --to profiles --once          what is there, and no more
  bactrian ship --systemd /var/lib/bactrian --to /mnt/profiles > bactrian-ship.service
  duckdb -c \"select service, host, sum(live / rate) * 8 as bytes from 'profiles/samples/**/*.parquet' group by all\"

The service, its version, the host and the container are also taken from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.")]
pub struct Args {
    /// Traces, and folders of traces
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The store: a folder, or s3://BUCKET/FOLDER (also gs://, az://), which needs bactrian-query
    #[arg(long, value_name = "STORE")]
    to: String,
    /// Of which service they are [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Of which version of it
    #[arg(long, value_name = "VERSION")]
    service_version: Option<String>,
    /// On which machine [default: as the trace says]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Anything else to say of them; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// What not to tell: the folders of source files, or all names of functions and files, for each of which a number stands then
    #[arg(long, value_name = "WHAT", value_enum, default_value = "nothing")]
    redact: RedactArg,
    /// Send what is there and end, also of programs that still run
    #[arg(long)]
    once: bool,
    /// Print a unit for systemd that does this, and do nothing
    #[arg(long)]
    systemd: bool,
}

/// What is not told.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RedactArg {
    /// Everything is told.
    Nothing,
    /// Folders of source files are not.
    Folders,
    /// Names of functions and files are not.
    Names,
}

impl From<RedactArg> for Redact {
    fn from(argument: RedactArg) -> Redact {
        match argument {
            RedactArg::Nothing => Redact::Nothing,
            RedactArg::Folders => Redact::Folders,
            RedactArg::Names => Redact::Names,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains([',', '\n']) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("a label is NAME=VALUE, without commas".to_owned()),
    }
}

impl Args {
    /// The origin of the profiles, from options and otherwise from the environment.
    fn origin(&self) -> Origin {
        let attributes = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let attributes: BTreeMap<&str, &str> =
            attributes.split(',').filter_map(|pair| pair.trim().split_once('=')).collect();
        let said = |name: &str| attributes.get(name).map(|value| (*value).to_owned());
        let mut labels = self.label.clone();
        labels.extend(said("container.id").map(|id| ("container".to_owned(), id)));
        Origin {
            service: self
                .service
                .clone()
                .or_else(|| env::var("OTEL_SERVICE_NAME").ok())
                .or_else(|| said("service.name"))
                .unwrap_or_default(),
            version: self.service_version.clone().or_else(|| said("service.version")),
            host: self.host.clone().or_else(|| said("host.name")).unwrap_or_default(),
            labels,
            build_id: String::new(),
            redact: self.redact.into(),
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
    let store: Arc<dyn Store> = match engine {
        _ if !args.to.contains("://") => Arc::new(Folder::new(Path::new(&args.to))),
        Some(engine) => engine.store(&args.to)?,
        // The engine supports other stores than directories.
        None => return engine::become_engine(),
    };
    if let Some(path) = args.files.iter().find(|path| !path.exists()) {
        return Err(Failure::Input(anyhow::anyhow!("{}: there is no such file", path.display())));
    }
    let interrupted = interrupts();
    let mut traces = Traces::default();
    loop {
        let is_all = traces.ship(args, &store, console)?;
        let are_files = args.files.iter().all(|path| path.is_file());
        if args.once || (is_all && are_files) {
            let told = show_number(traces.profiles as u64, "profile");
            writeln!(console.out(), "{told} in {}", args.to)?;
            return match traces.failed.or(traces.unreadable) {
                Some(reason) => Err(Failure::Input(anyhow::anyhow!(reason))),
                None => Ok(Status::Done),
            };
        }
        let until = SystemTime::now() + traces.pause();
        while SystemTime::now() < until {
            if interrupted() {
                return Ok(Status::Done);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A known trace.
enum Known {
    UnderWay(Box<Shipper>),
    /// It is completely in the store, or cannot be read.
    Told(Identity),
}

/// Distinguishes a file from another of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Identity {
    inode: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        let about = std::fs::metadata(path);
        about.map_or(Identity::default(), |about| Identity {
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
        })
    }
}

/// The traces that are being shipped.
#[derive(Default)]
struct Traces {
    known: BTreeMap<PathBuf, Known>,
    profiles: usize,
    /// The last unreadable trace, and why.
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
            let is_new = match self.known.get(&path) {
                Some(Known::UnderWay(_)) => false,
                // Another run may have written a trace of the same name.
                Some(Known::Told(identity)) => *identity != Identity::of(&path),
                None => true,
            };
            if !is_new {
                continue;
            }
            match Shipper::open(&path, Arc::clone(store), args.origin()) {
                Ok(shipper) => {
                    self.known.insert(path, Known::UnderWay(Box::new(shipper)));
                }
                Err(error) => {
                    failed = Some(format!("{}: {error}", path.display()));
                    is_all = false;
                }
            }
        }
        for (path, known) in &mut self.known {
            let Known::UnderWay(shipper) = known else { continue };
            // Taken before reading: later writes change it.
            let identity = Identity::of(path);
            match shipper.poll(SystemTime::now()) {
                Ok(shipped) => {
                    self.profiles += shipped.profiles;
                    is_all &= shipped.is_all;
                    if shipped.is_all {
                        *known = Known::Told(identity);
                    }
                }
                // An unreadable trace does not hold up the others.
                Err(ShipError::Trace(what)) => {
                    let what = format!("{}: {what}", path.display());
                    // If only files were given, the command fails with this at the end; for directories it
                    // continues.
                    if args.files.iter().any(|path| path.is_dir()) {
                        console.warn(&what)?;
                    }
                    self.unreadable = Some(what);
                    *known = Known::Told(identity);
                }
                Err(ShipError::Store(error)) => {
                    failed = Some(format!("{}: {error}", args.to));
                    is_all = false;
                }
            }
        }
        self.failures = if failed.is_some() { self.failures.saturating_add(1) } else { 0 };
        if failed != self.failed && !args.once {
            let what = match &failed {
                Some(reason) => format!("{reason}; it is tried again"),
                None => "the store is there again".to_owned(),
            };
            console.warn(&what)?;
        }
        self.failed = failed;
        Ok(is_all)
    }

    /// The delay until the next poll: increasing while there are failures, and different on each machine.
    fn pause(&self) -> Duration {
        let wait = LOOK.saturating_mul(1 << self.failures.min(5)).min(PATIENCE);
        let odd = Duration::from_millis(u64::from(std::process::id() % 1000));
        wait + odd.min(wait / 2)
    }
}

/// The traces that files and directories stand for.
fn found(files: &[PathBuf]) -> Vec<PathBuf> {
    let is_trace = |path: &Path| path.extension().is_some_and(|end| end == "ctf");
    let mut all = Vec::new();
    for path in files {
        match std::fs::read_dir(path) {
            Ok(listed) => {
                let listed = listed.flatten().map(|file| file.path());
                all.extend(listed.filter(|path| is_trace(path) && path.is_file()));
            }
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
