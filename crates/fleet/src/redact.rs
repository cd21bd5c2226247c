//! Which names leave the machine.

use std::path::Path;

use crate::profiler::FrameText;
use crate::stack_ids::{FIRST, mix};

/// What is left out of frames. Ids of stacks are always made from the full names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redact {
    /// Everything is sent.
    #[default]
    Nothing,
    /// Folders of source files are left out.
    Folders,
    /// Names of functions and files are replaced by numbers, the same everywhere.
    Names,
}

impl Redact {
    /// Redacts the path of a file.
    pub fn path(self, path: &Path) -> Option<String> {
        let told = match self {
            Redact::Nothing => Some(path.as_os_str()),
            Redact::Folders => path.file_name(),
            Redact::Names => None,
        };
        told.map(|told| told.to_string_lossy().into_owned())
    }

    /// Redacts the name of a root or class, which may contain the path of a source file.
    pub fn name(self, name: &str) -> String {
        match self {
            Redact::Nothing => name.to_owned(),
            Redact::Folders => without_folders(name),
            Redact::Names => number(name),
        }
    }

    /// Redacts a frame.
    pub fn frame(self, frame: &FrameText) -> FrameText {
        let FrameText { function, file, line } = frame;
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

/// `closure Main.load (src/main.ml:12)` becomes `closure Main.load (main.ml:12)`.
fn without_folders(text: &str) -> String {
    let words = text.split_inclusive([' ', '(']);
    words.map(|word| word.rsplit_once('/').map_or(word, |(_, name)| name)).collect()
}

/// The number that stands for a name, if it is not empty.
fn number(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!("{:016x}", mix(FIRST, name.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacted_names_and_folders_are_removed() {
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
        let trace = Path::new("/srv/secret/run.ctf");
        assert_eq!(Redact::Nothing.path(trace).as_deref(), Some("/srv/secret/run.ctf"));
        assert_eq!(Redact::Folders.path(trace).as_deref(), Some("run.ctf"));
        assert_eq!(Redact::Names.path(trace), None);
        assert_ne!(Redact::Names.name("Secret.t"), "Secret.t");
        let closure = "closure Main.load (/src/main.ml:12)";
        assert_eq!(Redact::Folders.name(closure), "closure Main.load (main.ml:12)");
    }
}
