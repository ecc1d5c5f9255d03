//! A file that is read: as it is, or decompressed, and never more of it than is allowed.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::str::FromStr;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::format::{Head, ImportError};
use crate::parquet::{MAGIC, ParquetError, ParquetRows, TraceRows};

/// How much is read, and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// The longest line, in bytes.
    pub line: usize,
    /// A file that is held as a whole, since its format has to be: JSON that is not JSON Lines, an archive.
    pub whole: usize,
    /// What is read of one file in all, decompressed. Files that are not compressed have the size they have.
    pub file: u64,
    /// What the messages of one session take.
    pub session: usize,
    /// What the sessions of a file take together that are not yet complete.
    pub sessions: usize,
}

impl Default for InputLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self { line: 32 * MIB, whole: 64 * MIB, file: 16 << 30, session: 48 * MIB, sessions: 48 * MIB }
    }
}

/// An MCP server of the agent, as somebody declares it who knows what a recording does not say.
///
/// ```
/// use sortie_recording::input::DeclaredServer;
///
/// let server: DeclaredServer = "mail=read_mail,send_mail".parse().unwrap();
/// assert_eq!((server.name.as_str(), server.tools.len()), ("mail", 2));
/// assert!("mail".parse::<DeclaredServer>().unwrap().tools.is_empty());
/// assert!("=read_mail".parse::<DeclaredServer>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredServer {
    /// Its name, as the agent's configuration has it; `local` for the functions of the program itself.
    pub name: String,
    /// Its tools, for formats that do not say that a tool is of a server.
    pub tools: Vec<String>,
}

impl DeclaredServer {
    /// A server whose tools have its name before theirs in a recording.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), tools: Vec::new() }
    }
}

/// A text that declares no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write `NAME`, or `NAME=TOOL,TOOL`")]
pub struct DeclarationError;

impl FromStr for DeclaredServer {
    type Err = DeclarationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, tools) = text.split_once('=').unwrap_or((text, ""));
        let tools: Vec<String> = tools.split(',').map(str::trim).map(ToOwned::to_owned).collect();
        let has_tools = text.contains('=');
        if name.is_empty() || (has_tools && tools.iter().any(String::is_empty)) {
            return Err(DeclarationError);
        }
        Ok(Self { name: name.to_owned(), tools: if has_tools { tools } else { Vec::new() } })
    }
}

/// How much of a file is looked at to recognize its format.
const HEAD: usize = 64 * 1024;

