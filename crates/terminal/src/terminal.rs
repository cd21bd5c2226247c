//! Takes over the terminal and restores it in every case.
//!
//! The view ends in one of three ways: it returns, it panics, or a signal ends the process. The first two are
//! handled together by dropping [`Terminal`]; a panic restores the terminal before it prints its message,
//! because nobody would see it on the alternate screen. Signals only ask the view to return.

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;

/// The screen of this process.
pub struct Terminal {
    /// The screen to draw on.
    pub screen: ratatui::Terminal<CrosstermBackend<Stdout>>,
}

impl Terminal {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// If there is none, or it cannot be set up.
    pub fn take() -> io::Result<Terminal> {
        if !io::stdout().is_terminal() {
            let reason = "the view needs a terminal; --json and --metrics do not";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        restore_before_panics();
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::Relaxed);
        // From here on it has to be restored, even if the next steps fail.
        let screen = execute!(io::stdout(), EnterAlternateScreen)
            .and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(io::stdout())));
        match screen {
            Ok(screen) => Ok(Terminal { screen }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether there is anything to restore. Restoring twice would move the cursor over later output.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Restores everything. Errors are ignored: there is nothing else to try.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, Show);
    let _ = out.flush();
}

/// Installs a panic hook that restores the terminal, so that the message is visible.
fn restore_before_panics() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if IS_SET.swap(true, Ordering::Relaxed) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        before(panic);
    }));
}
