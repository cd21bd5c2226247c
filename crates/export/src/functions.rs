//! The functions of frames. A function has many frames, one for each location in it.

use std::collections::HashMap;

use crate::frames::{self, Frames};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file; unknown for frames without debug information.
    pub file: Option<&'a str>,
}

/// The distinct functions of a profile, numbered from 0.
#[derive(Debug, Default)]
pub struct Functions<'a> {
    /// All functions, in order of their numbers.
    pub all: Vec<Function<'a>>,
    /// The number of each frame's function.
    pub of_frames: Vec<usize>,
}

impl<'a> Functions<'a> {
    /// The functions of these frames.
    pub fn new(frames: &'a Frames<'a>) -> Functions<'a> {
        let mut functions = Functions::default();
        let mut numbers = HashMap::new();
        for label in frames.iter() {
            let function = Function { name: frames::name(label), file: label.file.as_deref() };
            let number = *numbers.entry(function).or_insert_with(|| {
                functions.all.push(function);
                functions.all.len() - 1
            });
            functions.of_frames.push(number);
        }
        functions
    }
}
