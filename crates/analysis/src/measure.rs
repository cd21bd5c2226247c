//! What is measured of the admitted objects.

use bactrian_trace::Alloc;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Scale;
use crate::filter::Filter;
use crate::objects::ObjectSet;
use crate::selection::{End, Peak, Selection, find_peak};
use crate::timeline::{Timeline, timeline};
use crate::trace_file::TraceFile;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes, block headers included.
    Bytes,
    /// Blocks.
    Objects,
}

/// Which of the selected objects are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// All.
    Allocated,
    /// Those still there when the trace ends.
    LiveAtEnd,
    /// Those still there when all of them together take most memory.
    LiveAtPeak,
    /// Those that moved from the minor to the major heap.
    Promoted,
}

/// Measures by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "METRIC", "x-short" = "m"))]
pub enum Metric {
    /// Like live; like peak if less than a tenth of the peak is live when the trace ends
    #[default]
    Kept,
    /// Bytes allocated
    Allocated,
    /// Bytes still there when the trace ends
    Live,
    /// Bytes there at the peak of live bytes
    Peak,
    /// Blocks allocated
    Objects,
    /// Bytes that moved from the minor to the major heap
    Promoted,
}

impl Metric {
    /// The measure with this name. `keeps_little` (see [`keeps_little`]) is called only if it matters.
    pub fn measure(self, keeps_little: impl FnOnce() -> bool) -> Measure {
        match self {
            Metric::Kept if keeps_little() => Measure::bytes(Of::LiveAtPeak),
            Metric::Kept => Measure::bytes(Of::LiveAtEnd),
            Metric::Allocated => Measure::bytes(Of::Allocated),
            Metric::Live => Measure::bytes(Of::LiveAtEnd),
            Metric::Peak => Measure::bytes(Of::LiveAtPeak),
            Metric::Objects => Measure::objects(Of::Allocated),
            Metric::Promoted => Measure::bytes(Of::Promoted),
        }
    }
}

/// A live size below this fraction of the peak counts as little.
const LITTLE: f64 = 0.1;

/// Whether a program frees nearly everything before its trace ends: then the objects alive at the peak say
/// more than those alive at the end.
pub fn keeps_little(trace: &TraceFile) -> bool {
    ends_with_little(&timeline(trace, &Filter::default(), 1))
}

/// Likewise, from live bytes over time.
pub(crate) fn ends_with_little(all: &Timeline) -> bool {
    all.points.last().is_some_and(|end| end.live.value < LITTLE * all.peak.value)
}

/// What is measured of call stacks, sites or functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Measure {
    /// What is counted.
    pub unit: Unit,
    /// Which objects are counted.
    pub of: Of,
}

impl Measure {
    /// The bytes of these objects.
    pub fn bytes(of: Of) -> Measure {
        Measure { unit: Unit::Bytes, of }
    }

    /// The number of these objects.
    pub fn objects(of: Of) -> Measure {
        Measure { unit: Unit::Objects, of }
    }

    /// How tallies scale to estimates for this trace.
    pub fn scale(self, trace: &TraceFile) -> Scale {
        match self.unit {
            Unit::Bytes => trace.bytes_scale(),
            Unit::Objects => trace.objects_scale(),
        }
    }

    /// The title with a caveat: the collector may not have found all dead objects yet.
    pub fn long_title(self) -> String {
        let more = if self.of == Of::LiveAtEnd { " (or not collected yet)" } else { "" };
        format!("{}{more}", self.title())
    }

    /// The title for people: `bytes allocated`, `objects live at the peak`.
    pub fn title(self) -> String {
        let unit = match self.unit {
            Unit::Bytes => "bytes",
            Unit::Objects => "objects",
        };
        let of = match self.of {
            Of::Allocated => "allocated",
            Of::LiveAtEnd => "live at the end",
            Of::LiveAtPeak => "live at the peak",
            Of::Promoted => "promoted",
        };
        format!("{unit} {of}")
    }
}

/// Measures prepared for a pass: which objects count is determined beforehand.
#[derive(Debug)]
pub(crate) struct Gauge {
    measures: Vec<(Measure, usize)>,
    subsets: Vec<Subset>,
    pub peak: Option<Peak>,
}

/// The objects that count for one [`Of`].
#[derive(Debug)]
struct Subset {
    of: Of,
    by_end: Option<ObjectSet>,
}

impl Gauge {
    pub fn new(trace: &TraceFile, selection: &Selection, measures: &[Measure]) -> Gauge {
        let mut gauge = Gauge { measures: Vec::new(), subsets: Vec::new(), peak: selection.peak() };
        for &measure in measures {
            let known = gauge.subsets.iter().position(|subset| subset.of == measure.of);
            let subset = known.unwrap_or_else(|| {
                let subset = gauge.subset(trace, selection, measure.of);
                gauge.subsets.push(subset);
                gauge.subsets.len() - 1
            });
            gauge.measures.push((measure, subset));
        }
        gauge
    }

    fn subset(&mut self, trace: &TraceFile, selection: &Selection, of: Of) -> Subset {
        let end = match of {
            Of::Allocated => None,
            Of::LiveAtEnd => Some(End::never()),
            Of::Promoted => Some(End::promoted()),
            Of::LiveAtPeak => {
                let peak = *self.peak.get_or_insert_with(|| find_peak(trace, selection));
                Some(End::alive_at_peak(peak))
            }
        };
        Subset { of, by_end: end.map(|end| selection.narrowed(trace, end)) }
    }

    /// Calls `add` with the index of each measure for which the object counts, and its weight per sample.
    #[inline]
    pub fn weigh(&self, alloc: &Alloc<'_>, mut add: impl FnMut(usize, f64)) {
        for (at, (measure, subset)) in self.measures.iter().enumerate() {
            let by_end = self.subsets[*subset].by_end.as_ref();
            if by_end.is_none_or(|set| set.contains(alloc.id)) {
                add(at, weight(measure.unit, alloc));
            }
        }
    }
}

/// The unscaled weight of one sample of the object. A block of `n` words and a header is sampled `n + 1`
/// times as often as a single word.
#[inline]
pub(crate) fn weight(unit: Unit, alloc: &Alloc<'_>) -> f64 {
    weight_of(unit, alloc.length.0)
}

/// Likewise, for a block of this many words without the header.
#[inline]
pub(crate) fn weight_of(unit: Unit, words: u64) -> f64 {
    match unit {
        Unit::Bytes => 1.0,
        Unit::Objects => 1.0 / (words as f64 + 1.0),
    }
}
