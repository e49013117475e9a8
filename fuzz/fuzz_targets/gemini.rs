//! Any bytes and any script as an answer of a Gemini model: no panic, one end, every call once,
//! and no split of the stream changes its events.

#![no_main]

use interline::provider::gemini::decode::fuzz_gemini;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_gemini(data));
