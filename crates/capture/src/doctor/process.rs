//! Facts about a process: whether the agent is in it, and whether we may trace it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::getuid;
use serde::Serialize;

use super::verdict::{Cause, Refusal};

/// The number of the capability to trace any process.
const CAP_SYS_PTRACE: u32 = 19;
const WITH_CAPABILITY: &str = "Run this with the capability CAP_SYS_PTRACE: as root, or in a \
                               container that is started with --cap-add=SYS_PTRACE";
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// A process.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The path of the agent in it, if there is one.
    pub agent: Option<String>,
    /// Whether it may be stopped and read from outside.
    pub tracing: Tracing,
    /// Whether it is in another mount namespace than ours, as in a container.
    #[serde(rename = "other_mount_namespace")]
    pub has_other_files: bool,
    /// Whether it is in another PID namespace than ours.
    #[serde(rename = "other_pid_namespace")]
    pub has_other_numbers: bool,
}

/// Whether a process may be stopped and read from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "allowed", rename_all = "kebab-case")]
pub enum Tracing {
    /// Nothing known prevents it.
    Yes,
    /// Something prevents it.
    No {
        /// The reason.
        reason: String,
        /// Advice; empty if nothing helps.
        way_out: String,
    },
}

impl Process {
    /// Examines a process.
    pub(crate) fn look(pid: u32) -> Result<Process, Refusal> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status =
            fs::read_to_string(folder.join("status")).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    Refusal::new(Cause::Unreadable, format!("there is no process {pid}"), "")
                }
                _ => Refusal::new(Cause::Unreadable, format!("process {pid}: {error}"), ""),
            })?;
        let ours = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let yama = fs::read_to_string(YAMA).ok();
        let namespace = |name: &str| {
            let [theirs, ours] = [&folder, Path::new("/proc/self")]
                .map(|folder| fs::read_link(folder.join("ns").join(name)).ok());
            theirs.is_some() && ours.is_some() && theirs != ours
        };
        let is_self = pid == std::process::id();
        Ok(Process {
            pid,
            agent: fs::read_to_string(folder.join("maps")).ok().and_then(|maps| agent_in(&maps)),
            tracing: tracing(&status, &ours, getuid().as_raw(), yama.as_deref(), is_self),
            has_other_files: namespace("mnt"),
            has_other_numbers: namespace("pid"),
        })
    }
}

/// Finds the agent among the mappings of a process.
fn agent_in(maps: &str) -> Option<String> {
    maps.lines().find_map(|line| {
        let path = line.get(line.find('/')?..)?;
        let path = Path::new(path.strip_suffix(" (deleted)").unwrap_or(path));
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?.file_name()?.to_str()?;
        let is_agent = name.starts_with("agent-") && name.ends_with(".so");
        (is_agent && folder.starts_with("bactrian")).then(|| path.display().to_string())
    })
}

/// Decides from the `status` files of a process and of ourselves.
fn tracing(status: &str, ours: &str, user: u32, yama: Option<&str>, is_self: bool) -> Tracing {
    let no = |reason: &str, way_out: &str| Tracing::No {
        reason: reason.to_owned(),
        way_out: way_out.to_owned(),
    };
    if is_self {
        return no("a process cannot trace itself", "Give another process");
    }
    if field(status, "State").is_some_and(|state| state.starts_with('Z')) {
        return no("it has ended, and only waits to be reaped by its parent", "");
    }
    if let Some(tracer) = field(status, "TracerPid").filter(|tracer| *tracer != "0") {
        let reason = format!("process {tracer}, perhaps a debugger, is already tracing it");
        return no(&reason, "Stop that process first");
    }
    let yama = yama.and_then(|scope| scope.trim().parse().ok()).unwrap_or(0_u32);
    if yama >= 3 {
        let way_out = "This setting can only be changed by a reboot";
        return no("this kernel forbids tracing (kernel.yama.ptrace_scope = 3)", way_out);
    }
    if capabilities(ours, "CapEff") >> CAP_SYS_PTRACE & 1 == 1 {
        return Tracing::Yes;
    }
    let owners = field(status, "Uid").unwrap_or_default();
    if owners.split_whitespace().any(|owner| owner.parse() != Ok(user)) {
        let way_out = if user == 0 { WITH_CAPABILITY } else { "Run this as that user, or as root" };
        return no("it runs as another user", way_out);
    }
    // The kernel asks this before the process itself and before Yama.
    if capabilities(status, "CapPrm") & !capabilities(ours, "CapPrm") != 0 {
        return no("it has capabilities that this command does not have", WITH_CAPABILITY);
    }
    match yama {
        0 => Tracing::Yes,
        1 => no(
            "this kernel only lets parents trace their children (kernel.yama.ptrace_scope = 1)",
            "Run as root, or set it to 0: sysctl kernel.yama.ptrace_scope=0",
        ),
        _ => no(
            "this kernel only lets root trace (kernel.yama.ptrace_scope = 2)",
            "Run as root, or with the capability CAP_SYS_PTRACE",
        ),
    }
}

