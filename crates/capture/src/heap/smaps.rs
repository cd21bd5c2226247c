//! The mappings of a process as the kernel reports them (`/proc/PID/smaps`), and what each is used for.

use std::collections::HashSet;
use std::ops::Range;

use super::process_memory::Holder;
use crate::memory::Region;

/// Stacks of threads are preceded by a guard of at most this many bytes, which cannot be accessed.
const LONGEST_GUARD: u64 = 64 << 10;

/// A mapping of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    pub range: Range<u64>,
    /// Whether it cannot be accessed at all.
    pub is_reserved: bool,
    pub is_writable: bool,
    pub is_executable: bool,
    pub is_shared: bool,
    /// The file's device and inode; None for anonymous memory.
    pub file: Option<(String, u64)>,
    /// The file's path, or the kernel's name for special memory, such as `[heap]`.
    pub name: String,
    /// Bytes in physical memory.
    pub resident: u64,
    /// The same, with shared pages divided by the number of processes that share them.
    pub proportional: u64,
    /// Bytes in swap.
    pub swapped: u64,
}

impl From<&Region> for Mapping {
    fn from(region: &Region) -> Mapping {
        Mapping {
            range: region.range.start..region.range.end.max(region.range.start),
            is_reserved: !(region.readable || region.writable || region.executable),
            is_writable: region.writable,
            is_executable: region.executable,
            is_shared: region.shared,
            file: (region.inode != 0).then(|| (String::new(), region.inode)),
            name: region
                .file
                .as_ref()
                .map(|file| file.to_string_lossy().into_owned())
                .unwrap_or_default(),
            ..Mapping::default()
        }
    }
}

/// The mappings in the text of `smaps`, in order of addresses. Lines that are not understood are skipped.
pub(super) fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = parse_header(line) {
            mappings.push(mapping);
        } else if let (Some(mapping), Some((key, value))) =
            (mappings.last_mut(), line.split_once(':'))
        {
            let field = match key {
                "Rss" => &mut mapping.resident,
                "Pss" => &mut mapping.proportional,
                "Swap" => &mut mapping.swapped,
                _ => continue,
            };
            *field = kilobytes(value).unwrap_or(0);
        }
    }
    mappings
}

/// Parses a line such as `7f1-7f2 rw-p 00000000 fe:00 1234   /usr/bin/cat`.
fn parse_header(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let range = address(start)?..address(end)?;
    let permissions = words.next()?.as_bytes();
    let _offset = words.next()?;
    let (device, inode) = (words.next()?, words.next()?.parse().ok()?);
    let may = |index: usize, letter: u8| permissions.get(index) == Some(&letter);
    Some(Mapping {
        range: Some(range).filter(|range| range.start <= range.end)?,
        is_reserved: !(may(0, b'r') || may(1, b'w') || may(2, b'x')),
        is_writable: may(1, b'w'),
        is_executable: may(2, b'x'),
        is_shared: may(3, b's'),
        file: (inode != 0).then(|| (device.to_owned(), inode)),
        name: words.next().unwrap_or("").trim().to_owned(),
        ..Mapping::default()
    })
}

