//! The body of the target `frames`, without libFuzzer: `crates/wire/tests/it/fuzz_corpus.rs` includes this file.

use bytes::Bytes;
use sortie_wire::Limits;
use sortie_wire::mcp::relay::{FrameBoundary, FrameCutter, FramePiece, event_data, replace_data};

/// What stands in the place of a message.
const CHANGED: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// Any stream that a relay passes on is cut into messages without losing a byte of it; and in a block of events only the message
/// changes.
///
/// The first byte says in which pieces the stream comes, the second how long a message may be.
pub fn frames(data: &[u8]) {
    let [step, limit, stream @ ..] = data else { return };
    let (step, most) = (usize::from(*step).max(1), usize::from(*limit).max(1));
    let limits = Limits { message_bytes: most, ..Limits::default() };
    for boundary in [FrameBoundary::Line, FrameBoundary::Block] {
        let pieces = cut(boundary, stream, step, &limits);
        let joined: Vec<u8> = pieces.iter().flat_map(|piece| bytes(piece).to_vec()).collect();
        assert_eq!(joined, stream, "{boundary:?}: a byte is lost");
        check_lengths(&pieces, most);
    }
    let lines = |step| whole(&cut(FrameBoundary::Line, stream, step, &limits));
    assert_eq!(lines(step), lines(stream.len().max(1)), "lines depend on the pieces");
    for block in whole(&cut(FrameBoundary::Block, stream, step, &limits)) {
        check_replacement(&block);
    }
}

fn cut(boundary: FrameBoundary, stream: &[u8], step: usize, limits: &Limits) -> Vec<FramePiece> {
    let mut cutter = FrameCutter::new(boundary, limits);
    let mut pieces = Vec::new();
    for chunk in stream.chunks(step) {
        cutter.push(chunk);
        pieces.extend(std::iter::from_fn(|| cutter.next_piece()));
    }
    pieces.extend(cutter.finish());
    pieces
}

/// No message is longer than it may be, and whatever is passed on in parts has an end before the next message.
fn check_lengths(pieces: &[FramePiece], most: usize) {
    let mut is_open = false;
    for piece in pieces {
        match piece {
            FramePiece::Whole(bytes) => {
                assert!(!is_open && !bytes.is_empty() && bytes.len() <= most, "{pieces:?}");
            }
            FramePiece::Part { last, .. } => is_open = !last,
        }
    }
    assert!(!is_open, "{pieces:?}");
}

/// A message that is replaced is the new one, and one that is taken out is none.
fn check_replacement(block: &Bytes) {
    let limits = Limits::default();
    if event_data(block, &limits).is_empty() {
        return;
    }
    assert_eq!(event_data(&replace_data(block, Some(CHANGED)), &limits), CHANGED, "{block:?}");
    assert!(event_data(&replace_data(block, None), &limits).is_empty(), "{block:?}");
}

fn whole(pieces: &[FramePiece]) -> Vec<Bytes> {
    let whole = pieces.iter().filter(|piece| matches!(piece, FramePiece::Whole(_)));
    whole.map(|piece| bytes(piece).clone()).collect()
}

fn bytes(piece: &FramePiece) -> &Bytes {
    match piece {
        FramePiece::Whole(bytes) | FramePiece::Part { bytes, .. } => bytes,
    }
}
