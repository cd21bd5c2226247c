//! Programs that wait while they are examined.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bactrian_capture::heap::roots;
use bactrian_capture::heap::target::{Files, Target};
use bactrian_capture::memory::ProcessMemory;
use bactrian_fixtures::until_it_reads;

/// A program that waits.
pub struct Waiting {
    child: Child,
    /// What it has reported about itself.
    pub said: HashMap<String, u64>,
    pub memory: ProcessMemory,
    pub target: Target,
}

impl Waiting {
    /// Starts a program, and reads `NAME NUMBER` until it says `ready`.
    pub fn start(program: &Path, arguments: &[&str]) -> Waiting {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut said = HashMap::new();
        for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
            let line = line.expect("text");
            if line == "ready" {
                break;
            }
            // The last word is a number; in `live BLOCKS WORDS` the first two are the name.
            let (name, number) = line.rsplit_once(' ').expect("a name and a number");
            said.insert(name.to_owned(), number.parse().expect("a number"));
        }
        until_it_reads(child.id());
        let memory = ProcessMemory::open(child.id()).expect("its memory");
        let target = Target::find(&memory, &Files::of_process(child.id())).expect("OCaml");
        Waiting { child, said, memory, target }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self, name: &str) -> u64 {
        self.said[name]
    }

    /// The domain states.
    pub fn domains(&self) -> Vec<u64> {
        roots::find(&self.target, &self.memory, None).domains
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
