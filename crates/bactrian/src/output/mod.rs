//! Output: text that fits the terminal, colours only there, and JSON.

mod chart;
mod facts;
mod file;
mod json;
mod table;
mod tree;

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use bactrian_analysis::units::{show_bytes, show_count};
use bactrian_analysis::{Estimate, Unit};

pub use bactrian_analysis::units::{show_number, show_share, visible};
pub use chart::chart;
pub use facts::{line, show_date};
pub use file::{shortened, write_file};
pub use json::{print_envelope, print_json, print_json_of_live};
pub use table::{Align, INTERVAL, SHARE, Table, shorten};
pub use tree::{LAST, tree_marks};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// Less important text.
pub const FAINT: Style = Style::new().dimmed();
/// Worse than before, or too much.
pub const BAD: Style = AnsiColor::Red.on_default();
/// Better than before.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default();

/// Standard output and standard error.
pub struct Console {
    out: Tap<BufWriter<AutoStream<io::Stdout>>>,
    color: Color,
    width: Option<usize>,
}

impl Console {
    /// The console of this process.
    pub fn new(color: Color) -> Console {
        let out = AutoStream::new(io::stdout(), choice(color));
        let out = Tap { out: BufWriter::with_capacity(1 << 16, out), is_closed: false };
        Console { out, color, width: terminal_width() }
    }

    /// Whether the user wants colours; None if not specified.
    pub fn colours(&self) -> Option<bool> {
        match self.color {
            Color::Auto => None,
            Color::Always => Some(true),
            Color::Never => Some(false),
        }
    }

    /// The terminal's width in characters; None if output does not go to a terminal.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The stream for the answer.
    pub fn out(&mut self) -> &mut Tap<impl Write> {
        &mut self.out
    }

    /// Writes out buffered data.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Prints a warning about the answer on standard error.
    pub fn warn(&mut self, what: &str) -> io::Result<()> {
        self.flush()?;
        let mut err = AutoStream::new(io::stderr(), choice(self.color));
        writeln!(err, "{WARNING}warning:{WARNING:#} {what}")
    }

    /// Prints a note on standard error.
    pub fn note(&mut self, what: &str) -> io::Result<()> {
        self.flush()?;
        let mut err = AutoStream::new(io::stderr(), choice(self.color));
        writeln!(err, "{FAINT}bactrian:{FAINT:#} {what}")
    }

    /// Returns a function that prints notes, from any thread.
    pub fn noting(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let choice = choice(self.color);
        move |what| {
            let mut err = AutoStream::new(io::stderr(), choice);
            // A failure to print does not affect the answer.
            let _ = writeln!(err, "{FAINT}bactrian:{FAINT:#} {what}");
        }
    }

    /// Prints an error on standard error.
    pub fn complain(&mut self, what: &str) {
        let mut err = AutoStream::new(io::stderr(), choice(self.color));
        // If this fails, it cannot be reported anywhere.
        let _ = writeln!(err, "{BAD}bactrian:{BAD:#} {what}");
    }
}

/// Output whose reader may go away. That is not an error: the command continues to its end, for its exit
/// status.
pub struct Tap<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Tap<W> {
    /// Whether the reader is gone.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn unless_closed<T>(&mut self, ended: io::Result<T>, dry: T) -> io::Result<T> {
        match ended {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(dry)
            }
            ended => ended,
        }
    }
}

impl<W: Write> Write for Tap<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.unless_closed(flushed, ())
    }
}

fn choice(color: Color) -> anstream::ColorChoice {
    match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::AlwaysAnsi,
        Color::Never => anstream::ColorChoice::Never,
    }
}

fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// A value with its unit.
pub fn show_value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => show_bytes(value),
        Unit::Objects => show_count(value),
    }
}

/// The confidence interval of an estimate, in percent of it: `±3.1 %`, `-80/+192 %` if it is asymmetric, or
/// `exact`.
pub fn show_error(estimate: &Estimate) -> String {
    if estimate.low == estimate.high {
        return "exact".to_owned();
    }
    if estimate.value <= 0.0 {
        return String::new();
    }
    let percent = |end: f64| (end / estimate.value - 1.0).abs() * 100.0;
    match estimate.relative_error() {
        error if error < 0.5 => format!("±{}", show_share(error)),
        _ => format!("-{:.0}/+{:.0} %", percent(estimate.low), percent(estimate.high)),
    }
}

/// An estimate for a sentence: `12.3 MB ±3.1 %`.
pub fn show_estimate(unit: Unit, estimate: &Estimate) -> String {
    let value = show_value(unit, estimate.value);
    match show_error(estimate).as_str() {
        "" => format!("{value} (at most {})", show_value(unit, estimate.high)),
        "exact" => value,
        error => format!("{value} {error}"),
    }
}
