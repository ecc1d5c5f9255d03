//! One session after the other, from lines or records.

use std::sync::Arc;

use sortie_detect::MatchSession;
use sortie_trace::line::LineError;
use sortie_trace::{Content, Header, Message, Record};

use crate::finding::{RowError, Scanned};
use crate::rules::Rules;

/// The longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Finds what rules match in sessions, one after the other.
///
/// ```
/// use std::sync::Arc;
///
/// use sortie_oatf::{Compiled, load};
/// use sortie_scan::{Rules, Scanned, SessionScanner};
///
/// let text = "
/// oatf: '0.1'
/// attack:
///   id: KEY-001
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators: [{surface: tools/call, target: arguments.path, pattern: {contains: id_rsa}}]
/// ";
/// let document = Arc::new(Compiled::new(load(text).unwrap().document).unwrap());
/// let mut scanner = SessionScanner::new(Arc::new(Rules::new([document])), "run.jsonl");
/// let lines = [
///     r#"{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-17T10:00:00Z"}"#,
///     r#"{"record":"message","seq":1,"time":"2026-11-17T10:00:01Z","actor":"files","mode":"mcp_server","phase":"","protocol":"mcp","surfaces":["tools/call"],"direction":"request","kind":"request","connection":"1","sender":"agent","content":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"~/.ssh/id_rsa"}}}}"#,
///     "no record",
/// ];
/// let (mut found, mut at) = (Vec::new(), 0);
/// for line in lines {
///     scanner.line(at, line.as_bytes(), &mut found);
///     at += line.len() as u64 + 1;
/// }
/// let [Scanned::Finding(finding), Scanned::Error(_)] = &found[..] else { unreachable!() };
/// assert_eq!((finding.document.as_str(), finding.seq, finding.path.as_str()), ("KEY-001", 1, "arguments.path"));
/// ```
#[derive(Clone, Debug)]
pub struct SessionScanner {
    rules: Arc<Rules>,
    matches: MatchSession,
    source: String,
    session: String,
    sessions: u64,
    messages: u64,
    /// The message before, in whose room the next is read.
    room: Option<Box<Message>>,
}

impl SessionScanner {
    /// For the sessions of one file or stream.
    pub fn new(rules: Arc<Rules>, source: &str) -> Self {
        let matches = MatchSession::new(Arc::clone(rules.ruleset()));
        Self {
            matches,
            source: source.to_owned(),
            session: source.to_owned(),
            rules,
            sessions: 0,
            messages: 0,
            room: None,
        }
    }

    /// Goes on with another file or stream.
    pub fn set_source(&mut self, source: &str) {
        source.clone_into(&mut self.source);
        source.clone_into(&mut self.session);
    }

    /// Begins a session.
    pub fn begin(&mut self, session: &str, header: &Header) {
        session.clone_into(&mut self.session);
        self.matches.begin(header);
        self.sessions += 1;
    }

    /// The session that was begun last.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// How many sessions were begun.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    /// About how many bytes of memory the open session takes.
    pub fn memory(&self) -> usize {
        self.matches.memory()
    }

    /// How many messages were looked at.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// A line of a trace. A header begins the next session, which is named after the file, and after the position of the header where that is
    /// not the first line. A line that is no record is an error, and says nothing about the others.
    pub fn line(&mut self, at: u64, line: &[u8], out: &mut Vec<Scanned>) {
        match parse_line(line, &mut self.room) {
            Ok(None) => {}
            Ok(Some(Record::Header(header))) => {
                let session = session_name(&self.source, at);
                self.begin(&session, &header);
            }
            Ok(Some(record)) => self.own_record(record, out),
            Err(problem) => out.push(self.error(at, shown(&problem))),
        }
    }

    /// A record that was read here: the next message is read in its room.
    fn own_record(&mut self, record: Record, out: &mut Vec<Scanned>) {
        self.record(&record, out);
        if let Record::Message(message) = record {
            self.room = Some(emptied(message));
        }
    }

