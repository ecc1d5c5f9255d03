//! Lines of a file in an object store, with the position of each.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::error::{DataFusionError, Result};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use sortie_scan::MAX_LINE_BYTES;

use super::files::FileKind;

/// How much is asked for at once, in bytes. The next is on its way while one is read.
const WINDOW: u64 = 8 * 1024 * 1024;
/// How much is asked for behind the end of a part, where its last session goes on.
const TAIL: u64 = 256 * 1024;

/// The bytes of a file from a position on, decompressed. Those behind `middle` are probably not needed.
pub(crate) fn bytes_of(
    store: Arc<dyn ObjectStore>,
    path: Path,
    range: Range<u64>,
    middle: u64,
    kind: FileKind,
) -> Result<BoxStream<'static, Result<Bytes>>> {
    let windows = windows(range, middle).map(move |window| {
        let (store, path) = (Arc::clone(&store), path.clone());
        async move { store.get_range(&path, window).await.map_err(DataFusionError::from) }
    });
    let bytes = futures::stream::iter(windows).buffered(2).boxed();
    match kind {
        FileKind::Gzip => FileCompressionType::GZIP.convert_stream(bytes),
        FileKind::Zstd => FileCompressionType::ZSTD.convert_stream(bytes),
        FileKind::Lines | FileKind::Parquet => Ok(bytes),
    }
}

fn windows(range: Range<u64>, middle: u64) -> impl Iterator<Item = Range<u64>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = if start < middle { (start + WINDOW).min(middle) } else { start + TAIL };
        let window = start..end.min(range.end);
        start = window.end;
        (window.start < window.end).then_some(window)
    })
}

/// Cuts bytes into lines, whatever pieces they come in.
pub(crate) struct LineStream {
    bytes: BoxStream<'static, Result<Bytes>>,
    /// What was read and not handed out.
    piece: Bytes,
    /// The beginning of a line that goes on in the next piece.
    held: Vec<u8>,
    /// Where the next line begins, or what is held.
    at: u64,
    is_over: bool,
}

impl LineStream {
    pub(crate) fn new(bytes: BoxStream<'static, Result<Bytes>>, at: u64) -> Self {
        Self { bytes, piece: Bytes::new(), held: Vec::new(), at, is_over: false }
    }

    /// The next line, with its line break.
    pub(crate) async fn next_line(&mut self) -> Result<Option<Line>> {
        let (at, mut is_whole) = (self.at, true);
        loop {
            if self.piece.is_empty() {
                if self.is_over {
                    return Ok(None);
                }
                match self.bytes.try_next().await? {
                    Some(piece) => self.piece = piece,
                    None => self.is_over = true,
                }
                if self.is_over {
                    if self.at == at && self.held.is_empty() {
                        return Ok(None);
                    }
                    let bytes = Bytes::from(std::mem::take(&mut self.held));
                    return Ok(Some(Line { at, bytes, is_whole }));
                }
                continue;
            }
            let end = memchr::memchr(b'\n', &self.piece).map(|end| end + 1);
            let taken = self.piece.split_to(end.unwrap_or(self.piece.len()));
            self.at += taken.len() as u64;
            is_whole &= self.held.len() + taken.len() <= MAX_LINE_BYTES;
            if end.is_some() && self.held.is_empty() && is_whole {
                return Ok(Some(Line { at, bytes: taken, is_whole }));
            }
            if is_whole {
                self.held.extend_from_slice(&taken);
            } else {
                self.held = Vec::new();
            }
            if end.is_some() {
                let bytes = Bytes::from(std::mem::take(&mut self.held));
                return Ok(Some(Line { at, bytes, is_whole }));
            }
        }
    }
}

/// A line with its line break, where it begins, and whether it is whole: of one that is too long there is nothing.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) at: u64,
    pub(crate) bytes: Bytes,
    pub(crate) is_whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(pieces: &[&'static str]) -> Vec<(u64, String)> {
        let pieces: Vec<Result<Bytes>> =
            pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect();
        let mut stream = LineStream::new(futures::stream::iter(pieces).boxed(), 7);
        let mut lines = Vec::new();
        while let Some(line) = stream.next_line().await.unwrap() {
            assert!(line.is_whole);
            lines.push((line.at, String::from_utf8(line.bytes.to_vec()).unwrap()));
        }
        lines
    }

    #[tokio::test]
    async fn lines_are_the_same_whatever_pieces_they_come_in() {
        let expected: Vec<_> =
            [(7, "one\n"), (11, "\n"), (12, "two")].map(|(at, line)| (at, line.to_owned())).into();
        for pieces in [&["one\n\ntwo"][..], &["o", "n", "e\n", "\n", "", "two"], &["one", "\n\n", "t", "wo"]]
        {
            assert_eq!(lines(pieces).await, expected, "{pieces:?}");
        }
        assert_eq!(lines(&[]).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over() {
        let long = Bytes::from(vec![b'x'; MAX_LINE_BYTES / 2 + 1]);
        let pieces = [long.clone(), long, Bytes::from_static(b"\nnext\n")].map(Ok);
        let mut stream = LineStream::new(futures::stream::iter(pieces).boxed(), 0);
        let first = stream.next_line().await.unwrap().unwrap();
        assert!(!first.is_whole && first.bytes.len() <= 1);
        let next = stream.next_line().await.unwrap().unwrap();
        assert!(next.is_whole && next.bytes == "next\n");
        assert!(stream.next_line().await.unwrap().is_none());
    }

    #[test]
    fn little_is_asked_for_behind_a_part() {
        let all: Vec<_> = windows(5..WINDOW * 2 + TAIL + 1, WINDOW + 10).collect();
        assert_eq!(all[..3], [5..WINDOW + 5, WINDOW + 5..WINDOW + 10, WINDOW + 10..WINDOW + 10 + TAIL]);
        assert_eq!(all.last().unwrap().end, WINDOW * 2 + TAIL + 1);
    }
}
