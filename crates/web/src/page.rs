//! The page, which the build script built from `ui/` or copied from a build.

use std::borrow::Cow;

/// A file of the page.
struct Part {
    name: &'static str,
    bytes: &'static [u8],
}

/// All files of the page.
static PARTS: &[Part] = &[
    Part {
        name: "index.html",
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/index.html")),
    },
    Part { name: "app.js", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/app.js")) },
    Part { name: "app.css", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/page/app.css")) },
];

/// A file of the page by name, with its content type. The empty name means the page itself.
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

/// For development: reads the page from a directory on each request, so that nothing needs to be compiled.
#[cfg(debug_assertions)]
fn newer(name: &str) -> Option<Vec<u8>> {
    std::fs::read(std::path::Path::new(&std::env::var_os("BACTRIAN_PAGE")?).join(name)).ok()
}

#[cfg(not(debug_assertions))]
fn newer(_: &str) -> Option<Vec<u8>> {
    None
}

/// The text of a file that always exists.
pub fn text(name: &str) -> String {
    part(name).map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
