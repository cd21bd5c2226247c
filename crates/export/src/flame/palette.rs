//! Colours of frames: one for each module, as far as they go.
//!
//! Warm, as readers of flame graphs expect, and told apart by lightness as well as hue, for those who see
//! hues less well. All are light enough for the one dark text colour. The colour of search hits, in
//! `style.css`, is blue: the hue that no kind of colour blindness confuses with these.

const MODULES: [&str; 12] = [
    "#ffe9a8", "#ffd257", "#f2b632", "#ffd0a1", "#ffae66", "#ee8d3d", "#ffc7b5", "#fb9f86",
    "#e9765a", "#eed7b4", "#d9ab77", "#f3e08a",
];
const UNKNOWN: &str = "#cfcfcf";
const ALL: &str = "#e6e1da";

/// The colour of the outermost frame.
pub(super) fn of_all() -> &'static str {
    ALL
}

/// The colour of a frame: that of its module, or grey if its name was lost.
pub(super) fn of_name(name: &str) -> &'static str {
    if name.starts_with('[') {
        return UNKNOWN;
    }
    let module = name.split('.').next().unwrap_or(name);
    // The upper half: the lower bits are less well mixed.
    MODULES[((hash(module) >> 32) % MODULES.len() as u64) as usize]
}

/// FNV-1a: the same in every release and on every machine, so that pictures can be compared.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn text_is_readable_on_every_colour() {
        let text = "#1f1a17";
        let hit = "#79b8f3";
        let style = include_str!("style.css");
        assert!(style.contains(text) && style.contains(hit), "the style has these colours");
        for colour in MODULES.into_iter().chain([UNKNOWN, ALL, hit]) {
            let contrast = (luminance(colour) + 0.05) / (luminance(text) + 0.05);
            assert!(contrast >= 4.5, "{colour}: {contrast}");
        }
    }

    #[test]
    fn modules_have_their_colour_and_lost_names_are_grey() {
        assert_eq!(of_name("Stdlib__List.map"), of_name("Stdlib__List.iter.(fun)"));
        assert_ne!(of_name("Typecore.f"), of_name("Ctype.f"));
        assert_eq!(of_name("[0xabc]"), UNKNOWN);
        assert_eq!(of_name("[unknown]"), UNKNOWN);
    }
}
