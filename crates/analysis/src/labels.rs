//! Labels of frames: the names by which measures are summed.
//!
//! A physical frame stands for one or more source locations (several if functions were inlined). A labelling
//! turns each location into a label, outermost first, in the requested detail. Labels are numbered; each
//! frame is labelled once.

use std::borrow::Cow;
use std::collections::HashMap;

use bactrian_trace::{FrameId, Frames, TraceLocation, instruction};
use bactrian_types::written;
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::filter::Hidden;

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "WHAT"))]
pub enum By {
    /// Location in the source
    Site,
    /// Instruction of bytecode; for native code, return address
    Instruction,
    /// Line of source code
    Line,
    /// Function
    #[default]
    Function,
    /// Source file
    File,
    /// Module (compilation unit)
    Module,
}

impl By {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            By::Site => "site",
            By::Instruction => "instruction",
            By::Line => "line",
            By::Function => "function",
            By::File => "file",
            By::Module => "module",
        }
    }
}

/// What recorders write for an unknown file.
const UNKNOWN_FILE: &str = "<unknown>";

/// The number of a label in [`Labels`], from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelId(u32);

impl LabelId {
    /// Its index in arrays with an element for each label.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> LabelId {
        LabelId(index as u32)
    }
}

/// The labels of one frame, as a range of `Labels::of_frames`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelSpan {
    start: u32,
    end: u32,
}

/// Name and location of a row. Fields that the grouping does not distinguish are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Label {
    /// The function, line, file or module; for a site, its function. Modules have linker names here, and are shown with
    /// the names that programmers write.
    #[serde(serialize_with = "as_written")]
    pub name: String,
    /// The number of a bytecode instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<u64>,
    /// The file of a site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of a site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// First column of a site, and the column after its last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<(u16, u16)>,
}

fn as_written<S: serde::Serializer>(name: &str, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&written(name))
}

impl Label {
    /// The label of objects whose stack is unknown or hidden.
    pub fn no_stack() -> Label {
        Label { name: "[no stack]".to_owned(), ..Label::default() }
    }

    /// The name as written in the source.
    pub fn written(&self) -> Cow<'_, str> {
        written(&self.name)
    }

    /// `List.map  list.ml:92`, or just the name.
    pub fn text(&self) -> String {
        let name = self.written();
        match (self.place(), self.columns) {
            (Some(place), Some((start, end))) => format!("{name}  {place}:{start}-{end}"),
            (Some(place), None) => format!("{name}  {place}"),
            _ => name.into_owned(),
        }
    }

    /// The location of a site, `list.ml:92`; only the file if the line is not known.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
    }
}

/// The labels of a trace's frames.
#[derive(Debug)]
pub struct Labels {
    by: By,
    hidden: Hidden,
    labels: IndexSet<Label>,
    /// The labels of locations, with only the details that matter; None if hidden. Most frames of a large
    /// trace share locations with others, and comparing names takes longer than comparing locations, which
    /// are numbers.
    known: HashMap<TraceLocation, Option<LabelId>>,
    /// For each labelled frame, its range in `of_frames`.
    frames: Vec<Option<LabelSpan>>,
    of_frames: Vec<LabelId>,
}

impl Labels {
    /// A labelling in this detail, without what is hidden.
    pub fn new(by: By, hidden: &Hidden) -> Labels {
        Labels {
            by,
            hidden: hidden.clone(),
            labels: IndexSet::new(),
            known: HashMap::new(),
            frames: Vec::new(),
            of_frames: Vec::new(),
        }
    }

    /// The detail.
    pub fn by(&self) -> By {
        self.by
    }

    /// The number of labels so far.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether no frame was labelled yet.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The label with this number.
    pub fn get(&self, id: LabelId) -> &Label {
        &self.labels[id.index()]
    }

