//! The view in use: the real program in its own terminal, with keys pressed and the screen read.

mod recorded;

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bactrian_live::recording::Recorder;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with the view in it.
struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// The terminal's original settings.
    before: String,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("not zero")
}

impl Session {
    fn of(recording: &Path, variables: &[(&str, &str)]) -> Session {
        let pair = native_pty_system().openpty(size(24, 80)).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["live".as_ref(), recording.as_os_str()]);
        for name in ["NO_COLOR", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm");
        command.env("LANG", "C.UTF-8");
        variables.iter().for_each(|(name, value)| command.env(name, value));
        let before = format!("{:?}", pair.master.get_termios());
        let child = pair.slave.spawn_command(command).expect("it starts");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(24), cells(80), 0)));
        let mut output = pair.master.try_clone_reader().expect("its output");
        let seen = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                seen.lock().expect("not poisoned").process(&bytes[..length]);
            }
        });
        let keys = pair.master.take_writer().expect("its input");
        Session { child, master: pair.master, keys, screen, before }
    }

    fn sees(&self) -> String {
        self.screen.lock().expect("not poisoned").screen().contents()
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are pressed");
        self.keys.flush().expect("keys are pressed");
    }

    /// Waits until the screen satisfies a condition.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        while !is_so(&self.sees()) {
            assert!(begin.elapsed() < PATIENCE, "not seen: {what}\n{}", self.sees());
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(folder) = std::env::var_os("SCREENS") {
            let name: String =
                what.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
            let path = Path::new(&folder).join(format!("{name}.txt"));
            std::fs::write(path, self.sees()).expect("the screen is kept");
        }
    }

    fn until_seen(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Waits for the exit, and checks that the terminal is restored.
    fn ends(mut self) -> ExitStatus {
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None => assert!(begin.elapsed() < PATIENCE, "it does not end\n{}", self.sees()),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let is_restored = || {
            let parser = self.screen.lock().expect("not poisoned");
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        };
        // Its last output may still be in transit.
        while !is_restored() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(is_restored(), "the screen is given back\n{}", self.sees());
        assert_eq!(format!("{:?}", self.master.get_termios()), self.before);
        status
    }
}

fn recording(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("run.live");
    let mut recorder = Recorder::create(&path).expect("created");
    recorded::events().iter().for_each(|event| recorder.add(event).expect("written"));
    recorder.flush().expect("written");
    path
}

#[test]
fn recording_can_be_viewed_in_every_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = Session::of(&recording(folder.path()), &[]);
    session.until("overview", |screen| screen.contains("6 warnings") && screen.contains("02:00.0"));
    assert!(session.screen.lock().expect("not poisoned").screen().alternate_screen());
    for (key, text) in [
        ("5", "cache.miss"),
        ("6", "failed: Not_found"),
        ("7", "requests kept"),
        ("8", "by address"),
        ("9", "routes"),
        ("e", "→ #2 not found"),
        ("4", "request 148080 served"),
        ("3", "runtime.minor_collections"),
        ("2", "Cache.add cache.ml:44"),
        ("0", "transaction"),
        ("?", "next view, the one before"),
    ] {
        session.types(key);
        session.until_seen(text);
    }
    session.types("\x1b");
    session.until("no help", |screen| !screen.contains("next view"));
    // Back by a whole chart, and on from there.
    session.types("6{");
    session.until("a minute ago", |screen| screen.contains("paused -01:00.0"));
    session.types("\x1b[D");
    session.until("another tenth", |screen| {
        screen.contains("paused -01:06.0") && screen.contains("\"warming up\"")
    });
    session.types("P");
    session.until_seen("playing 1x");
    session.types("++++");
    session.until("it stops at the marker", |screen| screen.contains("marker: warm"));
    session.types("l5/cache\r");
    session.until("only two", |screen| {
        screen.contains("cache.hit") && !screen.contains("requests ") && screen.contains("/cache")
    });
    session.types(" jjjc");
    session.until_seen("cache.hit per second");
    session.types("\x1b");
    session.until("no chart", |screen| !screen.contains("cache.hit per second"));
    session.types("\x1b");
    session.until("all", |screen| screen.contains("requests "));
    session.types("x");
    session.until_seen("this is a recording");
    // A larger window.
    session.screen.lock().expect("not poisoned").screen_mut().set_size(cells(50), cells(120));
    session.master.resize(size(50, 120)).expect("resized");
    session.until("the last row is used", |screen| screen.lines().count() == 50);
    session.types("q");
    assert!(session.ends().success());
}

#[test]
fn signal_restores_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = Session::of(&recording(folder.path()), &[("LANG", "C"), ("NO_COLOR", "1")]);
    session.until_seen("6 warnings");
    assert!(session.sees().is_ascii(), "{}", session.sees());
    let pid = session.child.process_id().expect("it runs").to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
    assert!(killed.success());
    session.ends();
}

#[test]
fn control_c_quits() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = Session::of(&recording(folder.path()), &[]);
    session.until_seen("6 warnings");
    session.types("/abc\x03");
    assert!(session.ends().success());
}

#[test]
fn hangup_leaves_no_process_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let pair = native_pty_system().openpty(size(24, 80)).expect("a terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["live".as_ref(), recording(folder.path()).as_os_str()]);
    command.env("TERM", "xterm");
    let mut child = pair.slave.spawn_command(command).expect("it starts");
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().expect("its output");
    // Reads block while there is no output, so a silent program is killed.
    let mut killer = child.clone_killer();
    let (is_seen, told) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if told.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = killer.kill();
        }
    });
    let mut screen = vt100::Parser::new(cells(24), cells(80), 0);
    let mut bytes = [0; 4096];
    while !screen.screen().contents().contains("6 warnings") {
        let length = output.read(&mut bytes).expect("it draws");
        assert!(length > 0, "it has ended\n{}", screen.screen().contents());
        screen.process(&bytes[..length]);
    }
    is_seen.send(()).expect("it is waited for");
    drop((output, pair.master));
    let begin = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().expect("it is ended");
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
