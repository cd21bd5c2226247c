//! Links the agent against nothing: the libc symbols that it needs are resolved wherever it is loaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in ["-nostdlib", "-nostartfiles", "-Wl,-z,now", "-Wl,--hash-style=gnu"] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
