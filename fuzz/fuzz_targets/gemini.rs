//! Any bytes and any script as an answer of a Gemini model: no panic, one end, every call once,
//! and no split of the stream changes its events.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_gemini(data));
