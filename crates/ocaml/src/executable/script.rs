//! Scripts: files whose first line names the program that runs them.

use std::vec::Vec;

/// The kernel reads no more of the first line.
const LONGEST_LINE: usize = 256;

/// The first line of a script, as the kernel parses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Path of the program that runs it.
    pub interpreter: Vec<u8>,
    /// The single argument that the line passes to it, if any.
    pub argument: Option<Vec<u8>>,
}

impl Script {
    /// None if these bytes do not begin with `#!` and a path.
    pub(super) fn read(bytes: &[u8]) -> Option<Script> {
        let line = bytes.strip_prefix(b"#!")?;
        let line = line.get(..LONGEST_LINE - 2).unwrap_or(line);
        let line = line.split(|&byte| byte == b'\n' || byte == 0).next()?.trim_ascii();
        let is_space = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let end = line.iter().position(is_space).unwrap_or(line.len());
        let (interpreter, argument) = line.split_at_checked(end)?;
        let argument = argument.trim_ascii();
        let argument = (!argument.is_empty()).then(|| argument.to_vec());
        (!interpreter.is_empty()).then(|| Script { interpreter: interpreter.to_vec(), argument })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_are_read_as_the_kernel_does() {
        let check = |text: &str, expected: Option<(&str, Option<&str>)>| {
            let expected = expected.map(|(interpreter, argument)| Script {
                interpreter: interpreter.into(),
                argument: argument.map(Into::into),
            });
            assert_eq!(Script::read(text.as_bytes()), expected, "{text:?}");
        };
        check("#!/bin/sh\necho", Some(("/bin/sh", None)));
        check("#! /usr/bin/env  ocaml -I x \nlet", Some(("/usr/bin/env", Some("ocaml -I x"))));
        check("#!/bin/sh", Some(("/bin/sh", None)));
        check("#!\t/bin/sh\0\0", Some(("/bin/sh", None)));
        check("#!\n/bin/sh", None);
        check("#!", None);
        check("#", None);
        check("let x = 1", None);
    }
}