    /// All labels with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (LabelId, &Label)> {
        self.labels.iter().enumerate().map(|(at, label)| (LabelId(at as u32), label))
    }

    /// The labels of a frame, outermost first; empty if all of it is hidden.
    #[inline]
    pub fn of(&mut self, frame: FrameId, frames: &Frames) -> &[LabelId] {
        let span = self.span(frame, frames);
        self.in_span(span)
    }

    /// The range of a frame's labels.
    #[inline]
    pub(crate) fn span(&mut self, frame: FrameId, frames: &Frames) -> LabelSpan {
        match self.frames.get(frame.index()) {
            Some(&Some(span)) => span,
            _ => self.label(frame, frames),
        }
    }

    /// The labels in a range.
    #[inline]
    pub(crate) fn in_span(&self, span: LabelSpan) -> &[LabelId] {
        &self.of_frames[span.start as usize..span.end as usize]
    }

    #[cold]
    fn label(&mut self, frame: FrameId, frames: &Frames) -> LabelSpan {
        let start = self.of_frames.len();
        // An instruction has one label, whatever was inlined at its location.
        let locations = match (self.by, frames.locations(frame)) {
            (By::Instruction, [.., last]) => std::slice::from_ref(last),
            // What a C function allocates counts for the line that calls it.
            (By::Line, [lines @ .., c]) if c.line == 0 && !lines.is_empty() => lines,
            (_, all) => all,
        };
        for location in locations {
            let told = self.told_apart(*location);
            let known = self.known.get(&told).filter(|_| self.by != By::Instruction);
            let label = known.copied().unwrap_or_else(|| {
                let label = self.label_of(frame, location, frames);
                self.known.insert(told, label);
                label
            });
            self.of_frames.extend(label);
        }
        if locations.is_empty() {
            let code = frames.code(frame);
            let number = instruction(code);
            let name = match (code, number) {
                (0, _) => "[unknown]".to_owned(),
                (_, Some(number)) => format!("[instruction {number}]"),
                (code, None) => format!("[{code:#x}]"),
            };
            let instruction = number.filter(|_| self.by == By::Instruction);
            let id = self.intern(Label { name, instruction, ..Label::default() });
            self.of_frames.push(id);
        }
        if frame.index() >= self.frames.len() {
            self.frames.resize(frame.index() + 1, None);
        }
        let span = LabelSpan { start: start as u32, end: self.of_frames.len() as u32 };
        self.frames[frame.index()] = Some(span);
        span
    }

    /// The details of a location that determine its label, except the instruction.
    fn told_apart(&self, location: TraceLocation) -> TraceLocation {
        match self.by {
            By::Site | By::Instruction => location,
            By::Line => TraceLocation { start_char: 0, end_char: 0, ..location },
            // Whether the line is known determines how a file is named.
            By::Function | By::File | By::Module => {
                TraceLocation { line: location.line.min(1), start_char: 0, end_char: 0, ..location }
            }
        }
    }

    /// The label of a location in a frame; None if it is hidden.
    fn label_of(
        &mut self,
        frame: FrameId,
        location: &TraceLocation,
        frames: &Frames,
    ) -> Option<LabelId> {
        let function = frames.names().text(location.function);
        if self.hidden.has(&function, &frames.names().text(location.file)) {
            return None;
        }
        let mut label = self.describe(location, &function, frames);
        if self.by == By::Instruction {
            label.instruction = instruction(frames.code(frame));
        }
        Some(self.intern(label))
    }

    fn describe(&self, location: &TraceLocation, function: &str, frames: &Frames) -> Label {
        let file = || frames.names().text(location.file).into_owned();
        let name = match self.by {
            By::Site | By::Instruction | By::Function => function.to_owned(),
            By::Line if location.line > 0 => format!("{}:{}", file(), location.line),
            By::Line | By::File => {
                let file = file();
                let nowhere = location.line == 0 && (file.is_empty() || file == UNKNOWN_FILE);
                if nowhere { without_place(self.by, function) } else { file }
            }
            By::Module => module_of(function).to_owned(),
        };
        match self.by {
            // Line 0 means no location: a C function, or code compiled without debug information.
            By::Site | By::Instruction if location.line == 0 => Label {
                name,
                file: Some(file()).filter(|file| !file.is_empty()),
                ..Label::default()
            },
            By::Site | By::Instruction => Label {
                name,
                instruction: None,
                file: Some(file()),
                line: Some(location.line),
                columns: Some((location.start_char, location.end_char)),
            },
            _ => Label { name, ..Label::default() },
        }
    }

    /// The number of a label, new or known.
    pub(crate) fn intern(&mut self, label: Label) -> LabelId {
        LabelId::from_index(self.labels.insert_full(label).0)
    }
}

