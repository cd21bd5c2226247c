//! How the program's threads wake the server's thread.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::descriptors::Owned;

/// A socket pair rather than an eventfd, which would be cheaper: if the program closes descriptors that it
/// does not know and our number goes to one of its files, `send` on a file fails, whereas `write` would
/// corrupt it.
#[derive(Debug)]
pub(crate) struct Bell {
    rung_at: Owned,
    heard_at: Owned,
}

impl Bell {
    pub fn new() -> io::Result<Bell> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = || Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?);
        let (rung_at, heard_at) = Owned::open_pair(pair)?;
        Ok(Bell { rung_at, heard_at })
    }

    /// Wakes the server's thread.
    pub fn ring(&self) {
        if self.rung_at.is_robbed() {
            return;
        }
        // Fails only if many rings are still unread.
        let _ = send(self.rung_at.get(), &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// The descriptor that becomes readable when the bell rings.
    pub fn heard_at(&self) -> &OwnedFd {
        self.heard_at.get()
    }

    /// Clears the bell.
    pub fn quiet(&self) {
        if self.heard_at.is_robbed() {
            return;
        }
        let mut rings = [0; 256];
        // If anything is left, the descriptor stays readable.
        let _ = recv(self.heard_at.get(), &mut rings, RecvFlags::DONTWAIT);
    }
}
