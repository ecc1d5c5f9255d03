//! Files that want to hurt: in every format there is, what is deep, huge, cut, in another encoding or without end gives an error
//! or a session, in bounded time and memory. Tests run on threads with a small stack: what recurses as deep as a file likes
//! ends them all.

use std::io::{BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use sortie_import::{Format, Formats, ImportError, Input, InputLimits};

use crate::recordings;

/// Builds without optimization are slow: they try less, and smaller.
const IS_SLOW: bool = cfg!(debug_assertions);

/// Sessions and messages, and how reading ended.
#[derive(Debug)]
struct Reading {
    sessions: u64,
    messages: usize,
    end: Result<(), ImportError>,
}

fn read_stream(format: &Format, name: &str, bytes: impl BufRead, limits: InputLimits) -> Reading {
    let mut reading = Reading { sessions: 0, messages: 0, end: Ok(()) };
    reading.end = Input::stream(bytes, name, limits).and_then(|mut input| {
        let head = input.head()?;
        let _ = Formats::recognize(&input.as_head(&head));
        format.read(input, &mut |session| {
            reading.sessions += 1;
            reading.messages += session.messages().len();
            let size: usize = session.messages().iter().map(|message| message.content.text().len()).sum();
            assert!(size <= limits.session, "{size} bytes of messages");
            // What it is called and says of itself ends in the header of a trace.
            let header = serde_json::to_string(&session.header("test")).unwrap();
            assert!(header.len() < 4 << 20, "a header of {} bytes", header.len());
            Ok(())
        })
    });
    if let Err(error) = &reading.end {
        // For people: one line or a few, whatever the file says.
        assert!(error.to_string().len() < 2000, "an error of {} bytes", error.to_string().len());
    }
    reading
}

fn read(format: &Format, name: &str, bytes: &[u8]) -> Reading {
    read_stream(format, name, bytes, InputLimits::default())
}

/// The recordings that are text, short enough to be damaged many times.
fn texts() -> Vec<(&'static Format, String, String)> {
    let texts = recordings().into_iter().filter_map(|(format, file)| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        Some((format, name, std::fs::read_to_string(file).ok()?))
    });
    texts.collect()
}

/// A recording with another value in place of some of its values, some at a time.
fn with_value(text: &str, value: &str, most: usize) -> Vec<String> {
    let colons: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
    let step = (colons.len() / most).max(1);
    let replaced = colons.into_iter().step_by(step).filter_map(|start| {
        let mut values =
            serde_json::Deserializer::from_str(&text[start..]).into_iter::<serde::de::IgnoredAny>();
        values.next()?.ok()?;
        let end = start + values.byte_offset();
        Some([&text[..start], value, &text[end..]].concat())
    });
    replaced.collect()
}

/// How much memory this process had at most, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}

#[test]
fn deep_values_anywhere_overflow_nothing() {
    let deep = [format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), "{\"a\":".repeat(100_000)];
    let closed = format!("{}1{}", deep[1], "}".repeat(100_000));
    for (format, name, text) in texts() {
        for deep in [&deep[0], &closed] {
            for text in with_value(&text, deep, if IS_SLOW { 2 } else { 40 }) {
                read(format, &name, text.as_bytes());
            }
        }
    }
    for format in Formats::all() {
        for bytes in [&deep[0], &deep[1], &closed, &"[".repeat(1_000_000)] {
            read(format, "deep.json", bytes.as_bytes());
        }
    }
}

#[test]
fn odd_values_anywhere_are_read_or_refused() {
    let long = format!("\"{}\"", "x".repeat(1 << 20));
    let digits = "9".repeat(5000);
    let values = [
        "null",
        "[]",
        "{}",
        "\"\"",
        "true",
        "-0.0",
        "1e999999",
        &digits,
        "\"\\ud800\"",
        "\"\\u0000\"",
        "[[[]]]",
        "[0,1,{}]",
        "{\"\":null}",
        "18446744073709551616",
        "-1",
        "\"attachment://0\"",
        "[[0,18446744073709551615]]",
        "[null]",
    ];
    for (format, name, text) in texts() {
        for value in values {
            for text in with_value(&text, value, if IS_SLOW { 6 } else { 200 }) {
                read(format, &name, text.as_bytes());
            }
        }
        // Ids, names, contents of a megabyte.
        for text in with_value(&text, &long, if IS_SLOW { 4 } else { 40 }) {
            read(format, &name, text.as_bytes());
        }
        // Members that are there twice.
        for (member, at) in
            ["\"id\":\"a\",\"id\":7,", "\"role\":\"user\",\"role\":[],"].into_iter().zip([3, 5])
        {
            let starts: Vec<usize> = text.match_indices("{\"").map(|(at, _)| at + 1).collect();
            let step = if IS_SLOW { at * 10 } else { at };
            for start in starts.into_iter().step_by(step) {
                let text = [&text[..start], member, &text[start..]].concat();
                read(format, &name, text.as_bytes());
            }
        }
    }
}

