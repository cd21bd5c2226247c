//! What was frozen, when, how and why.

/// What a snapshot is a snapshot of. It stands at the beginning of the file, so that a cut file can still
/// say what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// What wrote it, as `bactrian 0.1.0`.
    pub writer: String,
    /// The program's file.
    pub program: String,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// Its process.
    pub pid: u32,
    /// The machine it ran on.
    pub host: String,
    /// Its version of OCaml, as `4.13.1`.
    pub ocaml: String,
    /// What its code is.
    pub code: CodeKind,
    /// When it was frozen, in microseconds since the Unix epoch.
    pub taken: u64,
    /// When it was frozen, in microseconds since observation began, if that is known.
    pub since_start: Option<u64>,
    /// Why.
    pub reason: Reason,
    /// What the program called it (`Bactrian.snapshot ~name`).
    pub name: Option<String>,
    /// Which of the process's snapshots it is, from 1; 0 if they were not counted.
    pub sequence: u32,
    /// How.
    pub way: Way,
    /// How long the program stood still for it, in nanoseconds, if that was measured.
    pub pause: Option<u64>,
    /// Snapshots that were due before this one and not taken.
    pub skipped: Skipped,
    /// The trace that was recorded at the same time.
    pub trace: Option<String>,
}

/// What a program's code is.
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
    /// Somebody asked for it from outside.
    #[default]
    Asked,
    /// A major collection ended.
    Major,
    /// It was time.
    Every,
    /// A signal came.
    Signal,
    /// The program was about to exit.
    Exit,
    /// There was more alive than ever before.
    Peak,
    /// The program called `Bactrian.snapshot`.
    Call,
}

/// How a snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By the agent, from a frozen copy.
    #[default]
    Agent,
    /// From outside, from a frozen copy that was injected.
    Attach,
    /// From outside, by copying a stopped process.
    Copy,
    /// From a core file.
    Core,
}

/// Snapshots that were due and not taken, by what there was too little of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// As many frozen copies as allowed existed already.
    pub copies: u64,
    /// Memory would have run out.
    pub memory: u64,
    /// The disk would have run full.
    pub disk: u64,
}

impl Skipped {
    /// All together.
    pub fn total(&self) -> u64 {
        self.copies.saturating_add(self.memory).saturating_add(self.disk)
    }
}
