//! The naive model: every object with its whole stack and its whole life.

use std::collections::HashMap;

use bactrian_analysis::units::{Bytes, Time};
use bactrian_analysis::{
    By, Collected, Estimate, Filter, FramePattern, Hidden, Label, Live, Measure, Of, Tally,
    TraceFile, Unit,
};
use bactrian_trace::{DomainId, Event, Micros, ObjectId, Source, Stacks, Words};

/// A source location: file, function, line, columns.
pub type Spot = (String, String, u32, (u16, u16));

/// A frame of a stack, with all functions inlined into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub code: u64,
    pub spots: Vec<Spot>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub born: Micros,
    pub promoted: Option<Micros>,
    pub died: Option<Micros>,
    pub domain: DomainId,
    pub length: Words,
    pub samples: u64,
    pub source: Source,
    pub stack: Vec<Frame>,
}

/// A birth or a death, in the order of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Birth,
    Death,
}

#[derive(Debug)]
pub struct Model {
    /// In order of birth.
    pub objects: Vec<Object>,
    /// The time, the change, and the index of the object.
    pub changes: Vec<(Micros, Change, usize)>,
}

impl Model {
    pub fn read(trace: &TraceFile) -> Model {
        let mut reader = trace.reader(Stacks::Decode);
        let mut model = Model { objects: Vec::new(), changes: Vec::new() };
        let mut places: HashMap<ObjectId, usize> = HashMap::new();
        while let Some((event, frames)) = reader.next_with_frames() {
            let time = event.time();
            match event {
                Event::Alloc(alloc) => {
                    let name = |id| frames.names().text(id).into_owned();
                    let stack = alloc.stack.iter().map(|&frame| Frame {
                        code: frames.code(frame),
                        spots: (frames.locations(frame).iter())
                            .map(|l| {
                                let columns = (l.start_char, l.end_char);
                                (name(l.file), name(l.function), l.line, columns)
                            })
                            .collect(),
                    });
                    places.insert(alloc.id, model.objects.len());
                    model.changes.push((time, Change::Birth, model.objects.len()));
                    model.objects.push(Object {
                        born: time,
                        promoted: None,
                        died: None,
                        domain: alloc.domain,
                        length: alloc.length,
                        samples: alloc.samples,
                        source: alloc.source,
                        stack: stack.collect(),
                    });
                }
                Event::Promote { id, .. } => model.objects[places[&id]].promoted = Some(time),
                Event::Collect { id, .. } => {
                    model.objects[places[&id]].died = Some(time);
                    model.changes.push((time, Change::Death, places[&id]));
                }
            }
        }
        assert!(reader.losses().is_clean());
        model
    }

    /// For each object, whether the filter admits it.
    pub fn admitted(&self, filter: &Filter) -> Vec<bool> {
        let mut admitted: Vec<_> = self.objects.iter().map(|o| o.is_admitted(filter)).collect();
        if filter.live.contains(&Live::AtPeak) {
            let alive = self.alive_at_peak(&admitted);
            admitted = admitted.iter().zip(alive).map(|(a, b)| *a && b).collect();
        }
        admitted
    }

    /// The live samples of some objects after each change.
    pub fn live_samples<'a>(
        &'a self,
        wanted: &'a [bool],
    ) -> impl Iterator<Item = (Micros, Change, u64)> + 'a {
        let wanted = self.changes.iter().filter(|(_, _, object)| wanted[*object]);
        wanted.scan(0, |live, &(time, change, object)| {
            let samples = self.objects[object].samples;
            *live = if change == Change::Birth { *live + samples } else { *live - samples };
            Some((time, change, *live))
        })
    }

    /// When the live samples of some objects first reach their maximum, and the maximum.
    pub fn peak(&self, wanted: &[bool]) -> (Micros, u64) {
        self.live_samples(wanted).fold((Micros(0), 0), |peak, (time, _, live)| {
            if live > peak.1 { (time, live) } else { peak }
        })
    }

    /// For each object, whether it is alive at the moment when the live samples of `wanted` objects first
    /// reach their maximum.
    fn alive_at_peak(&self, wanted: &[bool]) -> Vec<bool> {
        let mut alive = vec![false; self.objects.len()];
        let mut at_peak = alive.clone();
        let (mut live, mut most) = (0, 0);
        for &(_, change, object) in &self.changes {
            alive[object] = change == Change::Birth;
            let samples = if wanted[object] { self.objects[object].samples } else { 0 };
            live = if change == Change::Birth { live + samples } else { live - samples };
            if live > most {
                (most, at_peak) = (live, alive.clone());
            }
        }
        at_peak
    }

    /// For each object, whether it counts for a measure.
    pub fn counted(&self, filter: &Filter, of: Of) -> Vec<bool> {
        let admitted = self.admitted(filter);
        // If the filter refers to the peak, measures refer to the same peak.
        let mut others = filter.clone();
        others.live.retain(|live| *live != Live::AtPeak);
        let at_peak = self.alive_at_peak(&self.admitted(&others));
        let counts = |place: usize, object: &Object| match of {
            Of::Allocated => true,
            Of::LiveAtEnd => object.died.is_none(),
            Of::LiveAtPeak => at_peak[place],
            Of::Promoted => object.promoted.is_some(),
        };
        let objects = self.objects.iter().enumerate().zip(admitted);
        objects.map(|((place, object), admitted)| admitted && counts(place, object)).collect()
    }

    /// The objects that count for a measure, with their weights.
    pub fn weighed(&self, filter: &Filter, measure: Measure) -> Vec<(&Object, Tally)> {
        let counted = self.counted(filter, measure.of);
        let counted = self.objects.iter().zip(counted).filter(|(_, counts)| *counts);
        counted.map(|(object, _)| (object, object.tally(measure.unit))).collect()
    }
}

