//! The page, as the build script had it made from `ui/`.

use std::borrow::Cow;

/// A file of the page.
struct Part {
    name: &'static str,
    bytes: &'static [u8],
}

/// What the page is made of.
static PARTS: &[Part] = &[
    Part {
        name: "index.html",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/index.html")),
    },
    Part { name: "app.js", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/app.js")) },
    Part { name: "app.css", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/app.css")) },
];

/// A part of the page by its name, and what kind of file it is. The empty name is the page itself.
pub fn part(name: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let part = PARTS.iter().find(|part| part.name == name)?;
    let kind = match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "text/css; charset=utf-8",
    };
    Some((newer(name).map_or(Cow::Borrowed(part.bytes), Cow::Owned), kind))
}

/// Who works on the page lets it be read from a folder anew each time: nothing has to be compiled.
#[cfg(debug_assertions)]
fn newer(name: &str) -> Option<Vec<u8>> {
    std::fs::read(std::path::Path::new(&std::env::var_os("BACTRIAN_PAGE")?).join(name)).ok()
}

#[cfg(not(debug_assertions))]
fn newer(_: &str) -> Option<Vec<u8>> {
    None
}

/// The text of a part that is always there.
pub fn text(name: &str) -> String {
    part(name).map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
