//! Flame graphs: one self-contained SVG that shows from which stacks a measure comes.
//!
//! Each frame is a box, as wide as its share of the measure; what it calls hangs on it. The picture is
//! complete by itself; in a browser a small script inside it adds zoom, search and the keyboard.
//!
//! A profile may have millions of stacks, hundreds deep. Only what is wide enough to be seen is laid out
//! and written, so the size of the file is bounded. What is left out is counted in the picture.

mod layout;
pub(crate) mod names;
mod palette;
mod svg;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, Write};

use bactrian_analysis::Profile;

use layout::{Layout, Limits};
use svg::Picture;

/// Levels that are drawn below the outermost box: more is a picture nobody scrolls through.
const MAX_DEPTH: usize = 400;
/// Boxes that are drawn: about 10 MB of SVG, which browsers still show without delay.
const MAX_FRAMES: usize = 30_000;
/// Pixels: the header needs them.
const MIN_PICTURE_WIDTH: u32 = 400;

/// Where callees stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// Below their callers. Deep stacks start where the reader starts: at the top.
    #[default]
    Down,
    /// Above their callers, like flames.
    Up,
}

/// How a flame graph looks and what it says about where it comes from.
#[derive(Clone, Debug)]
pub struct FlameOptions {
    /// The headline, such as the program's name.
    pub title: String,
    /// A line below it, such as how and when the trace was taken. May be empty.
    pub subtitle: String,
    /// Width in pixels without a script; with one, the picture fills its window.
    pub width: u32,
    /// Frames narrower than so many pixels are left out.
    pub min_width: f64,
    /// Where callees stand.
    pub growth: Growth,
    /// What could not be read from the trace, in words; shown as warnings.
    pub losses: Vec<String>,
}

impl Default for FlameOptions {
    fn default() -> FlameOptions {
        FlameOptions {
            title: "Flame graph".to_owned(),
            subtitle: String::new(),
            width: 1200,
            min_width: 0.5,
            growth: Growth::default(),
            losses: Vec::new(),
        }
    }
}

/// Writes the flame graph of the profile's first measure.
///
/// # Errors
/// If `out` cannot be written.
///
/// # Panics
/// If the profile has no measure.
pub fn write(profile: &Profile, options: &FlameOptions, out: &mut dyn Write) -> io::Result<()> {
    let width = f64::from(options.width.max(MIN_PICTURE_WIDTH));
    let limits = Limits {
        min_share: options.min_width / svg::room_for_frames(width),
        max_depth: MAX_DEPTH,
        max_frames: MAX_FRAMES,
    };
    let layout = Layout::new(profile, &limits);
    let mut out = BufWriter::new(out);
    Picture { profile, options, layout: &layout, width }.write(&mut out)?;
    out.flush()
}