/// A file that is read.
pub struct Input<'i> {
    /// What it is called in messages and evidence.
    pub name: &'i str,
    /// Where it is, for formats that have something beside it.
    pub path: Option<&'i Path>,
    /// Bounds.
    pub limits: InputLimits,
    /// The MCP servers of the agent, for formats that do not say whose a tool is.
    pub servers: &'i [DeclaredServer],
    reader: Box<dyn BufRead + 'i>,
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<'i> Input<'i> {
    /// A file. `name` is what it is called.
    pub fn file(path: &'i Path, name: &'i str, limits: InputLimits) -> Result<Self, ImportError> {
        let file = File::open(path).map_err(|source| ImportError::Io { file: name.to_owned(), source })?;
        let input = Self::stream(BufReader::with_capacity(256 * 1024, file), name, limits)?;
        Ok(Self { path: Some(path), ..input })
    }

    /// Whatever a stream gives: compressed or not.
    pub fn stream(
        mut raw: impl BufRead + 'i,
        name: &'i str,
        limits: InputLimits,
    ) -> Result<Self, ImportError> {
        let of = |source| ImportError::Io { file: name.to_owned(), source };
        let magic = raw.fill_buf().map_err(of)?;
        let reader: Box<dyn BufRead> = if magic.starts_with(&[0x1f, 0x8b]) {
            Box::new(bounded(MultiGzDecoder::new(raw), limits.file))
        } else if magic.starts_with(&ZSTD) {
            Box::new(bounded(Frames::new(raw), limits.file))
        } else {
            Box::new(raw)
        };
        Ok(Self { name, path: None, limits, servers: &[], reader })
    }

    /// Names the MCP servers of the agent. Some formats write `SERVER_TOOL` and nothing else, others the tool alone: without the names,
    /// and without the tools, such a call is one of a function of the program's own.
    #[must_use]
    pub fn with_servers(mut self, servers: &'i [DeclaredServer]) -> Self {
        self.servers = servers;
        self
    }

    /// Its beginning, without reading past it: what its format is recognized by.
    pub fn head(&mut self) -> Result<Vec<u8>, ImportError> {
        let mut head = Vec::new();
        let read = self.reader.by_ref().take(HEAD as u64).read_to_end(&mut head);
        read.map_err(|source| self.io(source))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(head.clone()).chain(rest));
        Ok(head)
    }

    /// Looks at a head as what it is called.
    pub fn as_head<'h>(&'h self, bytes: &'h [u8]) -> Head<'h> {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        Head { name, bytes }
    }

    /// What it holds, decompressed.
    pub fn into_reader(self) -> Box<dyn BufRead + 'i> {
        self.reader
    }

    /// Its lines.
    pub fn lines(self) -> InputLines<'i> {
        InputLines { input: self, line: Vec::new(), number: 0, cut: false }
    }

    /// The whole of it, when it is not too large.
    pub fn whole(mut self) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(self.limits.whole as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|source| self.io(source))?;
        if bytes.len() > self.limits.whole {
            return Err(
                self.too_large("it has to be read as a whole, and is too large for that", self.limits.whole)
            );
        }
        Ok(bytes)
    }

    /// The whole of it as text.
    pub fn whole_text(self) -> Result<String, ImportError> {
        let name = self.name.to_owned();
        let text = String::from_utf8(self.whole()?);
        let mut text = text.map_err(|_| ImportError::Invalid {
            file: name,
            line: 0,
            message: "it is not UTF-8".into(),
        })?;
        if text.starts_with(BOM) {
            text.drain(..BOM.len_utf8());
        }
        Ok(text)
    }

    /// The rows of a Parquet file. One that is on disk as it is, is not held as a whole.
    pub fn rows(self) -> Result<ParquetRows<SeekableInput>, ImportError> {
        let (name, limits) = (self.name, self.limits);
        ParquetRows::open(self.seekable()?, limits).map_err(|error| error.of(name))
    }

    /// The lines of traces in a Parquet file; `None` where it has other columns.
    pub fn trace_rows(self) -> Result<Option<TraceRows<SeekableInput>>, ImportError> {
        let (name, limits) = (self.name, self.limits);
        TraceRows::open(self.seekable()?, limits).map_err(|error| error.of(name))
    }

    fn seekable(self) -> Result<SeekableInput, ImportError> {
        let io = |source| ImportError::Io { file: self.name.to_owned(), source };
        let mut on_disk = self.path.map(File::open).transpose().map_err(io)?;
        if let Some(file) = &mut on_disk {
            let mut magic = [0; MAGIC.len()];
            let is_plain = file.read_exact(&mut magic).is_ok() && magic == *MAGIC;
            on_disk = on_disk.filter(|_| is_plain);
        }
        Ok(match on_disk {
            Some(file) => SeekableInput::File(file),
            None => SeekableInput::Whole(Cursor::new(self.whole()?)),
        })
    }

    fn io(&self, source: io::Error) -> ImportError {
        ImportError::Io { file: self.name.to_owned(), source }
    }

    fn too_large(&self, what: &str, limit: usize) -> ImportError {
        ImportError::TooLarge { file: self.name.to_owned(), what: what.to_owned(), limit: limit as u64 }
    }
}

const BOM: char = '\u{feff}';
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file that can be read at any place.
#[derive(Debug)]
pub enum SeekableInput {
    /// On disk.
    File(File),
    /// In memory.
    Whole(Cursor<Vec<u8>>),
}

impl Read for SeekableInput {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(room),
            Self::Whole(bytes) => bytes.read(room),
        }
    }
}

impl Seek for SeekableInput {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(place),
            Self::Whole(bytes) => bytes.seek(place),
        }
    }
}

impl ParquetError {
    /// The same of a file with this name.
    pub fn of(self, file: &str) -> ImportError {
        let file = file.to_owned();
        match self {
            Self::Io(source) => ImportError::Io { file, source },
            Self::TooLarge { what, limit } => ImportError::TooLarge { file, what: what.to_owned(), limit },
            other => ImportError::Invalid { file, line: 0, message: other.to_string() },
        }
    }
}

/// The lines of a file. A line that is not text, or too long, is an error.
#[derive(Debug)]
pub struct InputLines<'i> {
    input: Input<'i>,
    line: Vec<u8>,
    number: u64,
    cut: bool,
}

impl<'i> InputLines<'i> {
    /// The next line that is not blank, with its number, from one.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, ImportError> {
        loop {
            self.line.clear();
            let limit = self.input.limits.line;
            let read = self.input.reader.by_ref().take(limit as u64 + 1).read_until(b'\n', &mut self.line);
            if read.map_err(|source| self.input.io(source))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.cut = self.line.last() != Some(&b'\n');
            if self.line.len() > limit {
                let what = format!("line {} is too long", self.number);
                return Err(self.input.too_large(&what, limit));
            }
            if self.number == 1 && self.line.starts_with("\u{feff}".as_bytes()) {
                self.line.drain(..BOM.len_utf8());
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(self.line.trim_ascii()) {
            Ok(line) => Ok(Some((self.number, line))),
            Err(_) => Err(self.invalid("it is not UTF-8")),
        }
    }

    /// Whether the last line has no line break: whoever wrote it may have been at it.
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// What the file is called.
    pub fn name(&self) -> &'i str {
        self.input.name
    }