/// A set of capabilities, a bit each.
fn capabilities(status: &str, set: &str) -> u64 {
    field(status, set).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tserver\nState:\tS (sleeping)\nTracerPid:\t0\n\
                          Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";
    const ROOT: &str = "CapEff:\t000001ffffffffff\n";
    const USER: &str = "CapEff:\t0000000000000000\n";

    fn reason(tracing: Tracing) -> Option<String> {
        match tracing {
            Tracing::Yes => None,
            Tracing::No { reason, .. } => Some(reason),
        }
    }

    #[test]
    fn tracing_depends_on_user_capabilities_and_yama() {
        let of = |status, ours, user, yama| reason(tracing(status, ours, user, yama, false));
        assert_eq!(of(STATUS, USER, 1000, None), None);
        assert_eq!(of(STATUS, USER, 1000, Some("0\n")), None);
        assert_eq!(of(STATUS, ROOT, 0, Some("2\n")), None);
        assert!(of(STATUS, USER, 1000, Some("1\n")).expect("no").contains("ptrace_scope = 1"));
        assert!(of(STATUS, USER, 1000, Some("2\n")).expect("no").contains("ptrace_scope = 2"));
        assert!(of(STATUS, ROOT, 0, Some("3\n")).expect("no").contains("forbids tracing"));
        assert!(of(STATUS, USER, 1001, None).expect("no").contains("another user"));
        let setuid = STATUS.replace("1000\t1000\t1000\t1000", "1000\t0\t0\t0");
        assert!(of(&setuid, USER, 1000, None).expect("no").contains("another user"));
        // Root in a container: without the capability, and with fewer than processes outside.
        let container = "CapPrm:\t00000000a80425fb\nCapEff:\t00000000a80425fb\n";
        let root = STATUS.replace("1000", "0") + "CapPrm:\t000001ffffffffff\n";
        assert!(of(&root, container, 0, None).expect("no").contains("capabilities"));
        let inside = STATUS.replace("1000", "0") + container;
        assert_eq!(of(&inside, container, 0, None), None);
        let Tracing::No { way_out, .. } = tracing(STATUS, container, 0, None, false) else {
            panic!("it runs as another user");
        };
        assert!(way_out.contains("--cap-add=SYS_PTRACE"), "{way_out}");
        let traced = STATUS.replace("TracerPid:\t0", "TracerPid:\t77");
        assert!(of(&traced, ROOT, 0, None).expect("no").contains("process 77"));
        let dead = STATUS.replace("S (sleeping)", "Z (zombie)");
        assert!(of(&dead, ROOT, 0, None).expect("no").contains("ended"));
        assert!(reason(tracing(STATUS, ROOT, 0, None, true)).is_some());
        assert_eq!(of("", "", 1000, Some("nonsense")), None);
    }

    #[test]
    fn the_agent_is_recognised_among_mappings() {
        let maps = "55d0-55d1 r-xp 00000000 fe:00 1 /usr/bin/server\n\
                    7f00-7f01 r-xp 00000000 fe:00 2 /var/cache/bactrian/agent-0.1.0-00ff.so\n";
        let agent = agent_in(maps).expect("it is there");
        assert!(agent.ends_with("bactrian/agent-0.1.0-00ff.so"), "{agent}");
        assert_eq!(agent_in("7f00-7f01 r-xp 0 fe:00 2 /usr/lib/agent-1.so\n"), None);
        assert_eq!(agent_in("7f00-7f01 rw-p 00000000 00:00 0\n"), None);
    }
}
