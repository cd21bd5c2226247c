//! Instructions that every program has somewhere in its code, with which it can be made to do system calls.

use crate::memory::{Memory, Region};

/// `syscall; ret`
const CALL: &[u8] = &[0x0f, 0x05, 0xc3];
/// The restorer, to which signal handlers return, and with which the kernel loads a signal frame. `mov $15,
/// %rax; syscall` in glibc and musl, or `mov $15, %eax; syscall`.
const RESTORERS: [&[u8]; 2] =
    [&[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05], &[0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05]];
/// Bytes of each region that are searched; code that has these instructions at all has them within that.
const LOOKED_THROUGH: u64 = 16 << 20;

/// Addresses of the instructions in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadgets {
    /// `syscall; ret`: a system call, after which the thread continues at the address on its stack.
    pub call: u64,
    /// `rt_sigreturn`: loads the signal frame on the stack.
    pub restorer: u64,
}

impl Gadgets {
    /// Searches the code of mapped files. The C library has both.
    pub fn find(memory: &dyn Memory) -> Option<Gadgets> {
        let (mut call, mut restorer) = (None, None);
        let is_file = |region: &&Region| {
            let file = region.file.as_ref();
            region.executable && region.readable && file.is_some_and(|file| file.is_absolute())
        };
        for region in memory.regions().iter().filter(is_file) {
            let length = (region.range.end - region.range.start).min(LOOKED_THROUGH);
            let Ok(length) = usize::try_from(length) else { continue };
            let mut code = vec![0; length];
            if !memory.read(region.range.start, &mut code) {
                continue;
            }
            let (found_call, found_restorer) = in_code(&code);
            let address = |at: usize| region.range.start + at as u64;
            call = call.or(found_call.map(address));
            restorer = restorer.or(found_restorer.map(address));
            if let (Some(call), Some(restorer)) = (call, restorer) {
                return Some(Gadgets { call, restorer });
            }
        }
        None
    }
}

/// The offsets of both in a piece of code. Each contains `syscall`, which is rare, so that is what is
/// searched for.
fn in_code(code: &[u8]) -> (Option<usize>, Option<usize>) {
    let (mut call, mut restorer) = (None, None);
    for at in memchr::memmem::find_iter(code, &CALL[..2]) {
        if call.is_none() && code[at..].starts_with(CALL) {
            call = Some(at);
        }
        let before = &code[..at + 2];
        let ending = RESTORERS.iter().find(|bytes| before.ends_with(bytes));
        restorer = restorer.or(ending.map(|bytes| before.len() - bytes.len()));
        if call.is_some() && restorer.is_some() {
            break;
        }
    }
    (call, restorer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_gadgets_are_found_at_any_offset() {
        let glibc = [RESTORERS[0], &[0x90; 7], CALL].concat();
        assert_eq!(in_code(&glibc), (Some(16), Some(0)));
        let short = [&[0x90], CALL, RESTORERS[1]].concat();
        assert_eq!(in_code(&short), (Some(1), Some(4)));
        assert_eq!(in_code(&[0x0f, 0x05]), (None, None));
        assert_eq!(in_code(&[0x0f]), (None, None));
        assert_eq!(in_code(&[]), (None, None));
    }
}
