//! Starting a program with the agent in it, and waiting until it ends.

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
    /// The executable.
    pub program: PathBuf,
    /// Its argv[0].
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// What the agent is to do.
    pub settings: Settings,
}

/// The environment variables that load the agent, at path `agent`, into a program, in addition to existing
/// preloads.
pub fn variables(agent: &Path, settings: &Settings) -> Vec<(OsString, OsString)> {
    // Last, because the library of a sanitizer insists on being the first.
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

/// The program's standard streams, if they should differ from ours.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard input.
    pub input: Option<Stdio>,
    /// Standard output.
    pub output: Option<Stdio>,
    /// Standard error.
    pub error: Option<Stdio>,
}

/// A program that was started. It receives the signals that we receive until this is dropped.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    /// The keeper of its traces; dropped, and so completed, when the program has ended.
    keeper: Option<Keeper>,
    signals: Handle,
    passing_on: Option<JoinHandle<()>>,
}

impl Launch {
    /// Runs the program to its end, with our own standard streams. Signals that we receive are forwarded.
    ///
    /// # Errors
    /// If the agent cannot be stored anywhere, or the program cannot be started.
    pub fn run(&self) -> io::Result<ExitStatus> {
        self.spawn(Streams::default(), &[])?.wait()
    }

    /// Starts the program, with additional environment variables. Signals that we receive are forwarded.
    ///
    /// # Errors
    /// If the agent cannot be stored anywhere, or the program cannot be started.
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
        // Started before the program: if there can be no further thread, nothing has run yet.
        let (tell, told) = channel();
        let passing_on = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let Ok(process) = told.recv() else { return };
            for Origin { signal, cause, .. } in signals.forever() {
                // A terminal sends its signals to its entire foreground process group, including the program.
                let by_terminal = cause == Cause::Kernel;
                if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !by_terminal) {
                    // It may have just ended.
                    let _ = rustix::process::kill_process(process, signal);
                }
            }
        })?;
        let child = command.spawn()?;
        // The thread waits for that.
        let _ = tell.send(Pid::from_child(&child));
        Ok(Launched { child, keeper, signals: handle, passing_on: Some(passing_on) })
    }

    /// Replaces this process by the program, where no other process may exist beside it: it writes its trace
    /// itself, and there are no snapshots. Returns only on failure, with the reason.
    pub fn become_program(&self) -> io::Error {
        let settings = Settings { snapshots: None, ..self.settings.clone() };
        match self.command(&settings) {
            Ok(mut command) => command.exec(),
            Err(error) => error,
        }
    }

    /// The command that starts the program with the agent in it.
    fn command(&self, settings: &Settings) -> io::Result<Command> {
        let agent = agent::install()?;
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.arguments);
        // Our own variables, if we are being observed ourselves, are not meant for the program.
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

    /// The settings with a keeper for the trace. If there is no room for one, the program writes its trace
    /// itself.
    fn kept(&self) -> (Settings, Option<Keeper>) {
        let trace: Option<PathBuf> =
            self.settings.trace.as_deref().map(|path| OsStr::from_bytes(path).into());
        // In all these cases the agent makes system calls while the program runs or ends, and asks the keeper before.
        let is_needed =
            trace.is_some() || self.settings.snapshots.is_some() || self.settings.page.is_some();
        let keeper = is_needed.then(|| Keeper::new(trace).ok()).flatten();
        let folder = keeper.as_ref().map(|keeper| keeper.folder().as_os_str().as_bytes().to_vec());
        (Settings { keeper: folder, ..self.settings.clone() }, keeper)
    }
}

impl Launched {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        while !self.has_ended(WaitIdOptions::empty()) {
            // It is stopped for a moment, and its tracer has not looked yet.
            thread::sleep(Duration::from_millis(1));
        }
        let status = self.child.wait();
        self.keeper = None;
        status
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    /// If the kernel refuses.
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

    /// Whether it has ended, or that cannot be determined.
    ///
    /// Another thread of ours may trace it. To wait in one thread can take away a stop that the tracing thread waits for,
    /// so we only peek (NOWAIT), for ends only.
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
        // The thread's result is of no interest.
        let _ = self.passing_on.take().map(JoinHandle::join);
    }
}

/// From now on an interrupt does not end this process; the returned function says whether one has arrived.
/// The handlers of [`Launch::run`] stay, so whoever waits for something afterwards has to ask that function.
pub fn interrupts() -> impl Fn() -> bool {
    let came = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Only an invalid signal number could be refused.
        let _ = signal_hook::flag::register(signal, Arc::clone(&came));
    }
    move || came.load(Ordering::Relaxed)
}

/// Ends this process as another one ended: with its exit status, or by the signal that killed it.
pub fn end_like(status: ExitStatus) -> u8 {
    if let Some(signal) = status.signal() {
        // The program has already dumped core; one core file is enough.
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // Returns only if the signal's default action is not to end a process, in which case it did not end
        // that one.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return 128 + signal as u8;
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
