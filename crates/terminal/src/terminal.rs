//! The terminal, taken and given back whatever happens.
//!
//! Three ways lead out of the view: it returns, it panics, or a signal ends the process. The first two are one, because
//! what was taken is given back when [`Terminal`] is dropped; a panic gives it back before it says why, since on the
//! other screen nobody would see that. Signals only ask the view to return.

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
    /// What is drawn on.
    pub screen: ratatui::Terminal<CrosstermBackend<Stdout>>,
}

impl Terminal {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If there is none, or it does not do as it is told.
    pub fn take() -> io::Result<Terminal> {
        if !io::stdout().is_terminal() {
            let reason = "the view needs a terminal; --json and --metrics do without";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        restore_before_panics();
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::Relaxed);
        // From here on it has to be given back, also if the next steps fail.
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

/// Whether there is something to give back. Doing so twice would move the cursor over what was written since.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Everything as it was. That it fails changes nothing: there is nothing else to try.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, Show);
    let _ = out.flush();
}

/// A panic says why on the screen that the user will see.
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
