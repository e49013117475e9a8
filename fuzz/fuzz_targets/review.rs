//! Edits, typing and rejections in any order: nothing is lost, doubled or contradicted.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_review(data));