    /// Bounds.
    pub fn limits(&self) -> InputLimits {
        self.input.limits
    }

    /// The file as a place on disk.
    pub fn path(&self) -> Option<&'i Path> {
        self.input.path
    }

    /// Says that the last line is wrong.
    pub fn invalid(&self, message: impl Into<String>) -> ImportError {
        ImportError::Invalid { file: self.input.name.to_owned(), line: self.number, message: message.into() }
    }
}

/// What is decompressed, up to a bound, beyond which reading fails: a small file can stand for an endless one.
fn bounded(reader: impl Read, limit: u64) -> BufReader<Bounded<impl Read>> {
    BufReader::with_capacity(256 * 1024, Bounded { reader, left: limit })
}

struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(room)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "decompressed, it is larger than is read of one file")
        })?;
        Ok(read)
    }
}

/// The frames of a zstd file, one after the other, as its own tool reads them.
pub struct Frames<R: BufRead> {
    raw: Option<R>,
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Frames<R> {
    /// The frames of this stream.
    pub fn new(raw: R) -> Self {
        Self { raw: Some(raw), frame: None }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: &dyn fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidData, format!("it is damaged: {error}"))
        };
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(room) {
                    Ok(0) => self.raw = self.frame.take().map(StreamingDecoder::into_inner),
                    read => return read,
                }
            }
            let Some(mut raw) = self.raw.take() else { return Ok(0) };
            if room.is_empty() || raw.fill_buf()?.is_empty() {
                self.raw = Some(raw);
                return Ok(0);
            }
            self.frame = Some(StreamingDecoder::new(raw).map_err(|error| damaged(&error))?);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(bytes: &[u8], limits: InputLimits) -> Result<Vec<(u64, String)>, ImportError> {
        let mut lines = Input::stream(bytes, "x.jsonl", limits)?.lines();
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next_line()? {
            all.push((number, line.to_owned()));
        }
        Ok(all)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn lines_are_the_same_however_a_file_is_compressed() {
        let text = "\u{feff}{\"a\":1}\r\n\n  \n{\"b\":2}".as_bytes();
        let expected = vec![(1, "{\"a\":1}".to_owned()), (4, "{\"b\":2}".to_owned())];
        let twice = [zstd(&text[..8]), zstd(&text[8..])].concat();
        let members = [gzip(&text[..8]), gzip(&text[8..])].concat();
        for bytes in [text.to_vec(), gzip(text), zstd(text), twice, members] {
            assert_eq!(lines(&bytes, InputLimits::default()).unwrap(), expected);
        }
    }

    #[test]
    fn the_head_is_read_twice() {
        let packed = zstd(b"{\"a\":1}\n{\"b\":2}\n");
        let mut input = Input::stream(packed.as_slice(), "dir/x.jsonl.zst", InputLimits::default()).unwrap();
        let head = input.head().unwrap();
        assert_eq!(input.as_head(&head).name, "x.jsonl");
        assert_eq!(input.as_head(&head).lines().count(), 2);
        assert_eq!(input.whole_text().unwrap(), "{\"a\":1}\n{\"b\":2}\n");
    }

    #[test]
    fn nothing_is_read_without_end() {
        let limits = InputLimits { line: 1000, whole: 5000, file: 100_000, ..InputLimits::default() };
        let long = "x".repeat(1001);
        assert!(lines(long.as_bytes(), limits).unwrap_err().to_string().contains("too long"));
        let many = "xxxxxxxxx\n".repeat(20_000);
        for packed in [gzip(many.as_bytes()), zstd(many.as_bytes())] {
            assert!(packed.len() < 10_000);
            assert!(lines(&packed, limits).unwrap_err().to_string().contains("larger than is read"));
        }
        let whole = Input::stream(many.as_bytes(), "x", limits).unwrap().whole();
        assert!(whole.unwrap_err().to_string().contains("as a whole"));
    }

    #[test]
    fn damaged_files_are_errors() {
        for bytes in [&gzip(b"hello, hello, hello")[..20], &zstd(b"hello, hello, hello")[..10], b"\xff\xfe\n"]
        {
            assert!(lines(bytes, InputLimits::default()).is_err(), "{bytes:?}");
        }
    }
}
