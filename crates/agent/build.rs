//! Links the agent against nothing: what it needs of a libc is looked for where it is loaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in ["-nostdlib", "-nostartfiles", "-Wl,-z,now", "-Wl,--hash-style=gnu"] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
