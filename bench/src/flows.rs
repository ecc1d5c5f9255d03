//! What looking for flows costs: a million messages with a flow, over the same messages with a pattern.
//!
//! An agent reads and sends: every fourth message is a result of the source, every fourth a call of the sink. Texts are those of
//! a long day: two thousand different files and as many mails, none of which carries anything of a file. So every mail is
//! compared with everything that came in.

use std::fmt::Write as _;
use std::io::{BufReader, Read};

use crate::clock;
use crate::ours;
use crate::table::Table;

const MESSAGES: usize = 1_000_000;
const DIFFERENT: usize = 2_000;
const BAR: f64 = 2.0;

const DOCUMENT: &str = "
oatf: '0.1'
attack:
  execution: {mode: mcp_server, state: {tools: []}}
  indicators:
    - surface: tools/call
      direction: request
      target: arguments.body
";
const PATTERN: &str = "      pattern: {contains: 'what no mail says'}\n";
const FLOW: &str = "      pattern: {condition: {exists: true}}
      x-sortie: {flow: {from: {surface: tools/call, direction: response, tool: 'read_*'}, to: {tool: 'send_*'}}}
";

/// The rows of the table.
pub(crate) fn measure(quick: bool, table: &mut Table) -> Result<(), String> {
    let count = if quick { MESSAGES / 10 } else { MESSAGES };
    let (with, without) = (format!("{DOCUMENT}{FLOW}"), format!("{DOCUMENT}{PATTERN}"));
    let rounds = if quick { 2 } else { 3 };
    let (mut bare, mut plain, mut flows) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        bare = bare.min(clock::once(|| std::io::copy(&mut Traffic::new(count), &mut std::io::sink())));
        for (document, best) in [(&without, &mut plain), (&with, &mut flows)] {
            let mut found = Ok(0);
            *best =
                best.min(clock::once(|| found = ours::silent(document, BufReader::new(Traffic::new(count)))));
            if found? != 1 {
                table.fail("flows: an indicator matched, or its silence says nothing");
            }
        }
    }
    let name = format!("{count} messages with a flow, over without");
    // Writing the messages is not what is measured.
    table.at_most(&name, (flows - bare) / (plain - bare), BAR);
    Ok(())
}

/// The lines of a trace, written as they are read.
pub(crate) struct Traffic {
    line: String,
    read: usize,
    seq: usize,
    count: usize,
}

impl Traffic {
    pub(crate) fn new(count: usize) -> Self {
        let header = r#"{"record":"header","version":1,"origin":"foreign","written_by":"bench","time":"2026-01-01T00:00:00Z"}"#;
        Self { line: format!("{header}\n"), read: 0, seq: 0, count }
    }

    fn next(&mut self) {
        self.line.clear();
        self.read = 0;
        self.seq += 1;
        if self.seq > self.count {
            return;
        }
        let Self { line, seq, .. } = self;
        let (id, text) = (seq.div_ceil(2), *seq / 4 % DIFFERENT);
        let (sender, side) = if *seq % 2 == 1 { ("agent", "request") } else { ("actor", "response") };
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            r#"{{"record":"message","seq":{seq},"time":"2026-01-01T00:00:00Z","actor":"default","mode":"mcp_server","phase":"a","protocol":"mcp","surfaces":["tools/call"],"direction":"{side}","kind":"{side}","id":{id},"connection":"1","sender":"{sender}","content":{{"jsonrpc":"2.0","id":{id},"#
        );
        let _ = match *seq % 4 {
            1 => write!(
                line,
                r#""method":"tools/call","params":{{"name":"read_file","arguments":{{"path":"notes/{text}.txt"}}}}}}}}"#
            ),
            2 => write!(
                line,
                r#""result":{{"content":[{{"type":"text","text":"File {text}: on day {text} the machine {text} made {text} parts, of which {text} were returned by customer {text}; the next service is due after hour {text}, and the key of the cabinet is with shift {text}, who signed page {text} of the log and left note {text}."}}]}}}}}}"#
            ),
            3 => write!(
                line,
                r#""method":"tools/call","params":{{"name":"send_mail","arguments":{{"to":"team-{text}@example.com","body":"Dear team {text}, thank you very much for your message. I have read all of it; everything is fine, and there is nothing left for you to do this week. Kind regards from number {text}."}}}}}}}}"#
            ),
            _ => write!(line, r#""result":{{"content":[{{"type":"text","text":"Sent."}}]}}}}}}"#),
        };
        line.push('\n');
    }
}

impl Read for Traffic {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.line.len() {
            self.next();
        }
        let read = (&self.line.as_bytes()[self.read..]).read(buffer)?;
        self.read += read;
        Ok(read)
    }
}
