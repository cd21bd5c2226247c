//! Interprets a word on the command line.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use bactrian_live::client::Address;
use bactrian_live::place;

/// What to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process of this machine.
    Process(u32),
    /// A program that listens at an address.
    Address(Address),
    /// A recording.
    File(PathBuf),
}

impl Target {
    /// Determines the target.
    ///
    /// # Errors
    /// If the word is none of these, with the possibilities.
    pub fn of(word: &str) -> Result<Target, String> {
        // A recording may come through a pipe, like files of other commands.
        let path = Path::new(if word == "-" { "/dev/stdin" } else { word });
        if let Ok(metadata) = fs::metadata(path) {
            let is_socket = metadata.file_type().is_socket();
            let path = path.to_owned();
            return Ok(if is_socket {
                Target::Address(Address::Socket(path))
            } else {
                Target::File(path)
            });
        }
        if let Ok(pid) = word.parse() {
            return Ok(Target::Process(pid));
        }
        if let Some((host, port)) = word.rsplit_once(':')
            && port.parse::<u16>().is_ok()
        {
            let host = if host.is_empty() { "localhost" } else { host };
            return Ok(Target::Address(Address::Tcp(format!("{host}:{port}"))));
        }
        Err(format!(
            "{word} is neither a file nor a process id nor HOST:PORT; to start a program: \
             bactrian live -- {word}"
        ))
    }
}

/// The socket of a process, if it has one. It belongs to the process's user, not necessarily to us.
pub fn socket(pid: u32) -> Option<PathBuf> {
    let user = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let path = place::socket(&place::folder(user), pid);
    path.exists().then_some(path)
}

/// The processes of this user that are linked with Bactrian's library, with their names.
pub fn observed() -> Vec<(u32, String)> {
    let Ok(us) = fs::metadata("/proc/self") else { return Vec::new() };
    let name = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some((pid, name.trim_end().to_owned()))
    };
    place::processes(&place::folder(us.uid())).into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_interpreted_as_targets() {
        let tcp = |address: &str| Target::Address(Address::Tcp(address.into()));
        assert_eq!(Target::of("1234"), Ok(Target::Process(1234)));
        assert_eq!(Target::of("far.example:51000"), Ok(tcp("far.example:51000")));
        assert_eq!(Target::of(":51000"), Ok(tcp("localhost:51000")));
        assert_eq!(Target::of("[::1]:51000"), Ok(tcp("[::1]:51000")));
        assert_eq!(Target::of("-"), Ok(Target::File("/dev/stdin".into())));
        let said = Target::of("./nothing").expect_err("nothing");
        assert!(said.contains("bactrian live -- ./nothing"), "{said}");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_owned();
        assert_eq!(Target::of(&path.to_string_lossy()), Ok(Target::File(path)));
    }
}
