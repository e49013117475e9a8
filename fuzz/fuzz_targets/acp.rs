//! Lines of any bytes at the ACP door: no panic, and no block of a prompt is lost.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_messages(data));
