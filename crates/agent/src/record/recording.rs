//! The recording of one process: from callbacks to a trace.
//!
//! There is one recording per process. After a fork the child has a new one; its file is created only when
//! there is something to write, because most children call exec at once.

use alloc::ffi::CString;
use alloc::string::ToString;
use alloc::vec::Vec;

use bactrian_agent_abi::token::{EXTERNAL, RECORDING_SHIFT, RECORDINGS};
use bactrian_agent_os::lock::SetOnce;
use bactrian_agent_os::sys::{self, Clock, Pid, SysResult};
use bactrian_agent_os::{birthmark, confined, proc};
use bactrian_ocaml::value;
use bactrian_trace::{
    DomainId, LastStack, Micros, NO_FRAMES, NewBlock, ObjectId, Recorder, Sink, Source, State,
    TraceInfo, Words, Writer,
};

use super::locate::Namer;
use super::output::Output;
use super::page;
use super::rate::{self, Falling};
use super::waiting_stacks::WaitingStacks;
use crate::keeper::filters;
use crate::runtime::agent::Agent;

/// Events are written at least this often, in microseconds.
const FLUSH_EVERY: u64 = 1_000_000;
/// The same, if somebody watches the program.
const FLUSH_IF_WATCHED: u64 = 200_000;
/// Microseconds until a disk that was full is tried again.
const RETRY_AFTER: u64 = 100_000;
/// Before the program blocks, events are written if the last write is this many microseconds ago.
const FLUSH_BEFORE_WAITING: u64 = 50_000;

/// Few processors count slower than this; on faster ones we read the clock more often.
const TICKS_PER_MICROSECOND: u64 = 1000;

/// The runtime's parameters, as it reports them.
static PARAMETERS: SetOnce<Vec<u8>> = SetOnce::new();

/// Sets the runtime parameters that traces mention.
///
/// # Safety
/// Called at most once, while only one thread runs our code.
pub unsafe fn set_parameters(parameters: &[u8]) {
    // SAFETY: by the caller.
    unsafe { PARAMETERS.set(parameters.into()) };
}

/// What the runtime keeps for us with a tracked block.
#[derive(Clone, Copy)]
pub struct Token(pub usize);

pub struct Recording {
    agent: &'static Agent,
    /// The path that was asked for; the file's name may differ.
    trace: &'static [u8],
    writer: Writer<Output>,
    process: Pid,
    generation: u64,
    /// The start, on the monotonic clock.
    start: u64,
    flush_every: u64,
    last_flush: u64,
    last_now: u64,
    last_ticks: u64,
    recorder: Recorder,
    /// The note that the file contains.
    noted: Recorder,
    namer: Namer,
    /// Set by exec and exit in a program that has confined itself. The caller may have been a vfork child that shares
    /// our memory: it takes a system call to tell. If a callback follows, it was the child.
    is_leaving: bool,
    /// Nothing has been written yet; no file is created until there is something to write.
    is_lazy: bool,
    /// The stack of the current allocation, if it had to wait.
    stack: Vec<u64>,
    /// Stacks of allocations that the runtime has not reported yet.
    waiting: WaitingStacks,
    switch: Switch,
    rate: Falling,
}

/// Whether events are wanted at a given time.
enum Switch {
    /// From the first time until the second.
    Window(u64, u64),
    /// Switched by a signal.
    Signal,
}

/// A sampled allocation, without its stack.
pub struct Sample {
    pub domain: DomainId,
    pub size: usize,
    pub samples: usize,
    pub source: Source,
}