#[test]
fn recordings_that_are_cut_are_errors_or_say_so() {
    for (format, file) in recordings() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).unwrap();
        // Every 97th byte; of long ones as many as there is time for.
        let step = 97 * (bytes.len() / if IS_SLOW { 5000 } else { 100_000 }).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let reading = read(format, &name, &bytes[..end]);
            assert!(
                reading.sessions > 0 || reading.end.is_err(),
                "{name}, {end} bytes: nothing was read, silently"
            );
        }
    }
}

#[test]
fn other_encodings_are_errors_or_counted() {
    for (format, name, text) in texts() {
        let utf16: Vec<u8> =
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let latin: Vec<u8> =
            text.bytes().flat_map(|byte| if byte == b'a' { vec![0xe4] } else { vec![byte] }).collect();
        let zeros: Vec<u8> =
            text.bytes().flat_map(|byte| if byte == b' ' { vec![0, b' '] } else { vec![byte] }).collect();
        for bytes in [utf16, big, latin] {
            let reading = read(format, &name, &bytes);
            assert!(reading.end.is_err(), "{name}: {reading:?}");
        }
        read(format, &name, &zeros);
        read(format, &name, &[text.as_bytes(), &[0; 4096]].concat());
        // A byte order mark is one.
        let marked = read(format, &name, format!("\u{feff}{text}").as_bytes());
        assert!(marked.sessions > 0 || name.contains(".stdout."), "{name}: {marked:?}");
    }
    for format in Formats::all() {
        for bytes in [
            &b""[..],
            b"\0\0\0\0",
            b"\xff\xfe",
            b"\n\n\n",
            b"{}",
            b"[]",
            b"null",
            b"PK\x03\x04",
            b"PK\x05\x06\0\0",
        ] {
            let reading = read(format, "x", bytes);
            assert!(
                reading.end.is_err() || reading.sessions > 0,
                "`{}`: {bytes:?}: {reading:?}",
                format.name
            );
        }
    }
}

/// Gives the same bytes for ever.
struct Endless {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let read = (&self.bytes[self.at..]).read(room)?;
        self.at = (self.at + read) % self.bytes.len();
        Ok(read)
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn endless_files_end() {
    let limits = InputLimits { file: if IS_SLOW { 4 << 20 } else { 64 << 20 }, ..InputLimits::default() };
    let line = [b"{\"a\":\"".as_slice(), &[b'x'; 5000], b"\"}\n"].concat();
    let spaces = b"\n".repeat(1 << 16);
    let member = b"\"xxxxxxxxxxxxxxxxxxxxxxxx\":\"\",".repeat(1000);
    for format in Formats::all() {
        for packed in [gzip(&line), zstd(&line), gzip(&spaces), zstd(&spaces), gzip(&member), zstd(&member)] {
            let endless = BufReader::new(Endless { bytes: packed, at: 0 });
            let reading = read_stream(format, "endless.jsonl", endless, limits);
            assert!(reading.end.is_err(), "`{}`: {reading:?}", format.name);
        }
    }
    assert!(peak() < 1500, "{} MiB", peak());
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused() {
    let mut limits = InputLimits::default();
    if IS_SLOW {
        limits = InputLimits { line: 2 << 20, whole: 4 << 20, ..limits };
    }
    for format in Formats::all() {
        for begin in
            ["", "{\"messages\":[{\"role\":\"user\",\"content\":\"", "[", "> {\"jsonrpc\":\"2.0\",\"id\":\""]
        {
            let line = begin.as_bytes().chain(std::io::repeat(b'x').take(100 << 20));
            let reading = read_stream(format, "long.jsonl", BufReader::new(line), limits);
            assert!(reading.end.is_err(), "`{}`: {reading:?}", format.name);
        }
    }
}

#[test]
fn a_list_of_a_million_things_takes_the_memory_of_its_bytes() {
    let many = if IS_SLOW { 4000 } else { 1_000_000 };
    for format in Formats::all() {
        for (begin, item, end) in [
            ("{\"version\":2,\"status\":\"success\",\"eval\":{},\"samples\":[", "{},", "{}]}"),
            ("", "[]\n", "[]\n"),
            ("", "{\"messages\":[]}\n", ""),
            ("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", ""),
            ("{\"suite_name\":\"\",\"messages\":[", "0,", "0]}"),
            ("[", "0,", "0]"),
            ("{", "\"\":0,", "\"\":0}"),
        ] {
            let bytes = [begin.as_bytes(), &item.as_bytes().repeat(many), end.as_bytes()].concat();
            read(format, "many.json", &bytes);
        }
    }
    assert!(peak() < 1500, "{} MiB", peak());
}

/// An entry of an archive, as it claims to be.
struct Entry<'e> {
    name: &'e str,
    method: u16,
    packed: Vec<u8>,
    size: u64,
    crc: u32,
}

fn entry<'e>(name: &'e str, method: u16, bytes: &[u8]) -> Entry<'e> {
    let packed = match method {
        8 => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        93 => {
            // Two frames, as a writer that flushes gives them.
            let (one, two) = bytes.split_at(bytes.len() / 2);
            [zstd(one), zstd(two)].concat()
        }
        _ => bytes.to_vec(),
    };
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    Entry { name, method, packed, size: bytes.len() as u64, crc: crc.sum() }
}

