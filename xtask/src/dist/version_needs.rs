//! What a dynamic executable requires of the system, as readelf prints it.

use std::path::Path;
use std::process::Command;

use crate::command::output;

#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    /// The highest glibc version that a symbol requires.
    pub glibc: Option<(u32, u32)>,
    pub libraries: Vec<String>,
}

pub fn of(binary: &Path) -> Result<Needs, String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--version-info", "--dynamic", "--wide"]).arg(binary).env("LC_ALL", "C");
    Ok(read(&output(&mut readelf)?))
}

fn read(text: &str) -> Needs {
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let mut numbers = rest[..end].split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    let libraries = text
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()));
    Needs { glibc: versions.max(), libraries: libraries.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let text = " 0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]
  000:   0 (*local*)       2 (GLIBC_2.9)     3 (GLIBC_2.17)   4 (GLIBC_2.2.5)
  0x0060:   Name: GLIBC_2.17  Flags: none  Version: 3\n";
        let needs = read(text);
        assert_eq!(needs, Needs { glibc: Some((2, 17)), libraries: vec!["libc.so.6".to_owned()] });
        assert_eq!(read("no dynamic section\n").glibc, None);
    }
}
