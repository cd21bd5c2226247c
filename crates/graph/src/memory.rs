//! Two hints for the machine. In graphs of a hundred million nodes nearly every step waits for memory; these make
//! the waits shorter, and change nothing else.

/// Zeroes, in huge pages where the system has them: finding a page takes as long as reading it, and there are 512
/// times less of them. Pages that are not touched take no memory, but for the rest of a huge one.
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
        // SAFETY: this advice does not change what memory holds or who may use it, only how the kernel keeps it.
        // The pages are all within memory of our own. That the kernel refuses does not matter.
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
        // SAFETY: fetching ahead reads nothing that could be seen and faults nowhere, and the element exists.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (memory, index);
}
