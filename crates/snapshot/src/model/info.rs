//! What was frozen, when, how and why.

/// The circumstances of a snapshot. They are at the beginning of the file, so that a cut file can still tell
/// what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The program that wrote it, such as `bactrian 0.1.0`.
    pub writer: String,
    /// Path of the observed program.
    pub program: String,
    /// Arguments of the program, without its name.
    pub arguments: Vec<String>,
    /// Process id of the program.
    pub pid: u32,
    /// Host name of the machine it ran on.
    pub host: String,
    /// The program's version of OCaml, such as `4.13.1`.
    pub ocaml: String,
    /// Whether the program is native code or bytecode.
    pub code: CodeKind,
    /// When it was frozen, in microseconds since the Unix epoch.
    pub taken: u64,
    /// When it was frozen, in microseconds since observation began; None if unknown.
    pub since_start: Option<u64>,
    /// Why the snapshot was taken.
    pub reason: Reason,
    /// The name that the program gave it (`Bactrian.snapshot ~name`), if any.
    pub name: Option<String>,
    /// Its number among the process's snapshots, from 1; 0 if they were not counted.
    pub sequence: u32,
    /// How the snapshot was taken.
    pub way: SnapshotMethod,
    /// How long the program was paused for it, in nanoseconds; None if that was not measured.
    pub pause: Option<u64>,
    /// Snapshots that were due before this one and skipped.
    pub skipped: Skipped,
    /// The trace that was recorded at the same time, if any.
    pub trace: Option<String>,
}

/// The kind of code of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeKind {
    /// Machine code.
    #[default]
    Native,
    /// Bytecode.
    Bytecode,
}

/// Why a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// It was requested from outside.
    #[default]
    Asked,
    /// A major collection ended.
    Major,
    /// A timer expired.
    Every,
    /// A signal arrived.
    Signal,
    /// The program was about to exit.
    Exit,
    /// More was alive than ever before.
    Peak,
    /// The program called `Bactrian.snapshot`.
    Call,
}

/// How a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotMethod {
    /// By the agent, from a frozen copy (a clone of the process).
    #[default]
    Agent,
    /// From outside, by attaching and injecting the clone that makes a frozen copy.
    Attach,
    /// From outside, by copying the memory of a stopped process.
    Copy,
    /// From a core file.
    Core,
}

/// Snapshots that were due and skipped, by the resource that was short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The allowed number of frozen copies existed already.
    pub copies: u64,
    /// Memory would have run out.
    pub memory: u64,
    /// The disk would have filled up.
    pub disk: u64,
}

impl Skipped {
    /// The number of all skipped snapshots.
    pub fn total(&self) -> u64 {
        self.copies.saturating_add(self.memory).saturating_add(self.disk)
    }
}
