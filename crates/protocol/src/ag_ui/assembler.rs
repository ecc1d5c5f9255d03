//! Texts and calls come in pieces. Here they are put together, for whoever wants them whole.

use std::collections::{BTreeMap, HashMap};

use super::event::{AgentEvent, Stream, StreamStep};

/// How much of what is streamed is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Texts and calls.
    pub streams: usize,
    /// What one of them takes, in bytes.
    pub text_bytes: usize,
    /// What they take together, in bytes.
    pub bytes: usize,
}

impl StreamLimits {
    /// Everything is kept.
    pub const NONE: Self = Self { streams: usize::MAX, text_bytes: usize::MAX, bytes: usize::MAX };
}

/// A text, or the arguments of a call, as far as it has come.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The id that the agent gave it.
    pub id: String,
    /// The name of the tool, once it is known.
    pub name: Option<String>,
    run: String,
    stream: Stream,
    text: String,
    /// Where the pieces begin that came since it last ended.
    part: usize,
    has_ended: bool,
    is_cut: bool,
}

impl Joined {
    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What came since it last began.
    pub fn part(&self) -> &str {
        &self.text[self.part..]
    }

    /// Whether its beginning was dropped, since it was too long.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Adds a piece, and drops the beginning of what has become too long: the end is what has not been looked at yet.
    fn push(&mut self, piece: &str, max_bytes: usize) {
        self.text.push_str(piece);
        if self.text.len() > max_bytes {
            let from = self.text.ceil_char_boundary(self.text.len() - max_bytes);
            self.text.drain(..from);
            self.part = self.part.saturating_sub(from);
            self.is_cut = true;
        }
    }

    fn bytes(&self) -> usize {
        // The run and the id are held twice.
        2 * (self.run.len() + self.id.len()) + self.text.len() + self.name.as_ref().map_or(0, String::len)
    }
}

/// What is streamed in any number of runs, put together piece by piece.
///
/// ```
/// use sortie_protocol::ag_ui::{AgentEvent, Assembler, Stream, StreamLimits};
///
/// let mut assembler = Assembler::new(StreamLimits::NONE);
/// let mut said = String::new();
/// for data in [r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Pa"}"#, r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"id."}"#] {
///     let event = AgentEvent::read(data.as_bytes());
///     let (stream, step) = Stream::of(event.name.as_deref().unwrap()).unwrap();
///     let (joined, _forgotten) = assembler.observe("run", stream, step, &event).unwrap();
///     said = joined.text().to_owned();
/// }
/// assert_eq!(said, "Paid.");
/// ```
#[derive(Clone, Debug)]
pub struct Assembler {
    /// In the order in which they began.
    joined: BTreeMap<u64, Joined>,
    places: HashMap<String, u64>,
    /// The text and the call that each run went on with last.
    last: HashMap<String, u64>,
    began: u64,
    bytes: usize,
    limits: StreamLimits,
}

impl Assembler {
    /// Nothing was said.
    pub fn new(limits: StreamLimits) -> Self {
        Self {
            joined: BTreeMap::new(),
            places: HashMap::new(),
            last: HashMap::new(),
            began: 0,
            bytes: 0,
            limits,
        }
    }

    /// Takes note of an event of a run, and gives what it belongs to, with how many others that had not ended were
    /// forgotten for it. What has no id goes on with what came before; nothing is given when nothing did.
    pub fn observe(
        &mut self,
        run: &str,
        stream: Stream,
        step: StreamStep,
        event: &AgentEvent,
    ) -> Option<(&Joined, usize)> {
        let id = event.stream_id(stream).or_else(|| self.last(run, stream))?.to_owned();
        let key = key(run, stream, &id);
        let place = *self.places.entry(key).or_insert_with(|| {
            self.began += 1;
            self.began
        });
        let joined = self.joined.entry(place).or_insert_with(|| {
            let joined = Joined {
                id,
                name: None,
                run: run.to_owned(),
                stream,
                text: String::new(),
                part: 0,
                has_ended: false,
                is_cut: false,
            };
            self.bytes += joined.bytes();
            joined
        });
        self.bytes -= joined.bytes();
        if step == StreamStep::Start || joined.has_ended {
            joined.part = joined.text.len();
        }
        joined.has_ended = step == StreamStep::End;
        joined.push(event.delta.as_deref().unwrap_or_default(), self.limits.text_bytes);
        if event.call_name.is_some() && (step == StreamStep::Start || joined.name.is_none()) {
            joined.name.clone_from(&event.call_name);
        }
        self.bytes += joined.bytes();
        self.last.insert(self::key(run, stream, ""), place);
        let forgotten = self.forget(place);
        Some((self.joined.get(&place)?, forgotten))
    }

