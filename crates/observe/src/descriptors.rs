//! Tracks which of the process's descriptors are ours, so that the child of a fork can close them.
//!
//! The child has only the thread that forked, so a lock that another thread held stays locked there forever.
//! Therefore what the child needs is in plain atomics: one bit for each descriptor. A fork must not fall
//! between opening a descriptor and setting its bit, nor between clearing the bit and closing. Both happen
//! behind a gate that the fork closes first ([`hold`], [`release`]). Nothing blocks while it holds the gate.
//!
//! Programs that become daemons close all descriptors that they do not know; their own files then get our
//! numbers. So each of our descriptors is remembered with the file it was opened for, and nothing else is
//! ever closed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::fstat;

use crate::process;

/// The highest descriptor in use; clients that would get a higher one are disconnected.
pub(crate) const HIGHEST: RawFd = 65_535;

static OURS: [AtomicU64; (HIGHEST as usize + 1) / 64] = [const { AtomicU64::new(0) }; _];
static GATE: AtomicBool = AtomicBool::new(false);

/// A descriptor of ours, closed on drop.
#[derive(Debug)]
pub(crate) struct Owned {
    descriptor: Option<OwnedFd>,
    file: Option<File>,
}

/// The file a descriptor was opened for: device and inode. Sockets have their own inodes. Anonymous inodes,
/// such as that of an epoll instance, are shared, but at least differ from any file or socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File(u64, u64);

impl File {
    fn of(descriptor: &OwnedFd) -> Option<File> {
        fstat(descriptor).ok().map(|stat| File(stat.st_dev, stat.st_ino))
    }
}

impl Owned {
    /// Opens a descriptor.
    ///
    /// # Errors
    /// Those of `open`, or the descriptor is too high.
    pub fn open(open: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<Owned> {
        behind_gate(|| open().and_then(Owned::new))
    }

    /// Opens a pair of descriptors.
    ///
    /// # Errors
    /// As for [`Owned::open`].
    pub fn open_pair(
        open: impl FnOnce() -> io::Result<(OwnedFd, OwnedFd)>,
    ) -> io::Result<(Owned, Owned)> {
        behind_gate(|| {
            let (first, second) = open()?;
            Ok((Owned::new(first)?, Owned::new(second)?))
        })
    }

    fn new(descriptor: OwnedFd) -> io::Result<Owned> {
        let Some((word, bit)) = place(descriptor.as_raw_fd()) else {
            return Err(io::Error::from(rustix::io::Errno::MFILE));
        };
        OURS[word].fetch_or(bit, Ordering::Relaxed);
        let file = File::of(&descriptor);
        Ok(Owned { descriptor: Some(descriptor), file })
    }

    /// The descriptor; present until drop.
    pub fn get(&self) -> &OwnedFd {
        match &self.descriptor {
            Some(descriptor) => descriptor,
            None => unreachable!("taken only when dropped"),
        }
    }

    /// Whether the program has closed it.
    pub fn is_robbed(&self) -> bool {
        self.descriptor.as_ref().is_none_or(|descriptor| File::of(descriptor) != self.file)
    }

    /// Releases a descriptor that the program has closed, without closing it: whatever has its number now is
    /// not ours.
    pub fn forget(mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            clear(descriptor.as_raw_fd());
            std::mem::forget(descriptor);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(descriptor) = self.descriptor.take() else { return };
        if process::is_child() {
            // Closed already, directly by the fork handler; the number may belong to something else by now.
            std::mem::forget(descriptor);
            return;
        }
        behind_gate(|| {
            clear(descriptor.as_raw_fd());
            match File::of(&descriptor) == self.file {
                true => process::close(descriptor),
                false => std::mem::forget(descriptor),
            }
        });
    }
}

fn place(descriptor: RawFd) -> Option<(usize, u64)> {
    let number = usize::try_from(descriptor).ok().filter(|_| descriptor <= HIGHEST)?;
    Some((number / 64, 1 << (number % 64)))
}

fn clear(descriptor: RawFd) {
    if let Some((word, bit)) = place(descriptor) {
        OURS[word].fetch_and(!bit, Ordering::Relaxed);
    }
}

/// All our descriptors, read without a lock.
pub(crate) fn all() -> impl Iterator<Item = RawFd> {
    let words = OURS.iter().enumerate();
    words.flat_map(|(word, bits)| {
        let bits = bits.load(Ordering::Relaxed);
        let set = (0..64).filter(move |bit| bits & (1 << bit) != 0);
        set.map(move |bit| (word * 64 + bit) as RawFd)
    })
}

/// Closes the gate: no descriptor is opened or closed until [`release`].
pub(crate) fn hold() {
    // The holder needs only microseconds. But a signal handler that forks on the thread that holds the gate
    // would wait forever, so the wait is limited; the child may then inherit a descriptor of ours.
    let mut patience = 1_000_000;
    while GATE.swap(true, Ordering::Acquire) && patience > 0 {
        std::thread::yield_now();
        patience -= 1;
    }
}

/// Opens the gate.
pub(crate) fn release() {
    GATE.store(false, Ordering::Release);
}

fn behind_gate<T>(act: impl FnOnce() -> T) -> T {
    hold();
    let result = act();
    release();
    result
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn foreign_file_with_our_descriptor_number_is_not_closed() {
        let sockets = std::os::unix::net::UnixStream::pair;
        let mut owned = Owned::open(|| Ok(sockets()?.0.into())).expect("there is room");
        assert!(!owned.is_robbed());
        let (theirs, mut other_end) = sockets().expect("there is room");
        let number = owned.descriptor.as_mut().expect("it is there");
        rustix::io::dup2(&theirs, number).expect("both are open");
        assert!(owned.is_robbed());
        drop((owned, theirs));
        other_end.set_nonblocking(true).expect("it can be");
        let read = other_end.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(io::ErrorKind::WouldBlock), "the connection has not ended");
    }

    #[test]
    fn open_descriptors_are_tracked() {
        let open = || Ok(OwnedFd::from(std::fs::File::open("/dev/null")?));
        let owned = Owned::open(open).expect("it is there");
        let number = owned.get().as_raw_fd();
        assert!(all().any(|ours| ours == number));
        drop(owned);
        // A thread of another test may have got the same number, but not through this module.
        assert!(place(-1).is_none() && place(HIGHEST + 1).is_none());
        assert!(Owned::open(|| Err(io::ErrorKind::NotFound.into())).is_err());
        assert!(!GATE.load(Ordering::Relaxed) || all().next().is_none());
    }
}
