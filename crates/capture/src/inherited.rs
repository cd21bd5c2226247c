//! What our starter meant a program to inherit: ignored signals and closed standard streams.
//!
//! Rust's start-up ignores SIGPIPE and opens standard streams that are closed, and we handle signals ourselves. So
//! this is looked at before all that, and the agent restores it in the program.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use bactrian_agent_abi::Inherited;

static SEEN: OnceLock<Inherited> = OnceLock::new();

#[used]
#[expect(unsafe_code, reason = "the only way to be called before Rust's start-up")]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_closed = |stream: &u8| {
        let descriptor = Path::new("/proc/self/fd").join(stream.to_string());
        descriptor.symlink_metadata().is_err()
    };
    let closed_streams = (0..3).filter(is_closed).fold(0, |bits, stream| bits | 1 << stream);
    // Said once; there is one thread.
    let _ = SEEN.set(Inherited { ignored_signals: ignored(&status), closed_streams });
}

/// The signals that a process ignores, of its status file.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// What is to be inherited.
pub fn inherited() -> Inherited {
    SEEN.get().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_eq!(ignored(status), 1 | 1 << 12);
        assert_eq!(ignored("nothing"), 0);
    }
}
