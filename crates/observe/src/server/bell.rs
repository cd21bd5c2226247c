//! How the program's threads wake the server's.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::descriptors::Owned;

/// Two sockets. Not an event counter, which is less: should the program close descriptors that it does not know, and
/// give our number to a file of its own, then a file refuses what is sent as to a socket, but takes what is written.
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
        // Refused only if it has been rung very often already.
        let _ = send(self.rung_at.get(), &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// What says that it was rung.
    pub fn heard_at(&self) -> &OwnedFd {
        self.heard_at.get()
    }

    /// It was heard.
    pub fn quiet(&self) {
        if self.heard_at.is_robbed() {
            return;
        }
        let mut rings = [0; 256];
        // What is left says so again.
        let _ = recv(self.heard_at.get(), &mut rings, RecvFlags::DONTWAIT);
    }
}
