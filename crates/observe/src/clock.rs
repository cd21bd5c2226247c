//! The clock for everything observed: nanoseconds since the program's start.
//!
//! A clock_gettime call takes about 25 ns, reading the processor's time stamp counter a third of that. The
//! counter is used where the kernel trusts it: where it is the kernel's own clock source, or where the kernel
//! is a guest whose host uses it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// How long the counter is first compared with the kernel's clock. Each [`Clock::compare`] refines the
/// result, so that this needs to be accurate for the first second only.
const FIRST_COMPARISON: Duration = Duration::from_micros(200);

/// Fraction bits of the fixed-point number of nanoseconds per tick.
const FRACTION_BITS: u32 = 32;

#[derive(Debug)]
struct Clock {
    /// When the clock was created.
    made: Instant,
    /// The counter's value at that time.
    made_ticks: u64,
    /// The program's age at that time, in nanoseconds.
    age: u64,
    /// Nanoseconds per tick, in fixed point; 0 if the counter cannot be trusted.
    rate: AtomicU64,
}

/// Nanoseconds since the program's start.
#[inline]
pub fn now() -> u64 {
    clock().now()
}

/// Processor time of the whole process, in nanoseconds.
pub fn cpu() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// When the program started, in microseconds since 1970.
pub fn started() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_1970.as_micros() as u64).saturating_sub(now() / 1000)
}

/// Calibrates the counter against the kernel's clock again. The longer the program runs, the better they
/// agree.
pub fn compare() {
    clock().compare();
}

#[inline]
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}

impl Clock {
    fn new() -> Clock {
        let clock = Clock {
            made: Instant::now(),
            made_ticks: ticks(),
            age: age_of_program().unwrap_or(0),
            rate: AtomicU64::new(0),
        };
        if counter_is_trusted() {
            while clock.made.elapsed() < FIRST_COMPARISON {
                std::hint::spin_loop();
            }
            clock.set_rate();
        }
        clock
    }

    #[inline]
    fn now(&self) -> u64 {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == 0 {
            return self.age + self.made.elapsed().as_nanos() as u64;
        }
        let ticks = u128::from(ticks().saturating_sub(self.made_ticks));
        self.age + ((ticks * u128::from(rate)) >> FRACTION_BITS) as u64
    }

    fn compare(&self) {
        if self.rate.load(Ordering::Relaxed) != 0 {
            self.set_rate();
        }
    }

    fn set_rate(&self) {
        let ticks = u128::from(ticks().saturating_sub(self.made_ticks));
        let nanos = self.made.elapsed().as_nanos();
        let rate = (nanos << FRACTION_BITS).checked_div(ticks).unwrap_or(0);
        self.rate.store(u64::try_from(rate).unwrap_or(0), Ordering::Relaxed);
    }
}

/// The age of this process in nanoseconds, from the kernel, to a hundredth of a second.
fn age_of_program() -> Option<u64> {
    const HERTZ: u64 = 100; // USER_HZ, the unit in this file on all architectures.
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The process name, in parentheses, may contain anything. The start time is the 20th field after it.
    let (_, after_name) = stat.rsplit_once(')')?;
    let start: u64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
    let since_boot = clock_gettime(ClockId::Boottime);
    let now = since_boot.tv_sec as u64 * 1_000_000_000 + since_boot.tv_nsec as u64;
    now.checked_sub(start.checked_mul(1_000_000_000 / HERTZ)?)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the compiler's name for the instruction is unsafe")]
fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the instruction. A kernel can forbid it to a program
    // (prctl PR_SET_TSC), but no Linux does so unless the program asks.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn counter_is_trusted() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Ok(source) = std::fs::read_to_string(source) else { return false };
    matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page")
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_trusted() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_agrees_with_the_kernel() {
        let (before, kernel) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        compare();
        let (ours, kernels) = (now() - before, kernel.elapsed().as_nanos() as u64);
        // On a loaded machine, other threads may run between the two readings of a pair.
        assert!(ours > 40_000_000 && ours < kernels + 20_000_000, "{ours} against {kernels}");
    }

    #[test]
    fn program_is_older_than_its_clock() {
        let age = age_of_program().expect("proc is there");
        assert!(age < 3_600_000_000_000, "{age}");
        assert!(now() >= clock().age);
    }
}