/// An archive of entries. With `same`, all are where the first is.
fn archive(entries: &[Entry<'_>], same: bool) -> Vec<u8> {
    let (mut all, mut directory) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let offset = if same { 0 } else { u32::try_from(all.len()).unwrap() };
        let name = u16::try_from(entry.name.len()).unwrap().to_le_bytes();
        let [packed, size] =
            [entry.packed.len() as u64, entry.size].map(|size| u32::try_from(size).unwrap().to_le_bytes());
        let common = [
            &20u16.to_le_bytes()[..],
            &0u16.to_le_bytes(),
            &entry.method.to_le_bytes(),
            &[0; 4],
            &entry.crc.to_le_bytes(),
            &packed,
            &size,
            &name,
            &0u16.to_le_bytes(),
        ]
        .concat();
        if index == 0 || !same {
            all.extend([b"PK\x03\x04", &common[..], entry.name.as_bytes(), &entry.packed].concat());
        }
        let place = [&[0; 10][..], &offset.to_le_bytes(), entry.name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &place].concat());
    }
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    let start = u32::try_from(all.len()).unwrap().to_le_bytes();
    let length = u32::try_from(directory.len()).unwrap().to_le_bytes();
    all.extend(directory);
    all.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &length, &start, &[0, 0]].concat());
    all
}

const HEADER: &[u8] = br#"{"version":2,"status":"success","eval":{"task":"t","model":"m"}}"#;
const SAMPLE: &[u8] = br#"{"id":"x","epoch":1,"input":"hi","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}"#;

#[test]
fn archives_are_read_however_they_are_compressed() {
    let inspect = Formats::named("inspect").unwrap();
    for method in [0, 8, 93] {
        let bytes = archive(
            &[entry("header.json", method, HEADER), entry("samples/x_epoch_1.json", method, SAMPLE)],
            false,
        );
        let reading = read(inspect, "x.eval", &bytes);
        assert_eq!((reading.sessions, reading.messages), (1, 3), "{method}: {:?}", reading.end);
        for cut in (1..bytes.len()).step_by(if IS_SLOW { 7 } else { 1 }) {
            assert!(read(inspect, "x.eval", &bytes[..cut]).end.is_err(), "{method}, {cut} bytes");
        }
    }
    let unknown = archive(&[entry("header.json", 14, HEADER)], false);
    assert!(read(inspect, "x.eval", &unknown).end.unwrap_err().to_string().contains("method 14"));
}

