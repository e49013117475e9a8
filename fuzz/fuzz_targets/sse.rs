//! Any bytes from a provider: no panic, and no split of the stream changes its events.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::provider::sse::fuzz_sse(data));
