//! Any stream of a Gemini model: no panic, no split changes its events, a stop is the last one.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::provider::gemini::decode::fuzz_gemini(data));