/// The line or file of a function compiled without debug information, as far as its name determines it.
fn without_place(by: By, function: &str) -> String {
    match (function.starts_with('['), by) {
        (true, _) => function.to_owned(),
        (false, By::File) => format!("{} [no debug info]", module_of(function)),
        (false, _) => format!("{function} [no debug info]"),
    }
}

/// The compilation unit of a function: everything before the first dot.
pub(crate) fn module_of(function: &str) -> &str {
    function.split_once('.').map_or(function, |(module, _)| module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Pattern;

    fn frames() -> (Frames, FrameId) {
        let mut frames = Frames::default();
        let id = frames.intern(0x10);
        let file = frames.names_mut().intern(b"list.ml");
        let location = |frames: &mut Frames, name: &str, line| TraceLocation {
            file,
            function: frames.names_mut().intern(name.as_bytes()),
            line,
            start_char: 2,
            end_char: 9,
        };
        let outer = location(&mut frames, "Main.run.(fun)", 7);
        let inner = location(&mut frames, "Stdlib__List.map", 92);
        frames.announce(id, &[outer, inner]);
        (frames, id)
    }

    fn texts(by: By, hidden: &[&str]) -> Vec<String> {
        let (frames, id) = frames();
        let hidden = hidden.iter().map(|p| Pattern::parse(p).expect("a pattern"));
        let hidden = Hidden::of(hidden);
        let mut labels = Labels::new(by, &hidden);
        let ids = labels.of(id, &frames).to_vec();
        ids.into_iter().map(|id| labels.get(id).text()).collect()
    }

    #[test]
    fn labels_have_the_requested_detail() {
        assert_eq!(texts(By::Function, &[]), ["Main.run.(fun)", "List.map"]);
        assert_eq!(texts(By::Module, &[]), ["Main", "List"]);
        assert_eq!(texts(By::File, &[]), ["list.ml", "list.ml"]);
        assert_eq!(texts(By::Site, &[])[1], "List.map  list.ml:92:2-9");
    }

    #[test]
    fn code_without_debug_info_is_labelled_by_its_function() {
        for (file, function, by, expected) in [
            ("", "Main.run", By::Line, "Main.run [no debug info]"),
            ("", "Main.run", By::File, "Main [no debug info]"),
            ("", "Main.run", By::Site, "Main.run"),
            ("<unknown>", "[no stack]", By::Line, "[no stack]"),
            ("<unknown>", "[no stack]", By::File, "[no stack]"),
            ("libc.so.6", "qsort", By::Line, "libc.so.6"),
        ] {
            let mut frames = Frames::default();
            let id = frames.intern(0x10);
            let [file, function] =
                [file, function].map(|name| frames.names_mut().intern(name.as_bytes()));
            let location = TraceLocation { file, function, line: 0, start_char: 0, end_char: 0 };
            frames.announce(id, &[location]);
            let mut labels = Labels::new(by, &Hidden::default());
            let label = labels.of(id, &frames)[0];
            assert_eq!(labels.get(label).text(), expected, "{by:?}");
        }
    }

    #[test]
    fn hidden_functions_are_left_out() {
        assert_eq!(texts(By::Function, &["/^Stdlib/"]), ["Main.run.(fun)"]);
        assert_eq!(texts(By::Function, &["/./"]), [""; 0]);
    }

    #[test]
    fn frames_without_names_show_their_code() {
        let mut frames = Frames::default();
        let id = frames.intern(0xabc);
        let mut labels = Labels::new(By::Site, &Hidden::default());
        let label = labels.of(id, &frames)[0];
        assert_eq!(labels.get(label).text(), "[0xabc]");
    }
}