/// The stack of an allocation.
pub enum Stack<'a> {
    /// As the runtime gives it: innermost frame first, tagged.
    Slots(&'a [usize]),
    /// As we walked it: outermost frame first, and the number of outer frames that are those of the stack
    /// written last.
    Walked { codes: &'a [u64], unchanged: usize },
    /// Kept earlier under this number.
    Waiting(u64),
}

/// The answer to an allocation callback.
pub enum Verdict {
    /// Track the block.
    Track(Token),
    /// Do not track it.
    Leave,
    /// Do not track it or any other: the recording is over.
    Stop,
}

impl Recording {
    pub fn new(agent: &'static Agent, trace: &'static [u8], generation: u64) -> Recording {
        let Agent { program, settings, .. } = agent;
        let process = sys::process_id();
        let recorder = Recorder {
            version: env!("CARGO_PKG_VERSION").into(),
            ocaml: program.version.to_string(),
            depth: settings.depth.into(),
            ..Recorder::default()
        };
        let mut host = Vec::new();
        sys::host_name(&mut |name| host.extend_from_slice(name));
        let info = TraceInfo {
            // If only one domain is seen, the launcher changes it to version 2 in the end.
            version: if program.runtime.domain_id.is_some() { 3 } else { 2 },
            sample_rate: rate::now(),
            word_bits: 64,
            executable: executable(agent),
            host,
            runtime_params: PARAMETERS.get().unwrap_or(&agent.runtime_params).clone(),
            pid: process.0.into(),
            context: recorder.context(),
            start: sys::micros(Clock::Realtime),
        };
        let Ok(mut writer) =
            Writer::new(Output::new(trace, settings.keeper.as_deref(), process), info);
        writer.sink_mut().expect_note();
        let switch = match settings.signal {
            Some(_) => Switch::Signal,
            None => {
                let end = settings.duration.map_or(u64::MAX, |time| settings.after + time);
                Switch::Window(settings.after, end)
            }
        };
        Recording {
            agent,
            trace,
            writer,
            process,
            generation,
            start: sys::micros(Clock::Monotonic),
            flush_every: if page::is_watched() { FLUSH_IF_WATCHED } else { FLUSH_EVERY },
            last_flush: 0,
            last_now: 0,
            last_ticks: 0,
            noted: recorder.clone(),
            recorder,
            namer: Namer::new(agent),
            is_leaving: false,
            is_lazy: false,
            stack: Vec::new(),
            waiting: WaitingStacks::default(),
            switch,
            rate: Falling::new(agent),
        }
    }

    /// Creates the output now, so that errors show up at once.
    pub fn create(&mut self) -> SysResult<()> {
        let output = self.writer.sink_mut();
        output.create()?;
        let Ok(()) = output.flush();
        Ok(())
    }

    /// Microseconds since the start. The clock is read at most once per microsecond, judging by the time
    /// stamp counter: reading it costs more than writing an event.
    #[inline]
    fn now(&mut self) -> u64 {
        let ticks = sys::ticks();
        if ticks.wrapping_sub(self.last_ticks) > TICKS_PER_MICROSECOND {
            self.last_ticks = ticks;
            let now = sys::micros(Clock::Monotonic).saturating_sub(self.start);
            self.last_now = self.last_now.max(now);
        }
        self.last_now
    }

    /// A sampled allocation.
    #[inline(always)]
    pub fn alloc(&mut self, sample: &Sample, stack: Stack<'_>) -> Verdict {
        self.resume_if_still_here();
        let now = self.now();
        if self.agent.came_late && self.recorder.state != State::Running {
            // The recorder that asked for this recording was killed.
            return Verdict::Stop;
        }
        if let Stack::Waiting(number) = stack {
            // Taken out even if it is not wanted: it will not be asked for again.
            let found = self.waiting.find(number);
            self.recorder.lost_stacks += u64::from(found.is_none());
            self.stack.clear();
            self.stack.extend_from_slice(found.unwrap_or_default());
        }
        let wanted = match self.switch {
            Switch::Window(_, end) if now >= end => {
                self.end(State::Ended);
                return Verdict::Stop;
            }
            Switch::Window(start, _) => now >= start,
            Switch::Signal => crate::record::switch::is_on(),
        };
        if !wanted || !page::is_sampling() {
            return Verdict::Leave;
        }
        if !self.keep_up(now) {
            self.recorder.lost_allocations += 1;
            return Verdict::Leave;
        }
        let program = &self.agent.program;
        let frames = match stack {
            Stack::Slots(slots) => slots.len(),
            Stack::Walked { codes, .. } => codes.len(),
            Stack::Waiting(_) => self.stack.len(),
        };
        if frames >= self.agent.settings.depth as usize {
            self.recorder.capped_stacks += 1;
        }
        let samples = self.rate.weighed(sample.domain, sample.samples as u64, program);
        let block = NewBlock {
            time: Micros(now),
            domain: sample.domain,
            length: Words(sample.size as u64),
            samples,
            source: sample.source,
        };
        self.is_lazy = false;
        let waiting = &self.stack;
        let put = |last: &mut LastStack| match stack {
            _ if frames == 0 => last.replace(&[NO_FRAMES], 0),
            Stack::Slots(slots) => {
                let slots = slots.iter().rev().map(|slot| slot & !1);
                match program.is_bytecode() {
                    true => last.replace_each(slots.map(|slot| program.frame_code(slot))),
                    false => last.replace_each(slots.map(|slot| slot as u64)),
                }
            }
            Stack::Walked { codes, unchanged } => last.replace(codes, unchanged),
            Stack::Waiting(_) => last.replace(waiting, 0),
        };
        let Ok(id) = self.writer.alloc_block(&block, put, &self.namer);
        // SAFETY: allocations are reported in callbacks of our sampler.
        if unsafe { self.rate.after_one(&self.agent.program) } {
            self.recorder.halved = self.rate.halved.into();
            self.note();
        }
        Verdict::Track(self.token(id, sample.source))
    }

    /// Keeps a stack whose allocation will be reported later.
    pub fn keep_stack(&mut self, number: u64, codes: &[u64]) {
        if !self.waiting.keep(number, codes) {
            self.recorder.capped_stacks += 1;
        }
    }

    /// Counts an allocation that cannot be recorded.
    pub fn count_lost(&mut self) {
        self.recorder.lost_allocations += 1;
    }

    /// A tracked block was promoted.
    pub fn promote(&mut self, domain: DomainId, token: Token) {
        self.resume_if_still_here();
        let Some(id) = self.object(token) else { return };
        if token.0 as u64 >> 1 & EXTERNAL != 0 {
            // The tracked memory is outside the heap and stays where it is.
            return;
        }
        let now = self.now();
        if !self.keep_up(now) {
            self.recorder.lost_ends += 1;
            return;
        }
        let Ok(()) = self.writer.promote(Micros(now), domain, id);
    }

    /// A tracked block was freed.
    pub fn collect(&mut self, domain: DomainId, token: Token) {
        self.resume_if_still_here();
        let Some(id) = self.object(token) else { return };
        let now = self.now();
        if !self.keep_up(now) {
            self.recorder.lost_ends += 1;
            return;
        }
        let Ok(()) = self.writer.collect(Micros(now), domain, id);
    }

    /// The same in short, see [`Writer::collect_briefly`]; returns whether nothing is left to do.
    #[inline]
    pub fn collect_briefly(&mut self, domain: DomainId, token: Token) -> bool {
        if self.is_leaving {
            return false;
        }
        let Some(id) = self.object(token) else { return true };
        let now = self.now();
        !self.is_due(now)
            && self.writer.sink_mut().has_room()
            && self.writer.collect_briefly(Micros(now), domain, id)
    }

    fn token(&self, id: ObjectId, source: Source) -> Token {
        let external = if source == Source::External { EXTERNAL } else { 0 };
        let bits = self.generation << RECORDING_SHIFT | external | id.0;
        Token(value::integer(bits as usize))
    }

    /// The object that a token stands for, if it belongs to this recording and is still of interest.
    fn object(&self, token: Token) -> Option<ObjectId> {
        if self.recorder.state != State::Running {
            return None;
        }
        let bits = token.0 as u64 >> 1;
        (bits >> RECORDING_SHIFT == self.generation).then_some(ObjectId(bits & (EXTERNAL - 1)))
    }

    /// Writes what is due; returns false if there is no room for another event.
    #[inline]
    fn keep_up(&mut self, now: u64) -> bool {
        if self.is_due(now) {
            self.flush(now);
        }
        self.recorder.state == State::Running && self.writer.sink_mut().has_room()
    }

    /// Whether it is time to write.
    #[inline]
    fn is_due(&mut self, now: u64) -> bool {
        let output = self.writer.sink_mut();
        let patience = if output.is_stuck() { RETRY_AFTER } else { self.flush_every };
        now - self.last_flush >= patience
    }

    #[cold]
    fn flush(&mut self, now: u64) {
        self.last_flush = now;
        if self.is_lazy {
            return;
        }
        if self.writer.sink_mut().is_stuck() {
            // Write nothing new until the old bytes are written: unfinished packets would only add to them.
            let Ok(()) = self.writer.sink_mut().flush();
        } else {
            let Ok(()) = self.writer.flush(Micros(now));
        }
        if self.agent.came_late && self.writer.sink_mut().is_alone() {
            // No recorder is left that would end it.
            self.recorder.state = State::Ended;
        }
        self.recorder.unknown_frames = self.namer.unknown();
        self.note();
    }

    /// Updates the note in the trace if it has changed.
    fn note(&mut self) {
        if self.recorder != self.noted {
            self.writer.sink_mut().update_note(&self.recorder);
            self.noted.clone_from(&self.recorder);
        }
    }

    /// Writes everything and records the final state.
    pub fn end(&mut self, state: State) {
        if self.recorder.state != State::Running || !birthmark::is_here() {
            return;
        }
        self.recorder.state = state;
        let now = self.now();
        self.flush(now);
        // If the keeper answers, it has written everything.
        let is_kept = filters::ask();
        if !self.is_ours() {
            self.recorder.state = State::Running;
            self.note();
        } else if !is_kept {
            self.writer.sink_mut().finish(&self.recorder);
        }
    }

    /// The process is about to become another program, or to exit; returns whether that ends the recording.
    pub fn before_leaving(&mut self) -> bool {
        let was_running = self.recorder.state == State::Running;
        self.end(State::Ended);
        let has_ended = was_running && self.recorder.state == State::Ended;
        // Elsewhere callbacks of other threads may come while the process exits: the recording has ended.
        self.is_leaving = has_ended && confined::is_confined();
        has_ended
    }

    /// Resumes a recording that [`Recording::before_leaving`] has ended: a callback shows that only a vfork child has
    /// left.
    #[inline]
    fn resume_if_still_here(&mut self) {
        if self.is_leaving {
            self.resume();
        }
    }

    /// Continues after exec has failed.
    #[cold]
    pub fn resume(&mut self) {
        self.is_leaving = false;
        if self.recorder.state == State::Ended {
            self.recorder.state = State::Running;
            let now = self.now();
            self.flush(now);
        }
    }

    /// Writes everything for a snapshot that is about to be taken; returns the name of the file, if there is
    /// one.
    pub fn for_snapshot(&mut self) -> Option<Vec<u8>> {
        if self.recorder.state == State::Running {
            let now = self.now();
            self.flush(now);
        }
        self.writer.sink_mut().name().map(CString::into_bytes)
    }

    /// The program is about to block.
    pub fn before_waiting(&mut self) {
        let now = self.now();
        if now - self.last_flush >= FLUSH_BEFORE_WAITING && self.recorder.state == State::Running {
            self.flush(now);
        }
    }

    /// The program is about to forbid us system calls: whatever needs them is done now.
    pub fn before_filter(&mut self) {
        if self.is_lazy && self.recorder.state == State::Running {
            self.is_lazy = false;
            let now = self.now();
            self.flush(now);
        }
    }

    /// Replaces the recording by a new one, in a forked child.
    pub fn after_fork(&mut self) {
        let generation = (self.generation + 1) % RECORDINGS;
        self.writer.sink_mut().abandon();
        let (state, elapsed) = (self.recorder.state, self.now());
        *self = Recording::new(self.agent, self.trace, generation);
        self.writer.sink_mut().is_child = true;
        self.recorder.state = state;
        self.is_lazy = true;
        if let Switch::Window(start, end) = &mut self.switch {
            // The window is in the program's time, not the child's.
            *start = start.saturating_sub(elapsed);
            *end = if *end == u64::MAX { *end } else { end.saturating_sub(elapsed) };
        }
    }

    /// Lets go of what belongs to the parent of a forked child.
    pub fn abandon(&mut self) {
        self.writer.sink_mut().abandon();
    }

    /// Records that our own code failed.
    pub fn note_accident(&mut self) {
        self.recorder.state = State::SwitchedOff;
        self.writer.sink_mut().update_note(&self.recorder);
    }

    /// Whether the recording belongs to this process: a child made by vfork shares our memory.
    fn is_ours(&self) -> bool {
        confined::is_confined() || sys::process_id() == self.process
    }
}

/// The file of this process's program.
fn executable(agent: &Agent) -> Vec<u8> {
    match &agent.bytecode {
        Some(file) if file.as_c_str() != proc::EXECUTABLE => sys::absolute(file.to_bytes()),
        _ => proc::executable(),
    }
}
