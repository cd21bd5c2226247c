//! C representations of texts and names.
#![expect(unsafe_code, reason = "they are pointers with lengths")]

use std::borrow::Cow;
use std::ffi::c_int;
use std::slice;

use bactrian_live::{ObserverKind, Unit};
use bactrian_observe::Name;

/// `struct bactrian_text`: any bytes, usually UTF-8.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    bytes: *const u8,
    length: usize,
}

impl Text {
    /// # Safety
    /// The bytes are valid and do not change while the result is in use.
    pub(crate) unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        if self.bytes.is_null() {
            return &[];
        }
        // SAFETY: the caller's duty, and the pointer is not null.
        unsafe { slice::from_raw_parts(self.bytes, self.length) }
    }

    /// # Safety
    /// As for [`Text::as_bytes`].
    pub(crate) unsafe fn as_text<'a>(self) -> Cow<'a, str> {
        // SAFETY: the caller's duty.
        String::from_utf8_lossy(unsafe { self.as_bytes() })
    }
}

/// `struct bactrian_name`: an observer's name with its labels, unit and period.
#[derive(Debug)]
#[repr(C)]
pub struct Description {
    name: Text,
    labels: *const Text,
    labels_count: usize,
    unit: c_int,
    period: u32,
}

impl Description {
    /// # Safety
    /// All texts in it are valid, and `labels` has as many entries as it says.
    pub(crate) unsafe fn name(&self) -> Name {
        // SAFETY: the caller's duty.
        let named = Name::new(unsafe { self.name.as_text() });
        let labels = if self.labels.is_null() || self.labels_count == 0 {
            &[]
        } else {
            // SAFETY: the caller's duty, and the pointer is not null.
            unsafe { slice::from_raw_parts(self.labels, 2 * self.labels_count) }
        };
        let named = labels.chunks_exact(2).fold(named, |named, label| {
            // SAFETY: the caller's duty.
            let [key, value] = [label[0], label[1]].map(|text| unsafe { text.as_text() });
            named.label(key, value)
        });
        named.unit(unit(self.unit)).period(self.period)
    }
}

/// The unit with this number in the C interface.
pub(crate) fn unit(number: c_int) -> Unit {
    let known = [Unit::None, Unit::Bytes, Unit::Nanos, Unit::Percent];
    usize::try_from(number).ok().and_then(|number| known.get(number).copied()).unwrap_or_default()
}

/// The kind with this number in the C interface.
pub(crate) fn kind(number: c_int) -> Option<ObserverKind> {
    let known = [
        ObserverKind::Point,
        ObserverKind::Time,
        ObserverKind::Int,
        ObserverKind::Float,
        ObserverKind::Bool,
        ObserverKind::Text,
        ObserverKind::Tag,
        ObserverKind::Tree,
        ObserverKind::Table,
        ObserverKind::Counter,
        ObserverKind::Gauge,
    ];
    usize::try_from(number).ok().and_then(|number| known.get(number).copied())
}
