//! Any bytes on stdin: no panic, and no split of the input changes the frames.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interline::fuzz::fuzz_frames(data));