impl Object {
    fn is_alive_at(&self, time: Micros) -> bool {
        self.born <= time && self.died.is_none_or(|died| died > time)
    }

    /// Ignores the peak, which depends on other objects.
    fn is_admitted(&self, filter: &Filter) -> bool {
        let Object { born, died, .. } = *self;
        let live = |live: &Live| match live {
            Live::In(range) => {
                range.to.is_none_or(|to| born <= to.0)
                    && range.from.is_none_or(|from| died.is_none_or(|died| died > from.0))
            }
            Live::At(time) => self.is_alive_at(time.0),
            Live::AtEnd => died.is_none(),
            Live::AtPeak => true,
        };
        let collected = match &filter.collected {
            None => true,
            Some(Collected::Never) => died.is_none(),
            Some(Collected::In(range)) => died.is_some_and(|died| range.contains(&Time(died))),
        };
        let lifetime = match died {
            Some(died) => filter.lifetime.contains(&Time(died.since(born))),
            None => filter.lifetime.to.is_none(),
        };
        filter.allocated.contains(&Time(born))
            && filter.live.iter().all(live)
            && collected
            && lifetime
            && filter.size.contains(&Bytes(self.length.0 * 8))
            && (filter.sources.is_empty() || filter.sources.contains(&self.source))
            && (filter.domains.is_empty() || filter.domains.contains(&self.domain))
            && filter.inside.iter().all(|place| self.is_inside(place))
            && !filter.not_inside.iter().any(|place| self.is_inside(place))
    }

    fn is_inside(&self, place: &FramePattern) -> bool {
        self.stack.iter().flat_map(|frame| &frame.spots).any(|(file, function, ..)| match place {
            FramePattern::Function(pattern) => pattern.matches(function),
            FramePattern::File(pattern) => {
                pattern.matches(file) || file.rsplit('/').next().is_some_and(|f| pattern.matches(f))
            }
        })
    }

    pub fn tally(&self, unit: Unit) -> Tally {
        let weight = match unit {
            Unit::Bytes => 1.0,
            Unit::Objects => 1.0 / (self.length.0 + 1) as f64,
        };
        let mut tally = Tally::default();
        tally.count(self.samples, weight);
        tally
    }

    /// The stack as labels, outermost first.
    pub fn path(&self, by: By, hidden: &Hidden) -> Vec<Label> {
        let mut path = Vec::new();
        for Frame { code, spots } in &self.stack {
            if spots.is_empty() {
                path.push(Label { name: format!("[{code:#x}]"), ..Label::default() });
            }
            let skipped = if by == By::Instruction { spots.len().saturating_sub(1) } else { 0 };
            for (file, function, line, columns) in &spots[skipped..] {
                if hidden.has(function, file) {
                    continue;
                }
                let name = |name: &str| Label { name: name.to_owned(), ..Label::default() };
                path.push(match by {
                    By::Function => name(function),
                    By::File => name(file),
                    By::Line => name(&format!("{file}:{line}")),
                    By::Module => name(function.split('.').next().unwrap_or(function)),
                    By::Site | By::Instruction => Label {
                        file: Some(file.clone()),
                        line: Some(*line),
                        columns: Some(*columns),
                        ..name(function)
                    },
                });
            }
        }
        path
    }
}

/// Adds a tally to an entry of a map.
pub fn add<K: Eq + std::hash::Hash>(map: &mut HashMap<K, Tally>, key: K, tally: Tally) {
    let sum = map.entry(key).or_default();
    *sum = *sum + tally;
}

/// Whether two estimates are equal up to rounding.
pub fn close(a: &Estimate, b: &Estimate) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()));
    near(a.value, b.value) && near(a.low, b.low) && near(a.high, b.high)
}
