use proptest::prelude::*;

use super::*;
use crate::sse::{comment, encode};

/// All events of a stream that comes in pieces of `size` bytes.
fn decode(stream: &[u8], size: usize) -> (Vec<Result<Event, TooLong>>, Decoder) {
    let mut decoder = Decoder::new(&Limits { message_bytes: 64, ..Limits::default() });
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        decoder.push(Bytes::copy_from_slice(piece));
        events.extend(std::iter::from_fn(|| decoder.next_event()));
    }
    (events, decoder)
}

/// The data of all events, the same for pieces of every size.
fn data(stream: &str) -> Vec<String> {
    let (events, _) = decode(stream.as_bytes(), usize::MAX);
    for size in 1..=stream.len() {
        assert_eq!(decode(stream.as_bytes(), size).0, events, "pieces of {size} bytes of {stream:?}");
    }
    let text = |event: Result<Event, _>| String::from_utf8(event.unwrap().data.to_vec()).unwrap();
    events.into_iter().map(text).collect()
}

#[test]
fn the_examples_of_the_standard_read_as_it_says() {
    assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
    assert_eq!(
        data(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event"),
        ["first event", "second event"]
    );
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
}

#[test]
fn any_line_ending_ends_a_line() {
    assert_eq!(data("data: a\r\rdata: b\r\n\r\ndata: c\n\ndata: d\r\n\n"), ["a", "b", "c", "d"]);
    assert_eq!(data("data: a\r\ndata: b\rdata: c\ndata: d\n\r\n"), ["a\nb\nc\nd"]);
}

#[test]
fn an_event_is_there_with_the_first_byte_of_its_blank_line() {
    let (events, _) = decode(b"data: a\r\n\r", 1);
    assert_eq!(events.len(), 1);
}

#[test]
fn a_byte_order_mark_is_one_only_at_the_beginning() {
    assert_eq!(data("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    assert_eq!(data("\u{feff}: hello\n\u{feff}\ndata: b\n\n"), ["b"]);
    assert_eq!(data("\u{feff}\n\ndata: b\n\n"), ["b"]);
}

#[test]
fn ids_and_retries_count_without_data_too() {
    let (events, decoder) = decode(b"id: 1\nretry: 500\n\n: hi\n:\n\ndata: x\nretry: soon\nid: a\0b\n\n", 3);
    let [Ok(event)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((event.id.as_deref(), event.retry), (None, None));
    assert_eq!((decoder.last_id(), decoder.retry()), (Some("1"), Some(500)));

    let (events, decoder) = decode(b"id: 1\ndata: a\n\nid\ndata: b\n\nretry: 99999999999999999999\n\n", 5);
    assert_eq!(events[1].as_ref().unwrap().id.as_deref(), Some(""));
    assert_eq!((decoder.last_id(), decoder.retry()), (None, None));
}

#[test]
fn what_is_no_utf_8_is_kept() {
    let (events, _) = decode(b"data: \xff\xfe\n\nevent: caf\xe9\ndata: x\n\ndata: y\n\n", 1);
    let events: Vec<_> = events.into_iter().map(Result::unwrap).collect();
    assert_eq!((&events[0].data[..], events[1].event.as_deref()), (&b"\xff\xfe"[..], Some("caf\u{fffd}")));
}

#[test]
fn an_event_that_is_too_long_is_told_once_and_the_next_is_read() {
    let one_line = format!("data: {}\ndata: more\n\n", "x".repeat(1000));
    let many_lines = format!("{}\n", "data: xxxxxxxx\n".repeat(50));
    let names = format!("event: {}\nid: {}\ndata: x\n\n", "e".repeat(40), "i".repeat(40));
    let no_field = format!("{}\n\n", "x".repeat(1000));
    for long in [one_line, many_lines, names, no_field] {
        let stream = format!("data: a\n\n{long}data: b\n\n{long}data: c\n\n");
        for size in 1..=stream.len() {
            let (events, _) = decode(stream.as_bytes(), size);
            let seen: Vec<_> =
                events.iter().map(|event| event.as_ref().map(|event| &event.data[..])).collect();
            let long = Err(&TooLong(64));
            assert_eq!(seen, [Ok(&b"a"[..]), long, Ok(b"b"), long, Ok(b"c")], "pieces of {size} bytes");
        }
    }
}

#[test]
fn comments_may_be_as_long_as_they_like_and_nothing_is_kept_of_them() {
    let mut decoder = Decoder::new(&Limits { message_bytes: 64, ..Limits::default() });
    decoder.push("data: a\n:".into());
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    for _ in 0..100 {
        decoder.push(piece.clone());
        assert!(decoder.next_event().is_none());
    }
    assert!(decoder.line.capacity() < 1024);
    decoder.push("\n\n".into());
    assert_eq!(decoder.next_event().unwrap().unwrap().data, "a");
}

#[test]
fn what_a_stream_breaks_off_in_can_be_recorded() {
    let (events, mut decoder) = decode(b"data: a\n\nid: 2\ndata: b\ndata: c", 4);
    assert_eq!(events.len(), 1);
    let event = decoder.unfinished().unwrap();
    assert_eq!((event.id.as_deref(), &event.data[..]), (Some("2"), &b"b\nc"[..]));
    assert!(decoder.unfinished().is_none());
}

/// Text without line breaks and NUL, not empty: what the names of an event can be.
const NAME: &str = "[^\r\n\0]{1,10}";

/// What streams are made of, and what they should not be made of.
const PARTS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b":",
    b"data",
    b"id: x",
    b"\xff",
    b"event:",
    b"\xef\xbb\xbf",
    b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_in_any_pieces(
        events in prop::collection::vec(
            (prop::option::of(NAME), prop::option::of(NAME), "([^\r]|\n){0,20}", any::<bool>()), 0..6),
        size in 1..200_usize,
    ) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        for (event, id, data, commented) in events {
            if commented {
                stream.extend_from_slice(&comment("alive"));
            }
            stream.extend_from_slice(&encode(event.as_deref(), id.as_deref(), data.as_bytes()));
            expected.push(Event { id, event, data: data.into(), ..Event::default() });
        }
        let mut decoder = Decoder::new(&Limits::default());
        let mut decoded = Vec::new();
        for piece in stream.chunks(size) {
            decoder.push(Bytes::copy_from_slice(piece));
            decoded.extend(std::iter::from_fn(|| decoder.next_event()).map(Result::unwrap));
        }
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn pieces_do_not_matter_for_any_bytes(
        stream in prop::collection::vec(prop::sample::select(PARTS), 0..30),
        size in 1..20_usize,
    ) {
        let stream = stream.concat();
        let (whole, _) = decode(&stream, usize::MAX);
        let (pieces, _) = decode(&stream, size);
        prop_assert_eq!(whole, pieces);
    }
}
