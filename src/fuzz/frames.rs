//! Any bytes as input of the frame reader.

use crate::rpc::decode::decode;
use crate::rpc::frame::{FrameError, FrameReader, Framing};

/// Reads `data` in every framing: no input panics, and no split of the input changes the frames.
///
/// # Panics
/// When the split changes the frames.
pub fn fuzz_frames(data: &[u8]) {
    for framing in [Framing::Detect, Framing::Headers, Framing::Lines] {
        let whole = read_all(framing, [data]);
        let size = 1 + data.first().map_or(0, |byte| usize::from(*byte) % 17);
        let pieces = read_all(framing, data.chunks(size));
        assert!(whole == pieces, "the split changed the frames");
        for body in whole.into_iter().flatten() {
            decode(body);
        }
    }
}

/// The frames of an input that arrives in these pieces.
pub fn read_all<'a>(
    framing: Framing,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<Vec<u8>, FrameError>> {
    let mut reader = FrameReader::new(framing);
    for piece in pieces {
        reader.push(piece);
    }
    reader.finish();
    std::iter::from_fn(|| reader.pop()).collect()
}
