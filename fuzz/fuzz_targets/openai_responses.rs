//! Any bytes and any script as an answer in the Responses format: no panic, one end, every call
//! once, and no split of the stream changes its events.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_openai_responses(data));