#[test]
fn archive_bombs_do_not_go_off() {
    let inspect = Formats::named("inspect").unwrap();
    let head = || entry("header.json", 0, HEADER);
    let refused = |what: &str, bytes: &[u8], limits: InputLimits| {
        let reading = read_stream(inspect, "bomb.eval", bytes, limits);
        let error = reading.end.expect_err(what).to_string();
        assert!(reading.messages < 100, "{what}: {} messages", reading.messages);
        error
    };
    let bounds = InputLimits { whole: 2 << 20, ..InputLimits::default() };
    let large = vec![b' '; if IS_SLOW { 4 << 20 } else { 200 << 20 }];
    for method in [8, 93] {
        let honest = entry("samples/x_epoch_1.json", method, &large);
        assert!(honest.packed.len() < 2 << 20, "{}", honest.packed.len());
        let error = refused("a large entry", &archive(&[head(), honest], false), bounds);
        assert!(error.contains("too large"), "{error}");
        let small = Entry { size: 100, ..entry("samples/x_epoch_1.json", method, &large) };
        refused("an entry that says it is small", &archive(&[head(), small], false), bounds);
        let huge = Entry { size: 0xffff_fff0, ..entry("samples/x_epoch_1.json", method, SAMPLE) };
        let error = refused("an entry that says it is huge", &archive(&[head(), huge], false), bounds);
        assert!(error.contains("damaged"), "{error}");
        // Each allowed, all together not.
        let names: Vec<String> = (0..200).map(|number| format!("samples/{number}_epoch_1.json")).collect();
        let padded = [SAMPLE, &vec![b' '; 256 << 10]].concat();
        let mut many: Vec<_> = names.iter().map(|name| entry(name, method, &padded)).take(30).collect();
        many.insert(0, head());
        let limits = InputLimits { file: 3 << 20, ..InputLimits::default() };
        refused("many entries", &archive(&many, false), limits);
        // A sample in pieces, each allowed.
        let pieces: Vec<String> =
            (0..30).map(|number| format!("samples/x_epoch_1/events/{number}.json")).collect();
        let piece = [b"[{}]".as_slice(), &vec![b' '; 256 << 10]].concat();
        let mut chunked: Vec<_> = pieces.iter().map(|name| entry(name, method, &piece)).collect();
        chunked.push(entry("samples/x_epoch_1/sample.json", method, SAMPLE));
        chunked.push(head());
        refused("a sample in pieces", &archive(&chunked, false), bounds);
    }
    // One piece of data, meant by ten thousand entries.
    let names: Vec<String> = (0..if IS_SLOW { 1000 } else { 10_000 })
        .map(|number| format!("samples/{number}_epoch_1.json"))
        .collect();
    let many: Vec<_> = names.iter().map(|name| entry(name, 0, SAMPLE)).collect();
    let error = refused("entries that share their bytes", &archive(&many, true), InputLimits::default());
    assert!(error.contains("share"), "{error}");
    // An attachment of a megabyte that is meant a thousand times.
    let calls = r#"{"role":"user","content":"attachment://a"},"#.repeat(1000);
    let sample = format!(
        r#"{{"id":1,"epoch":1,"messages":[{calls}{{"role":"user","content":"x"}}],"attachments":{{"a":"{}"}}}}"#,
        "y".repeat(if IS_SLOW { 1 << 16 } else { 1 << 20 })
    );
    let bytes = archive(&[head(), entry("samples/1_epoch_1.json", 93, sample.as_bytes())], false);
    let reading = read(inspect, "x.eval", &bytes);
    assert_eq!((reading.sessions, reading.end.is_ok()), (1, true));
}

/// The three forms of one log say the same.
#[test]
fn a_sample_in_pieces_is_the_sample() {
    let inspect = Formats::named("inspect").unwrap();
    let of = |name: &str| {
        let (_, file) = recordings().into_iter().find(|(_, file)| file.ends_with(name)).unwrap();
        let input = Input::file(&file, name, InputLimits::default()).unwrap();
        let mut said = Vec::new();
        let read = inspect.read(input, &mut |session| {
            let messages = session.messages().iter();
            said.push(
                messages
                    .map(|message| format!("{} {:?}", message.time, message.content.text()))
                    .collect::<Vec<_>>(),
            );
            Ok(())
        });
        read.unwrap();
        said
    };
    assert_eq!(of("inspect/mail.eval"), of("inspect/mail_chunked.eval"));
}

/// Files that `tests/hostile/make.py` writes.
#[test]
fn parquet_bombs_do_not_go_off() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let langfuse = Formats::named("langfuse").unwrap();
    let limits = InputLimits { whole: 1 << 20, line: 1 << 20, sessions: 4 << 20, ..InputLimits::default() };
    for (name, why) in [
        ("large_value.parquet", "its pages take too much at a time"),
        ("many_rows.parquet", "its rows are larger than is read of one file"),
        ("long_list.parquet", "a row is too long"),
        ("deep.parquet", "columns nested deeper than 16, which is not read"),
        ("delta.parquet", "the encoding 7 DELTA_BYTE_ARRAY, which is not read"),
        ("brotli.parquet", "the compression 4 BROTLI, which is not read"),
    ] {
        let path = folder.join(name);
        // From disk, and as a stream.
        let input = Input::file(&path, name, limits).unwrap();
        let error = langfuse.read(input, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
        let bytes = std::fs::read(&path).unwrap();
        let error = read_stream(langfuse, name, &bytes[..], limits).end.unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
    }
    assert!(peak() < 1500, "{} MiB", peak());
}

#[test]
fn damaged_parquet_files_are_read_or_refused() {
    for (format, file) in
        recordings().into_iter().filter(|(_, file)| file.extension().is_some_and(|end| end == "parquet"))
    {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let whole = std::fs::read(&file).unwrap();
        let step = if IS_SLOW { 23 } else { 1 };
        for at in (0..whole.len()).step_by(step) {
            // Without its end there is no footer.
            assert!(read(format, &name, &whole[..at]).end.is_err(), "{name}, {at} bytes");
            for value in [0x00, 0x7f, 0xff, whole[at] ^ 1] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                read(format, &name, &damaged);
            }
        }
    }
}
