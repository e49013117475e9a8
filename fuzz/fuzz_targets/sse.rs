//! Any bytes from a provider: the events of a plain reading of the standard, whatever the split,
//! and no more than the limit allows is held.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_sse(data));
