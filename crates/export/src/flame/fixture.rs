//! Small profiles for the tests, by way of a trace.

use bactrian_analysis::{By, Filter, Measure, Of, Profile, StackId, TraceFile};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer,
};

/// Names by code; code 0 has none.
struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    fn code(&mut self, name: &'a str) -> u64 {
        let known = self.0.iter().position(|&known| known == name);
        let at = known.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        at as u64 + 1
    }
}

impl Locate for Names<'_> {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let Some(name) = code.checked_sub(1).map(|at| self.0[at as usize]) else {
            return found(&[]);
        };
        let (file, function) = (&b"tiny.ml"[..], name.as_bytes());
        found(&[SourceLocation { file, function, line: 1, start_char: 0, end_char: 1 }]);
    }
}

/// The bytes allocated by function, where each of these stacks, `outer;inner`, had so many samples. The
/// name `?` stands for a frame that has none.
pub(super) fn profile(rate: f64, stacks: &[(&str, u64)]) -> Profile {
    let info = TraceInfo {
        version: 2,
        sample_rate: rate,
        word_bits: 64,
        executable: b"tiny.exe".to_vec(),
        host: b"here".to_vec(),
        runtime_params: Vec::new(),
        pid: 1,
        context: Vec::new(),
        start: 0,
    };
    let mut names = Names(Vec::new());
    let mut writer = Writer::new(Vec::new(), info).expect("a writable version");
    for &(stack, samples) in stacks {
        let code = |name| if name == "?" { 0 } else { names.code(name) };
        let stack: Vec<_> = stack.split(';').map(code).collect();
        let alloc = NewAlloc {
            time: Micros(1),
            domain: DomainId(0),
            length: Words(samples),
            samples,
            source: Source::Minor,
            stack: &stack,
        };
        writer.alloc(&alloc, &names).expect("room in memory");
    }
    let bytes = writer.finish().expect("room in memory");
    let trace = TraceFile::new(bytes.into()).expect("a trace");
    Profile::new(&trace, &Filter::default(), By::Function, &[Measure::bytes(Of::Allocated)])
}

/// What a frame is called.
pub(super) fn name(profile: &Profile, stack: StackId) -> &str {
    match stack {
        StackId::ROOT => "all",
        stack => &profile.labels.get(profile.tree.label(stack)).name,
    }
}
