//! Any text searched in any other: found as the simple model finds it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_matching(data));
