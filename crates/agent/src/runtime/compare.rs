//! Comparing words of a stack with a copy of them, in the widest registers that the processor has.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv, CpuidResult};

const CACHE_LINE: usize = 64;

/// The index of the first difference between two slices, not before `start`.
#[inline]
pub fn first_difference(
    left: &[usize],
    right: &[usize],
    start: usize,
    registers: Registers,
) -> Option<usize> {
    /// # Safety
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    unsafe fn with_avx2(left: &[usize], right: &[usize]) -> Option<usize> {
        difference(left, right)
    }
    /// # Safety
    /// The processor has AVX-512.
    #[target_feature(enable = "avx512f")]
    unsafe fn with_avx512(left: &[usize], right: &[usize]) -> Option<usize> {
        difference(left, right)
    }
    let (left, right) = (left.get(start..)?, right.get(start..)?);
    let found = match registers {
        Registers::Sse2 => difference(left, right),
        // SAFETY: `Registers::widest` has checked.
        Registers::Avx2 => unsafe { with_avx2(left, right) },
        // SAFETY: likewise.
        Registers::Avx512 => unsafe { with_avx512(left, right) },
    };
    found.map(|at| start + at)
}

#[inline(always)]
fn difference(left: &[usize], right: &[usize]) -> Option<usize> {
    // A register that is loaded from two cache lines takes twice as long. Both slices begin at the same place in a
    // line.
    let line = left.as_ptr().align_offset(CACHE_LINE).min(left.len());
    let mut at = equal_chunks::<1>(left.get(..line)?, right.get(..line)?);
    if at == line {
        // First as many words at a time as fit into registers, then fewer.
        at += equal_chunks::<64>(left.get(at..)?, right.get(at..)?);
        at += equal_chunks::<8>(left.get(at..)?, right.get(at..)?);
    }
    let mut rest = left.get(at..)?.iter().zip(right.get(at..)?);
    Some(at + rest.position(|(left, right)| left != right)?)
}

/// How many words at the beginning of both are equal, a multiple of `CHUNK`.
#[inline(always)]
fn equal_chunks<const CHUNK: usize>(left: &[usize], right: &[usize]) -> usize {
    let mut at = 0;
    let chunks = left.as_chunks::<CHUNK>().0.iter().zip(right.as_chunks::<CHUNK>().0);
    for (left, right) in chunks {
        let differences =
            left.iter().zip(right).fold(0, |bits, (left, right)| bits | (left ^ right));
        if differences != 0 {
            break;
        }
        at += CHUNK;
    }
    at
}

/// The registers in which words are compared.
#[derive(Clone, Copy)]
pub enum Registers {
    /// Of 16 bytes, which all processors have.
    Sse2,
    /// Of 32 bytes.
    Avx2,
    /// Of 64 bytes.
    Avx512,
}

impl Registers {
    /// The widest that the processor has and the system lets programs use.
    pub fn widest() -> Registers {
        const XSAVE_AND_AVX: u32 = 1 << 27 | 1 << 28;
        const AVX2: u32 = 1 << 5;
        const AVX512F: u32 = 1 << 16;
        /// What the system saves: registers of 16, of 32 and of 64 bytes (with their masks).
        const STATE_16_32: u64 = 0b110;
        const STATE_64: u64 = 0b111_0000;
        /// # Safety
        /// The system uses XSAVE.
        #[target_feature(enable = "xsave")]
        unsafe fn state() -> u64 {
            // SAFETY: by the caller.
            unsafe { _xgetbv(0) }
        }
        let has = |leaf, register: fn(CpuidResult) -> u32, bits| {
            __cpuid(0).eax >= leaf && register(__cpuid_count(leaf, 0)) & bits == bits
        };
        if !has(1, |found| found.ecx, XSAVE_AND_AVX) {
            return Registers::Sse2;
        }
        // SAFETY: the system uses XSAVE, as checked above.
        let state = unsafe { state() };
        let saves = |bits| state & bits == bits;
        if has(7, |found| found.ebx, AVX512F) && saves(STATE_16_32 | STATE_64) {
            Registers::Avx512
        } else if has(7, |found| found.ebx, AVX2) && saves(STATE_16_32) {
            Registers::Avx2
        } else {
            Registers::Sse2
        }
    }
}
