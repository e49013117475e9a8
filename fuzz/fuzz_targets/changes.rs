//! Any sequence of document notifications: the mirror equals a simple model or says that it is
//! out of sync.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_changes(data));