    fn error(&self, at: u64, reason: String) -> Scanned {
        Scanned::Error(RowError {
            source: self.source.clone(),
            session: Some(self.session.clone()),
            at: Some(at),
            indicator: None,
            reason,
        })
    }

    /// A line of a session that is named elsewhere. Another name begins another session, and so does a header.
    pub fn line_of(&mut self, session: &str, at: u64, line: &[u8], out: &mut Vec<Scanned>) {
        if self.sessions == 0 || self.session != session {
            self.matches = MatchSession::new(Arc::clone(self.rules.ruleset()));
            session.clone_into(&mut self.session);
            self.sessions += 1;
        }
        match parse_line(line, &mut self.room) {
            Ok(None) => {}
            Ok(Some(Record::Header(header))) => self.matches.begin(&header),
            Ok(Some(record)) => self.own_record(record, out),
            Err(problem) => out.push(self.error(at, shown(&problem))),
        }
    }

    /// A record of the session that was begun last.
    pub fn record(&mut self, record: &Record, out: &mut Vec<Scanned>) {
        let Record::Message(message) = record else { return };
        self.messages += 1;
        let found = self.matches.message(message);
        out.extend(
            found.into_iter().map(|found| self.rules.row(&self.source, &self.session, message, found)),
        );
    }
}

/// Finds what rules match in single messages, in any order: the findings of a session that need no other message, and no others.
#[derive(Clone, Debug)]
pub struct MessageScanner {
    rules: Arc<Rules>,
    matches: MatchSession,
    /// The message before, in whose room the next is read.
    room: Option<Box<Message>>,
}

impl MessageScanner {
    /// A scanner with these rules.
    pub fn new(rules: Arc<Rules>) -> Self {
        let matches = MatchSession::of_single_messages(Arc::clone(rules.ruleset()));
        Self { matches, rules, room: None }
    }

    /// A line of a trace. Records that are no messages say nothing.
    pub fn line(&mut self, source: &str, session: &str, line: &[u8], out: &mut Vec<Scanned>) {
        match parse_line(line, &mut self.room) {
            Ok(Some(Record::Message(message))) => {
                let found = self.matches.message(&message);
                out.extend(found.into_iter().map(|found| self.rules.row(source, session, &message, found)));
                self.room = Some(emptied(message));
            }
            Ok(_) => {}
            Err(problem) => out.push(Scanned::Error(RowError {
                source: source.to_owned(),
                session: Some(session.to_owned()),
                at: None,
                indicator: None,
                reason: shown(&problem),
            })),
        }
    }
}

/// Why a line says nothing.
#[derive(Debug, thiserror::Error)]
enum LineProblem {
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    #[error("the line is not UTF-8")]
    NotUtf8,
    #[error("version {0} of the format is later than this program")]
    LaterVersion(u32),
    #[error(transparent)]
    NoRecord(#[from] LineError),
}

/// The name of a session whose header is at this byte of a trace: that of the trace for the first.
pub fn session_name(source: &str, at: u64) -> String {
    if at == 0 { source.to_owned() } else { format!("{source}@{at}") }
}

/// The record on a line; `None` on a blank one. A message takes `room`, if there is one.
fn parse_line(line: &[u8], room: &mut Option<Box<Message>>) -> Result<Option<Record>, LineProblem> {
    if line.len() > MAX_LINE_BYTES {
        return Err(LineProblem::TooLong);
    }
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(line).map_err(|_| LineProblem::NotUtf8)?;
    if room.as_mut().is_some_and(|message| message.read_own_line(text)) {
        return Ok(room.take().map(Record::Message));
    }
    match Record::from_line(text)? {
        Record::Header(header) if header.version > Header::VERSION => {
            Err(LineProblem::LaterVersion(header.version))
        }
        record => Ok(Some(record)),
    }
}

/// The room of a message without its content, which may be long.
fn emptied(mut message: Box<Message>) -> Box<Message> {
    message.content = Content::Bytes(String::new());
    message
}

/// What is wrong with a line, and no more of its own words than fit on one.
fn shown(problem: &LineProblem) -> String {
    problem.to_string().chars().take(200).collect()
}