/// Converts what the kernel writes as `   12 kB` to bytes.
pub(super) fn kilobytes(text: &str) -> Option<u64> {
    text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The length of thread stacks if the limit is unknown.
pub(super) const USUAL_STACK: u64 = 8 << 20;

/// The length of a process's thread stacks, from the text of `/proc/PID/limits`: the C library uses the limit
/// of the main stack, and two megabytes if that is unlimited.
pub(super) fn stack_length(limits: &str) -> u64 {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"));
    match line.and_then(|line| line.split_whitespace().next()) {
        None => USUAL_STACK,
        Some(soft) => soft.parse().unwrap_or(2 << 20),
    }
}

/// What each mapping is used for, as far as can be told without knowing OCaml. Only mappings of at most
/// `stack_length` are taken for thread stacks: the kernel merges a stack with a mapping that follows it
/// directly.
pub(super) fn holders(mappings: &[Mapping], stack_length: u64) -> Vec<Holder> {
    // Programs and libraries are files of which some part is code.
    let objects: HashSet<_> = mappings
        .iter()
        .filter(|mapping| mapping.is_executable)
        .filter_map(|mapping| mapping.file.as_ref())
        .collect();
    let mut holders: Vec<Holder> = Vec::with_capacity(mappings.len());
    for (index, mapping) in mappings.iter().enumerate() {
        let before =
            index.checked_sub(1).and_then(|index| mappings.get(index).zip(holders.get(index)));
        let before = before.filter(|(before, _)| before.range.end == mapping.range.start);
        let name = mapping.name.strip_suffix(" (deleted)").unwrap_or(&mapping.name);
        holders.push(match &mapping.file {
            Some(_) if name.ends_with(".events") && mapping.is_shared => Holder::RuntimeEvents,
            Some(file) if objects.contains(file) => Holder::Objects,
            Some(_) => Holder::Files,
            None if name.starts_with("[stack") => Holder::Stacks,
            None if name.starts_with("[v") => Holder::Kernel,
            None if name == "[heap]" => Holder::CHeap,
            // The part of a program's data that is not in its file (.bss) follows directly.
            None => match before {
                Some((before, Holder::Objects)) if before.is_writable && mapping.is_writable => {
                    Holder::Objects
                }
                Some((guard, _))
                    if is_guard(guard)
                        && mapping.is_writable
                        && mapping.range.end - mapping.range.start <= stack_length =>
                {
                    Holder::Stacks
                }
                _ if mapping.is_shared => Holder::Files,
                _ => Holder::CHeap,
            },
        });
    }
    holders
}

fn is_guard(mapping: &Mapping) -> bool {
    mapping.is_reserved
        && mapping.file.is_none()
        && mapping.range.end - mapping.range.start <= LONGEST_GUARD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_classified_by_their_names_and_neighbours() {
        let text = "\
55a0000-55a1000 r-xp 00000000 fe:00 12   /opt/a program
Rss:                   4 kB
Pss:                   2 kB
55a1000-55a2000 rw-p 00001000 fe:00 12   /opt/a program
55a2000-55a3000 rw-p 00000000 00:00 0
Rss:                   4 kB
55b0000-55c0000 rw-p 00000000 00:00 0    [heap]
Rss:                  12 kB
Swap:                  8 kB
VmFlags: rd wr mr mw me ac sd
7f00000-7f01000 ---p 00000000 00:00 0
7f01000-7f11000 rw-p 00000000 00:00 0
7f20000-7f30000 rw-p 00000000 00:00 0
7f40000-7f41000 rw-s 00000000 fe:00 13   /tmp/12.events (deleted)
7f50000-7f51000 r--p 00000000 fe:00 14   /usr/share/locale
7f60000-7f61000 rw-s 00000000 00:01 15   /dev/zero (deleted)
7ff0000-7ff2000 rw-p 00000000 00:00 0    [stack]
7ff3000-7ff4000 r-xp 00000000 00:00 0    [vdso]
";
        let mappings = parse(text);
        use Holder::*;
        assert_eq!(holders(&mappings, 1 << 15)[5], CHeap);
        assert_eq!(
            holders(&mappings, USUAL_STACK),
            [
                Objects,
                Objects,
                Objects,
                CHeap,
                CHeap,
                Stacks,
                CHeap,
                RuntimeEvents,
                Files,
                Files,
                Stacks,
                Kernel
            ]
        );
        assert_eq!(mappings[0].name, "/opt/a program");
        assert_eq!((mappings[0].resident, mappings[0].proportional), (4096, 2048));
        assert_eq!((mappings[3].resident, mappings[3].swapped), (12 << 10, 8 << 10));
        assert!(mappings[4].is_reserved && mappings[7].is_shared);
    }

    #[test]
    fn stacks_are_as_long_as_the_limit_says() {
        let limits = |soft: &str| {
            format!("Limit      Soft Limit  Units\nMax stack size   {soft}  unlimited  bytes\n")
        };
        assert_eq!(stack_length(&limits("65536")), 65536);
        assert_eq!(stack_length(&limits("unlimited")), 2 << 20);
        assert_eq!(stack_length(""), USUAL_STACK);
    }

    #[test]
    fn invalid_smaps_lines_are_skipped() {
        for text in
            ["", "Rss: 4 kB", "zz-1 rw-p 0 0:0 0", "2-1 rw-p 0 0:0 0 x", "1-2", "1-2 rw-p 0 0:0 z"]
        {
            assert_eq!(parse(text), [], "{text}");
        }
        let odd = parse("1-2 r 0 0:0 7 x\nRss: many kB\nRss: 99999999999999999999 kB\nSwap:");
        assert_eq!((odd.len(), odd[0].resident), (1, 0));
    }
}
