//! Any patch: read as it is written, and applied as the simple model applies it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_patches(data));