    /// What is known under an id.
    pub fn get(&self, run: &str, stream: Stream, id: &str) -> Option<&Joined> {
        self.joined.get(self.places.get(&key(run, stream, id))?)
    }

    /// The id of the text or the call that a run went on with last.
    pub fn last(&self, run: &str, stream: Stream) -> Option<&str> {
        Some(&self.joined.get(self.last.get(&key(run, stream, ""))?)?.id)
    }

    /// Forgets all of a run that is over.
    pub fn end_run(&mut self, run: &str) {
        let places: Vec<u64> =
            self.joined.iter().filter(|(_, joined)| joined.run == run).map(|(place, _)| *place).collect();
        for place in places {
            self.remove(place);
        }
    }

    /// How many have begun and not ended.
    pub fn open(&self) -> usize {
        self.joined.values().filter(|joined| !joined.has_ended).count()
    }

    /// Makes room: first for what has ended, then the oldest. Says how many had not ended.
    fn forget(&mut self, newest: u64) -> usize {
        let mut forgotten = 0;
        while self.joined.len() > self.limits.streams || self.bytes > self.limits.bytes {
            let others = || self.joined.iter().filter(|(place, _)| **place != newest);
            let ended = others().find(|(_, joined)| joined.has_ended);
            let Some((&place, joined)) = ended.or_else(|| others().next()) else { break };
            forgotten += usize::from(!joined.has_ended);
            self.remove(place);
        }
        forgotten
    }

    fn remove(&mut self, place: u64) {
        let Some(joined) = self.joined.remove(&place) else { return };
        self.bytes -= joined.bytes();
        self.places.remove(&key(&joined.run, joined.stream, &joined.id));
        let last = key(&joined.run, joined.stream, "");
        if self.last.get(&last) == Some(&place) {
            self.last.remove(&last);
        }
    }
}

/// Ids of messages and of calls are apart.
fn key(run: &str, stream: Stream, id: &str) -> String {
    let letter = match stream {
        Stream::Text => 't',
        Stream::Reasoning => 'r',
        Stream::Call => 'c',
    };
    format!("{run}\0{letter}{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(
        assembler: &mut Assembler,
        run: &str,
        kind: &str,
        id: Option<&str>,
        delta: &str,
    ) -> (String, usize) {
        let event = AgentEvent {
            message_id: id.map(str::to_owned),
            delta: Some(delta.to_owned()),
            ..AgentEvent::default()
        };
        let (stream, step) = Stream::of(kind).unwrap();
        let heard = assembler.observe(run, stream, step, &event);
        heard.map_or_else(Default::default, |(joined, forgotten)| (joined.part().to_owned(), forgotten))
    }

    #[test]
    fn what_has_ended_goes_first_and_nobody_misses_it() {
        let limits = StreamLimits { streams: 2, text_bytes: 100, bytes: 1000 };
        let mut assembler = Assembler::new(limits);
        say(&mut assembler, "r", "text_message_start", Some("open"), "a");
        say(&mut assembler, "r", "text_message_end", Some("ended"), "b");
        assert_eq!(say(&mut assembler, "r", "text_message_content", Some("third"), "c").1, 0);
        assert_eq!(say(&mut assembler, "r", "text_message_content", Some("open"), "!").0, "a!");
        assert_eq!(say(&mut assembler, "r", "text_message_content", Some("fourth"), "d").1, 1);
        assert_eq!(assembler.open(), 2);
    }

    #[test]
    fn what_begins_again_begins_anew_and_is_all_there_still() {
        let mut assembler = Assembler::new(StreamLimits::NONE);
        for (kind, id, whole) in [
            ("text_message_content", None, ""),
            ("text_message_content", Some("m"), "x"),
            ("text_message_end", None, "xx"),
            ("text_message_chunk", None, "x"),
            ("text_message_start", Some("m"), "x"),
            ("text_message_content", Some("m"), "xx"),
        ] {
            assert_eq!(say(&mut assembler, "r", kind, id, "x").0, whole, "{kind} {id:?}");
        }
        assert_eq!(assembler.get("r", Stream::Text, "m").unwrap().text(), "xxxxx");
        // Another run knows nothing of it, and its end leaves nothing.
        assert_eq!(say(&mut assembler, "s", "text_message_content", None, "x").0, "");
        assembler.end_run("r");
        assert_eq!((assembler.open(), assembler.last("r", Stream::Text)), (0, None));
    }
}
