//! Speedscope's own format: one sampled profile per column, all with the same frames.
//!
//! Its samples have no times, only weights, so a profile ends at the sum of its weights.

use std::io::{self, Write};

use bactrian_analysis::{Column, Profile, StackTree, Unit};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::about::About;
use crate::frames::{self, Frames};
use crate::path::Path;
use crate::stream::Stream;
use crate::whole;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a, F, P> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    name: &'a str,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<F>,
    profiles: P,
}

#[derive(Serialize)]
struct Shared<F> {
    frames: F,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    col: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<S, W> {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: S,
    weights: W,
}

/// The frames of each stack with a value, outermost first.
struct Samples<'a> {
    tree: &'a StackTree,
    frames: &'a Frames<'a>,
    column: &'a Column,
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut path = Path::new(self.tree);
        let mut numbers = Vec::new();
        let mut samples = serializer.serialize_seq(None)?;
        for (stack, _) in whole::nonzero(self.tree, self.column) {
            let kept = path.go_to(stack);
            numbers.truncate(kept);
            let added = &path.stacks()[kept..];
            numbers.extend(added.iter().map(|&inner| self.frames.innermost(inner)));
            samples.serialize_element(&numbers)?;
        }
        samples.end()
    }
}

pub fn write(profile: &Profile, about: &About, out: &mut impl Write) -> io::Result<()> {
    let frames = Frames::new(profile);
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: about.title(),
        exporter: format!("bactrian {}", about.version),
        active_profile_index: 0,
        shared: Shared {
            frames: Stream(|| {
                frames.iter().map(|label| Frame {
                    name: frames::name(label),
                    file: label.file.as_deref(),
                    line: label.line,
                    col: frames::column(label),
                })
            }),
        },
        profiles: Stream(|| {
            profile.columns.iter().map(|column| sampled(&profile.tree, &frames, column))
        }),
    };
    serde_json::to_writer(out, &file)?;
    Ok(())
}

fn sampled<'a>(
    tree: &'a StackTree,
    frames: &'a Frames<'a>,
    column: &'a Column,
) -> impl Serialize + 'a {
    let weights = move || whole::nonzero(tree, column).map(|(_, value)| value);
    Sampled {
        r#type: "sampled",
        name: column.measure.title(),
        unit: match column.measure.unit {
            Unit::Bytes => "bytes",
            Unit::Objects => "none",
        },
        start_value: 0,
        end_value: weights().sum(),
        samples: Samples { tree, frames, column },
        weights: Stream(weights),
    }
}
