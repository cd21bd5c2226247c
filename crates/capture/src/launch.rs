//! Starting a program with the agent in it, and standing by until it ends.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bactrian_agent_abi::{Settings, variable};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::agent;
use crate::inherited::inherited;
use crate::keeper::Keeper;

/// A program to observe.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The file to run.
    pub program: PathBuf,
    /// What it is called: its first argument.
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// What the agent is to do.
    pub settings: Settings,
}

/// The environment variables that bring the agent, at `agent`, into a program, after what is there.
pub fn variables(agent: &Path, settings: &Settings) -> Vec<(OsString, OsString)> {
    // Behind others: a sanitizer's library insists on being the first.
    let mut preload = match env::var_os(variable::PRELOAD).filter(|list| !list.is_empty()) {
        Some(others) => [others, ":".into()].join(OsStr::new("")),
        None => OsString::new(),
    };
    preload.push(agent);
    let mut list: Vec<(OsString, OsString)> = vec![(variable::PRELOAD.into(), preload)];
    let paths = settings.paths().into_iter();
    list.extend(paths.map(|(name, path)| (name.into(), OsString::from_vec(path.into()))));
    list.extend(settings.variables().into_iter().map(|(n, v)| (n.into(), v.into())));
    list
}

/// The program's standard streams, where they are not to be our own.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard input.
    pub input: Option<Stdio>,
    /// Standard output.
    pub output: Option<Stdio>,
    /// Standard error.
    pub error: Option<Stdio>,
}

/// A program that was started, and gets the signals that we get until this is dropped.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    /// What the program is recorded into; gone when that is completed.
    keeper: Option<Keeper>,
    signals: Handle,
    passing_on: Option<JoinHandle<()>>,
}

impl Launch {
    /// Runs the program to its end, with our own standard streams. Signals that we get are passed on.
    ///
    /// # Errors
    /// If the agent cannot be put anywhere, or the program not be started.
    pub fn run(&self) -> io::Result<ExitStatus> {
        self.spawn(Streams::default(), &[])?.wait()
    }

    /// Starts the program, with these variables besides. Signals that we get are passed on.
    ///
    /// # Errors
    /// If the agent cannot be put anywhere, or the program not be started.
    pub fn spawn(&self, streams: Streams, besides: &[(&OsStr, &OsStr)]) -> io::Result<Launched> {
        let (settings, keeper) = self.kept();
        let mut command = self.command(&settings)?;
        command.envs(besides.iter().copied());
        streams.input.map(|stream| command.stdin(stream));
        streams.output.map(|stream| command.stdout(stream));
        streams.error.map(|stream| command.stderr(stream));
        let passed_on = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
        let mut signals = SignalsInfo::<WithOrigin>::new(passed_on)?;
        let handle = signals.handle();
        // Before the program, which would be without us if there could be no thread.
        let (tell, told) = channel();
        let passing_on = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let Ok(process) = told.recv() else { return };
            for Origin { signal, cause, .. } in signals.forever() {
                // A terminal sends its signals to all of its foreground group, the program included.
                let by_terminal = cause == Cause::Kernel;
                if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !by_terminal) {
                    // It may have ended in this moment.
                    let _ = rustix::process::kill_process(process, signal);
                }
            }
        })?;
        let child = command.spawn()?;
        // It waits for that.
        let _ = tell.send(Pid::from_child(&child));
        Ok(Launched { child, keeper, signals: handle, passing_on: Some(passing_on) })
    }

    /// Becomes the program, where there may be no process beside it: it writes its trace itself, and there are no snapshots.
    /// Returns only if that cannot be done, with the reason.
    pub fn become_program(&self) -> io::Error {
        let settings = Settings { snapshots: None, ..self.settings.clone() };
        match self.command(&settings) {
            Ok(mut command) => command.exec(),
            Err(error) => error,
        }
    }

    /// The program as it is started, with the agent in it.
    fn command(&self, settings: &Settings) -> io::Result<Command> {
        let agent = agent::install()?;
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.arguments);
        // Whoever observed us is not whom our settings are for.
        for (name, _) in
            env::vars_os().filter(|(name, _)| variable::is_ours(name.as_encoded_bytes()))
        {
            command.env_remove(name);
        }
        command.envs(variables(&agent, settings));
        let inherited = inherited();
        if !inherited.is_empty() {
            command.env(variable::INHERITED, inherited.value());
        }
        Ok(command)
    }

    /// The settings with a keeper for what is recorded. Without room for one the program writes its trace itself.
    fn kept(&self) -> (Settings, Option<Keeper>) {
        let trace: Option<PathBuf> =
            self.settings.trace.as_deref().map(|path| OsStr::from_bytes(path).into());
        let is_needed = trace.is_some() || self.settings.snapshots.is_some();
        let keeper = is_needed.then(|| Keeper::new(trace).ok()).flatten();
        let folder = keeper.as_ref().map(|keeper| keeper.folder().as_os_str().as_bytes().to_vec());
        (Settings { keeper: folder, ..self.settings.clone() }, keeper)
    }
}

impl Launched {
    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        while !self.has_ended(WaitIdOptions::empty()) {
            // It stands still for a moment, and its tracer has not yet looked.
            thread::sleep(Duration::from_millis(1));
        }
        let status = self.child.wait();
        self.keeper = None;
        status
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if !self.has_ended(WaitIdOptions::NOHANG) {
            return Ok(None);
        }
        let status = self.child.try_wait()?;
        if status.is_some() {
            self.keeper = None;
        }
        Ok(status)
    }

    /// Whether it has ended, or nothing can be learnt of that.
    ///
    /// Another thread of ours may trace it. To the kernel we are one: whoever of us waits without looking first is told that it
    /// stops, takes that for its end, and the tracer never hears of it.
    fn has_ended(&self, options: WaitIdOptions) -> bool {
        let look = options | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(Pid::from_child(&self.child)), look) {
            Ok(Some(told)) => told.exited() || told.killed() || told.dumped(),
            Ok(None) | Err(Errno::INTR) => false,
            Err(_) => true,
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.signals.close();
        // It holds nothing that could go wrong.
        let _ = self.passing_on.take().map(JoinHandle::join);
    }
}

/// From here on an interrupt does not end this process; the answer says whether one came. What [`Launch::run`] has
/// taken over stays taken over, so that whoever waits for something afterwards has to ask.
pub fn interrupts() -> impl Fn() -> bool {
    let came = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Only a number that is no signal could be refused.
        let _ = signal_hook::flag::register(signal, Arc::clone(&came));
    }
    move || came.load(Ordering::Relaxed)
}

/// Ends this process as another one ended: with its exit status, or by the signal that killed it.
pub fn end_like(status: ExitStatus) -> u8 {
    if let Some(signal) = status.signal() {
        // The program has left its core already; one is enough.
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // Returns only if the signal's default is not to end a process, and then it did not end that one.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return 128 + signal as u8;
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
