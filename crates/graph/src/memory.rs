//! Two hints for the machine. In graphs of a hundred million nodes nearly every step waits for memory; these
//! hints shorten the waits and change nothing else.

/// Zeroes, in huge pages if the system has them: a page-table lookup takes as long as a read, and huge pages
/// need 512 times fewer. Untouched pages take no memory, except for the rest of a huge page that is touched.
pub(crate) fn zeroes<T: bytemuck::Zeroable + Clone>(count: usize) -> Vec<T> {
    let zeroes = vec![T::zeroed(); count];
    advise_huge_pages(&zeroes);
    zeroes
}

#[expect(unsafe_code, reason = "the standard library has no way to advise on memory")]
fn advise_huge_pages<T>(memory: &[T]) {
    const PAGE: usize = 4096;
    let start = (memory.as_ptr() as usize).next_multiple_of(PAGE);
    let end = (memory.as_ptr() as usize + size_of_val(memory)) / PAGE * PAGE;
    if start < end {
        // SAFETY: this advice does not change what memory holds or who may use it, only how the kernel keeps
        // it. All pages are within our own allocation. It does not matter if the kernel refuses.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

/// Tells the processor that an element will be needed soon.
#[inline(always)]
#[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
pub(crate) fn prefetch<T>(memory: &[T], index: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = memory.get(index as usize) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect and never faults, and the element exists.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (memory, index);
}
