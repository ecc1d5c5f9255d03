//! Leaves the names of functions out of the program that is shipped without them.
//!
//! `strip` in `[profile.release]` does not hold for a package with a profile of its own, and this one has one, since it takes long to
//! optimise. `[profile.dist]` keeps its names: `cargo xtask release` puts them into a file.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("DEBUG", "false") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
