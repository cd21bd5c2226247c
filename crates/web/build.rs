//! Provides the page for `page.rs` to include, packed: from `ui/dist`, if that was built from the current sources; otherwise it is
//! built from `ui/` with node and npm.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

#[path = "sources.rs"]
mod sources;

use sources::{BUILT_FROM, PARTS, SOURCES};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("page");
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    let built = ui.join("dist");
    println!("cargo:rerun-if-changed=sources.rs");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", ui.join(source).display());
    }
    let is_built = PARTS.iter().all(|part| built.join(part).exists());
    if is_built {
        // For a missing file, cargo would run the build script every time.
        println!("cargo:rerun-if-changed={}", built.display());
    }
    let built_from = fs::read_to_string(built.join(BUILT_FROM)).ok();
    // A package may contain the page without its sources.
    let is_current = sources::digest(&ui).map_or(true, |digest| built_from == Some(digest));
    if is_built && is_current {
        return pack(&built, &out);
    }
    if let Err(reason) = sources::build(&ui, &out) {
        if is_built {
            println!(
                "cargo:warning=the page in ui/dist was built from other sources, and cannot be rebuilt: {reason}"
            );
            return pack(&built, &out);
        }
        eprintln!(
            "\nThe page of `bactrian view` is missing: {} does not contain it, and it cannot be \
             built from {}: {reason}.\nInstall node 18 or later with npm (Debian: nodejs npm), or take \
             sources that contain it.\n",
            built.display(),
            ui.display()
        );
        std::process::exit(1);
    }
    pack(&out, &out);
}

/// Compresses the parts, which makes the program smaller by a quarter of a megabyte.
fn pack(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("OUT_DIR is writable");
    for part in PARTS {
        let bytes = fs::read(from.join(part)).expect("the page is built");
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&bytes).expect("memory is writable");
        let packed = packed.finish().expect("memory is writable");
        fs::write(to.join(format!("{part}.gz")), packed).expect("OUT_DIR is writable");
    }
}
