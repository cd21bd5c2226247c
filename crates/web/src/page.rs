//! The page, which the build script built from `ui/` or copied from a build.

use std::borrow::Cow;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

/// A file of the page.
struct Part {
    name: &'static str,
    bytes: LazyLock<Vec<u8>>,
}

/// A part that the build script packed.
macro_rules! packed {
    ($name:literal) => {
        Part {
            name: $name,
            bytes: LazyLock::new(|| {
                unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/page/", $name, ".gz")))
            }),
        }
    };
}

/// All files of the page.
static PARTS: [Part; 3] = [packed!("index.html"), packed!("app.js"), packed!("app.css")];

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("packed when this was built");
    bytes
}

/// A file of the page by name, with its content type. The empty name means the page itself.
pub fn part(name: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let part = PARTS.iter().find(|part| part.name == name)?;
    let kind = match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "text/css; charset=utf-8",
    };
    Some((newer(name).map_or(Cow::Borrowed(&part.bytes[..]), Cow::Owned), kind))
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
