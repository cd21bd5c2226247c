//! `bactrian view`: the page, on loopback.

use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use bactrian_capture::launch::interrupts;
use bactrian_web::Evidence;

use super::query;
use crate::demo::Demo;
use crate::failure::{Failure, Status};
use crate::output::{Console, FAINT};
use crate::python_engine::OtherEngine;
use crate::shown::{Running, Shown, ShownArgs};

/// Explore traces, snapshots, live programs, fleets and GC parameters in a browser.
///
/// Serves a page on this machine only, to anyone who knows its URL, until it is interrupted. Several snapshots of a program
/// are also shown over time; two traces are compared. Running programs are watched as `bactrian live` does: give a process
/// id, HOST:PORT or a socket, or a program to start: signals are passed on to it, and its exit status is returned.
/// Snapshots of a process can be taken from the page, as `bactrian snapshot` does, into new files in the current directory.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian view --demo                       what it looks like, with built-in example files
  bactrian view server.ctf                   a trace: flame graph, live size over time, lifetimes
  bactrian view server.*.heap                snapshots: what holds memory, and how that changes
  bactrian view before.ctf after.ctf         two traces, and what changed
  bactrian view server.ctf server.*.heap run.live   all of them at once
  bactrian view /mnt/profiles                the profiles of a fleet, as `bactrian fleet` shows them
  bactrian view prover.gc                    GC parameters: a result of `bactrian gc -o prover.gc`
  bactrian view -- ./server --port 8080      start a program and watch it
  bactrian view 1234                         a running process; a click takes a snapshot
  bactrian view --read-only 1234             the same, without snapshots
  bactrian view --open server.ctf            also starts the browser

On another machine, forward the port: ssh -L 8080:localhost:8080 HOST bactrian view --port 8080 server.ctf
To send the page to others, write it with `bactrian report`.")]
pub struct Args {
    #[command(flatten)]
    shown: ShownArgs,
    /// The port on the loopback interface; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Start the browser
    #[arg(long)]
    open: bool,
    /// For stores of profiles: have another engine answer, as in `bactrian fleet` [default: bactrian-query]
    #[arg(long, value_name = "ENGINE", value_parser = OtherEngine::parse)]
    engine: Option<OtherEngine>,
    /// Do not let the page take snapshots
    #[arg(long)]
    read_only: bool,
    /// Show built-in example files: a trace and three snapshots of a small server that leaks
    #[arg(long, conflicts_with_all = ["files", "command", "types", "no_types"])]
    demo: bool,
    /// A program to start and watch, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let interrupted = interrupts();
    // What can be detected before the program starts is reported before.
    if !args.command.is_empty() {
        TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
            .with_context(|| format!("cannot listen on port {}", args.port))?;
    }
    // Its files are removed when it is dropped.
    let demo = args.demo.then(Demo::new).transpose();
    let demo = demo.context("cannot write the example files")?;
    let carried = demo.as_ref().map(|demo| ShownArgs::of_passing(demo.files()));
    let running = Running {
        command: &args.command,
        may_take_snapshots: !args.read_only,
        fleet_engine: args.engine.as_ref(),
    };
    let Shown { evidence, started } =
        carried.as_ref().unwrap_or(&args.shown).open_all(&running, console)?;
    let served = serve(args, evidence, &interrupted, console);
    let ended = started.map_or(Ok(Status::Done), |started| started.stay(console));
    served.and(ended)
}

/// Shows files in a browser, like `view --open`.
pub fn open(files: Vec<PathBuf>, console: &mut Console) -> Result<(), Failure> {
    let shown = ShownArgs::of(files);
    let (read_only, demo, command, engine) = (false, false, Vec::new(), None);
    run(&Args { shown, port: 0, open: true, engine, read_only, demo, command }, console).map(drop)
}

fn serve(
    args: &Args,
    evidence: Evidence,
    interrupted: &dyn Fn() -> bool,
    console: &mut Console,
) -> Result<(), Failure> {
    let server = bactrian_web::serve(evidence, query::engine_for_page(), args.port)
        .map_err(anyhow::Error::from)?;
    writeln!(console.out(), "{}", server.url())?;
    console.flush()?;
    console
        .note(&format!("{FAINT}open this URL in a browser; Ctrl-C stops the server{FAINT:#}"))?;
    if args.open && !start_browser(server.url()) {
        console.warn("no browser could be started: open the URL yourself")?;
    }
    while !interrupted() {
        thread::sleep(Duration::from_millis(50));
    }
    server.end();
    Ok(())
}

/// Opens the URL with the desktop's default browser.
fn start_browser(url: &str) -> bool {
    ["xdg-open", "open"].iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}
