//! Hunks moved through any changes: they remove the same text at the same place, or are refused.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_rebase(data));
