//! The process that records into a ring, and whether it has ended.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process_stat::ProcessStat;

/// A process with an id in our namespace.
#[derive(Debug)]
pub struct RingOwner {
    process: u32,
    /// Readable when the process has ended: all of its threads, not only the first. It does not depend on /proc, and
    /// never means another process that gets the id later.
    handle: Option<OwnedFd>,
    /// Without one: when the process was started.
    born: Option<u64>,
}

impl RingOwner {
    /// The process that has this id now.
    pub fn new(process: u32) -> RingOwner {
        RingOwner { process, handle: None, born: None }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.handle.is_none() {
            let Some(id) = i32::try_from(self.process).ok().and_then(Pid::from_raw) else {
                return true;
            };
            match pidfd_open(id, PidfdFlags::empty()) {
                Ok(handle) => self.handle = Some(handle),
                Err(Errno::SRCH) => return true,
                // An old kernel, or no descriptor is free.
                Err(_) => return self.has_ended_by_stat(),
            }
        }
        let Some(handle) = &self.handle else { return false };
        let mut ends = [PollFd::new(handle, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    fn has_ended_by_stat(&mut self) -> bool {
        self.is_end(&std::fs::read_to_string(format!("/proc/{}/stat", self.process)))
    }

    /// Whether this is what the kernel says of a process that has ended, or of another with its id.
    fn is_end(&mut self, stat: &io::Result<String>) -> bool {
        match stat {
            Ok(stat) => ProcessStat::parse(stat).is_some_and(|stat| {
                let born = *self.born.get_or_insert(stat.start);
                stat.has_ended() || stat.start != born
            }),
            // We may lack descriptors or memory to look, or /proc may hide others' processes.
            Err(error) => error.raw_os_error() == Some(Errno::SRCH.raw_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::process::{Child, Command};

    fn sleeping() -> (RingOwner, Child) {
        let process = Command::new("sleep").arg("600").spawn().expect("a process");
        (RingOwner::new(process.id()), process)
    }

    fn end(mut process: Child) {
        process.kill().expect("it sleeps");
        process.wait().expect("its end");
    }

    #[test]
    fn a_process_ends_when_it_is_killed() {
        let (mut owner, process) = sleeping();
        assert!(!owner.has_ended() && !owner.has_ended_by_stat());
        end(process);
        assert!(owner.has_ended());
        let (mut owner, process) = sleeping();
        end(process);
        assert!(owner.has_ended());
    }

    #[test]
    fn a_process_that_has_got_the_id_is_another() {
        let (mut owner, process) = sleeping();
        assert!(!owner.has_ended_by_stat());
        owner.born = owner.born.map(|born| born - 1);
        assert!(owner.has_ended_by_stat());
        end(process);
    }

    #[test]
    fn a_process_that_cannot_be_looked_at_has_not_ended() {
        let (mut owner, process) = sleeping();
        for (error, is_end) in [
            (libc::EMFILE, false),
            (libc::ENOMEM, false),
            (libc::ENOENT, false),
            (libc::ESRCH, true),
        ] {
            let stat = Err(io::Error::from_raw_os_error(error));
            assert_eq!(owner.is_end(&stat), is_end, "{stat:?}");
        }
        end(process);
    }

    #[test]
    fn a_process_whose_main_thread_has_ended_goes_on() {
        // The main thread ends alone, by the system call behind pthread_exit.
        let script = "import ctypes, threading, time\n\
            threading.Thread(target=time.sleep, args=(600,)).start()\n\
            ctypes.CDLL(None).syscall(60, 0)";
        let process = Command::new("python3").args(["-c", script]).spawn().expect("python3");
        let stat = || ProcessStat::of(&process.id().to_string()).map(|stat| format!("{stat:?}"));
        while !stat().is_some_and(|stat| stat.contains("'Z'")) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut owner = RingOwner::new(process.id());
        assert!(!owner.has_ended() && !owner.has_ended_by_stat());
        end(process);
        assert!(owner.has_ended());
    }
}
