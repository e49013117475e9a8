//! A session's log with any damage: every record that is whole is read, a torn or changed one
//! costs itself, and what is added afterwards is read too.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_log(data));
