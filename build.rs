//! A file that is only added to `prompts/` changes no source file: tell cargo to look there too.

fn main() {
    println!("cargo::rerun-if-changed=prompts");
}
