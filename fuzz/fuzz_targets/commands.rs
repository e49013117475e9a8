//! Any command lines: a verdict that fits them, and none that wrapping, quoting or joining makes laxer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_commands(data));
