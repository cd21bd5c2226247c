//! The sockets on which the server listens.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use bactrian_live::place;
use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Pid, getuid, test_kill_process};

use super::{Places, Shared};
use crate::descriptors::Owned;
use crate::settings::Live;

/// The most connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// The longest path that fits into the address of a Unix socket, in bytes.
const LONGEST_PATH: usize = 107;
/// How many higher ports are tried if one is taken.
const NEXT_PORTS: u16 = 100;
/// The size of a generated token, in bytes.
const TOKEN_BYTES: usize = 16;

/// The protocol of a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Our own protocol. On the network, clients must know the token.
    Own { token: Option<Vec<u8>> },
    /// The protocol of Ocamlviz.
    Old,
}

#[derive(Debug)]
pub(crate) struct Listener {
    pub socket: Owned,
    pub speaks: Speaks,
    /// Files to remove at the end.
    files: Vec<PathBuf>,
}

impl Listener {
    /// Removes the listener's files.
    pub fn clean_up(&self) {
        for file in &self.files {
            // The file may be gone already.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Opens all listeners that the settings ask for. Failures go to the log.
pub(crate) fn all(shared: &Shared) -> (Vec<Listener>, Places) {
    let mut listeners = Vec::new();
    let mut places = Places::default();
    let own = match &shared.settings.live {
        Live::Off => None,
        Live::Default => Some(default_socket().and_then(|path| unix(&path))),
        Live::Path(path) => Some(unix(path)),
        Live::Network(address, token) => {
            let listening = network(address, token.as_deref());
            let listening = listening.map(|(listener, address)| {
                places.network = Some(address);
                listener
            });
            Some(listening)
        }
    };
    match own {
        Some(Ok(listener)) => {
            if !matches!(shared.settings.live, Live::Network(..)) {
                places.socket = listener.files.first().cloned();
            }
            listeners.push(listener);
        }
        Some(Err(error)) => shared.say(&format!("cannot listen for Bactrian's clients: {error}")),
        None => {}
    }
    if let Some((host, port)) = &shared.settings.ocamlviz {
        match free_port(host, *port) {
            Ok((socket, address)) => {
                if *port != 0 && address.port() != *port {
                    shared.say(&format!(
                        "port {port} is taken by another program: Ocamlviz's clients find this one on port {}",
                        address.port()
                    ));
                }
                places.ocamlviz = Some(address);
                listeners.push(Listener { socket, speaks: Speaks::Old, files: Vec::new() });
            }
            Err(error) => {
                shared.say(&format!(
                    "cannot listen for Ocamlviz's clients on {host}:{port}: {error}"
                ));
            }
        }
    }
    (listeners, places)
}

fn other(text: String) -> io::Error {
    io::Error::other(text)
}

/// The socket of this process in the user's directory, which is created if necessary and cleared of sockets
/// of dead processes.
fn default_socket() -> io::Result<PathBuf> {
    let folder = safe_folder()?;
    remove_dead(&folder);
    Ok(place::socket(&folder, std::process::id()))
}

/// The user's directory, which nobody else can enter.
fn safe_folder() -> io::Result<PathBuf> {
    let folder = place::folder(getuid().as_raw());
    let made = DirBuilder::new().mode(0o700).create(&folder);
    if let Err(error) = made
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(other(format!("cannot make {}: {error}", folder.display())));
    }
    // Symbolic links are not followed: in a world-writable directory one could lead anywhere.
    let found = folder.symlink_metadata()?;
    if !found.is_dir() || found.uid() != getuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(other(format!(
            "{} is not a folder that only its owner can enter",
            folder.display()
        )));
    }
    Ok(folder)
}

/// Removes the sockets and tokens of dead processes.
fn remove_dead(folder: &Path) {
    for pid in place::processes(folder) {
        let is_dead = |pid: &Pid| test_kill_process(*pid) == Err(Errno::SRCH);
        let dead = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(is_dead);
        let socket = place::socket(folder, pid);
        // A process id that does not exist here may belong to a process in another container.
        if dead.is_some() && !is_answering(&socket) {
            let _ = std::fs::remove_file(&socket);
            let _ = std::fs::remove_file(place::token(folder, pid));
        }
    }
}

/// Whether a process listens on the socket. Does not block: a full backlog also counts as listening.
fn is_answering(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = SocketAddrUnix::new(path).and_then(|address| {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &address)
    });
    !matches!(connected, Err(Errno::CONNREFUSED | Errno::NOENT))
}

fn unix(path: &Path) -> io::Result<Listener> {
    if path.as_os_str().as_bytes().len() > LONGEST_PATH {
        return Err(other(format!("{} is too long for a socket", path.display())));
    }
    // Left by a killed process with the same id, or by this process before an exec.
    if path.symlink_metadata().is_ok_and(|it| it.file_type().is_socket()) {
        if is_answering(path) {
            return Err(other(format!("{} is in use by another process", path.display())));
        }
        std::fs::remove_file(path)?;
    }
    let socket = Owned::open(|| {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(OwnedFd::from(listener))
    });
    let socket = socket.map_err(|error| other(format!("{}: {error}", path.display())))?;
    // A path from the settings may be in a directory that everybody can enter.
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    rustix::net::listen(socket.get(), BACKLOG)?;
    Ok(Listener { socket, speaks: Speaks::Own { token: None }, files: vec![path.to_owned()] })
}

fn tcp(address: impl ToSocketAddrs) -> io::Result<(Owned, SocketAddr)> {
    let mut bound = None;
    // Names are resolved beforehand, because that may take long and a fork would have to wait.
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let socket = Owned::open(|| {
        let listener = TcpListener::bind(addresses.as_slice())?;
        listener.set_nonblocking(true)?;
        bound = Some(listener.local_addr()?);
        Ok(OwnedFd::from(listener))
    })?;
    rustix::net::listen(socket.get(), BACKLOG)?;
    let bound = bound.ok_or_else(|| other("it has no address".into()))?;
    Ok((socket, bound))
}

/// Binds the port, or the next free one if another program has it.
fn free_port(host: &str, port: u16) -> io::Result<(Owned, SocketAddr)> {
    let mut taken = tcp((host, port));
    for next in (1..=NEXT_PORTS).filter_map(|more| port.checked_add(more)) {
        match taken {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = tcp((host, next)),
            other => return other,
        }
    }
    taken
}

fn network(address: &str, token: Option<&str>) -> io::Result<(Listener, SocketAddr)> {
    let mut files = Vec::new();
    let token = match token {
        Some(token) => token.to_owned(),
        None => {
            let (token, file) = made_up_token()?;
            files.push(file);
            token
        }
    };
    let (socket, bound) = tcp(address).inspect_err(|_| {
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
    })?;
    let speaks = Speaks::Own { token: Some(token.into_bytes()) };
    Ok((Listener { socket, speaks, files }, bound))
}

/// An unguessable token, and the file that contains it, which only the user can read.
fn made_up_token() -> io::Result<(String, PathBuf)> {
    let mut bytes = [0; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = place::token(&safe_folder()?, std::process::id());
    // Left by an earlier process with the same id.
    let _ = std::fs::remove_file(&path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(token.as_bytes())?;
    Ok((token, path))
}
