//! Signals by name.

use std::str::FromStr;

/// A signal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(pub u8);

const SIGNALS: [(&str, u8); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("USR1", 10),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CONT", 18),
    ("URG", 23),
    ("WINCH", 28),
    ("IO", 29),
];

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> Result<Signal, String> {
        let upper = text.to_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let named = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
        let number = named.or_else(|| name.parse().ok().filter(|n| (1..=64).contains(n)));
        number.map(Signal).ok_or_else(|| "not a signal, such as USR2".to_owned())
    }
}
