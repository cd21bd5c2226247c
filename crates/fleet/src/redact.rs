//! Which names leave the machine.

use crate::profiler::FrameText;
use crate::stack_ids::{FIRST, mix};

/// What is not told of frames. Their stacks have the same ids in any case: those are made from the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redact {
    /// Everything is told.
    #[default]
    Nothing,
    /// Folders of source files are not.
    Folders,
    /// Names of functions and files are not: a number stands for each, the same everywhere.
    Names,
}

impl Redact {
    /// What is told of a frame.
    pub fn frame(self, frame: &FrameText) -> FrameText {
        let FrameText { function, file, line } = frame;
        let number = |name: &str| match name {
            "" => String::new(),
            name => format!("{:016x}", mix(FIRST, name.as_bytes())),
        };
        match self {
            Redact::Nothing => frame.clone(),
            Redact::Folders => {
                let file = file.rsplit('/').next().unwrap_or_default().to_owned();
                FrameText { function: function.clone(), file, line: *line }
            }
            Redact::Names => {
                FrameText { function: number(function), file: number(file), line: *line }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_redacted_is_not_there() {
        let frame = FrameText {
            function: "Secret.plan".to_owned(),
            file: "/src/secret/secret.ml".to_owned(),
            line: 3,
        };
        assert_eq!(Redact::Nothing.frame(&frame), frame);
        assert_eq!(Redact::Folders.frame(&frame).file, "secret.ml");
        let told = Redact::Names.frame(&frame);
        assert!(!format!("{told:?}").to_lowercase().contains("secret"), "{told:?}");
        assert_eq!((Redact::Names.frame(&frame), told.line), (told.clone(), 3));
    }
}
