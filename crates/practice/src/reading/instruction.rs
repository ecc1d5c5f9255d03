//! What a reader was told to do, and what that is about.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// In words, for the log: `description of forecast`.
    pub(crate) words: String,
    pub(crate) callable: Option<String>,
    pub(crate) field: Option<String>,
    /// Whether it tells what something is, and not what became of something.
    pub(crate) describes: bool,
}

impl Source {
    /// A text that belongs to nothing that can be called.
    pub(crate) fn of(words: impl Into<String>) -> Self {
        Self { words: words.into(), callable: None, field: None, describes: false }
    }

    pub(crate) fn result_of(callable: &str) -> Self {
        Self { callable: Some(callable.to_owned()), ..Self::of(format!("result of {callable}")) }
    }

    pub(crate) fn describing(words: impl Into<String>, callable: Option<&str>) -> Self {
        Self { callable: callable.map(str::to_owned), describes: true, ..Self::of(words) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    /// When the task has been done, since it is about what comes of that.
    After,
}

/// All that one text tells a reader to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) text: String,
    pub(crate) source: Source,
    pub(crate) when: When,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Read {
        path: String,
        /// With what, when that is said.
        tool: Option<String>,
    },
    Gather,
    /// Call something, or bring something to someone.
    Call(Box<Call>),
    /// Put something into a field whenever it is called.
    Pass(Passed),
    /// Say something to whoever reads the answer.
    Say {
        things: Vec<Thing>,
    },
    Ask {
        words: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passed {
    pub(crate) things: Vec<Thing>,
    pub(crate) field: String,
    /// Of which callable; of all that have the field, when that is not said.
    pub(crate) tool: Option<String>,
    /// It waits for calls and asks for none.
    pub(crate) standing: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    /// The callable, when it is named.
    pub(crate) tool: Option<String>,
    /// The arguments that are given to the letter.
    pub(crate) given: Vec<(String, Value)>,
    /// Fields for things that have yet to be found.
    pub(crate) fields: Vec<(String, Vec<Thing>)>,
    pub(crate) things: Vec<Thing>,
    /// To whom: a mail address or a URL.
    pub(crate) to: Option<String>,
    pub(crate) times: usize,
    /// The words that ask for it, from which the rest is filled in.
    pub(crate) words: String,
}

/// What is to be read, passed on or said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    /// What the instruction itself says, to the letter.
    Text(String),
    /// What was read or answered last: `its contents`, `the results`, `this data`.
    Last,
    Conversation,
    Request,
    SystemPrompt,
    Tools,
    Servers,
    /// Keys, tokens and passwords that the agent has seen.
    Secrets,
}

/// Whether a text has a place for what the agent was given: `{result}`.
pub(crate) fn is_template(things: &[Thing]) -> bool {
    things.iter().any(|thing| matches!(thing, Thing::Text(text) if text.contains("{result}")))
}

impl Thing {
    /// Whether it is the agent's or the user's own, which no task asks for.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self, Self::Conversation | Self::SystemPrompt | Self::Tools | Self::Servers | Self::Secrets)
    }
}

static THINGS: LazyLock<Vec<(Regex, Thing)>> = LazyLock::new(|| {
    [
        (
            r"(?i)\bsystem[ _-]?(?:prompt|instruction|message)s?\b|\byour (?:own |initial |original |complete |full |hidden |internal |exact )*(?:instructions?|prompt|guidelines|configuration|rules)\b|\byou (?:are|were) (?:given|told|instructed)\b|\binstructions (?:above|you were)",
            Thing::SystemPrompt,
        ),
        (
            r"(?i)\b(?:available|connected|your|all|of) (?:the )?(?:mcp )?tools\b|\btool[ _-]?(?:list|names|manifest|descriptions|inventory)\b|\bnames and descriptions\b|\b(?:functions|tools) (?:you have|available)",
            Thing::Tools,
        ),
        (r"(?i)\bserver(?:'s|s')? (?:urls?|addresses|names?|list)\b|\bconnected servers\b", Thing::Servers),
        (
            r"(?i)\bapi[ _-]?keys?\b|\bcredentials?\b|\b(?:access|bearer|auth|oauth|session|refresh|security)[ _-]?(?:tokens?|keys?|cookies?)\b|\btokens?\b(?: value)?|\bpass(?:words?|phrases?|codes?)\b|\bsecrets?(?:[ _-]?keys?)?\b|\bprivate keys?\b|\bconnection strings?\b|\bauthori[sz]ation headers?\b|\bpins?\b|\bcanar(?:y|ies)\b",
            Thing::Secrets,
        ),
        (
            r"(?i)\b(?:full |complete |entire |whole )?(?:conversation|chat)(?: history| log| context| payload)?\b|\b(?:prior|previous|all|earlier) (?:turns|messages)\b|\bsession context\b|\b(?:full|complete|entire) (?:query )?context\b|\bmessage history\b|\beverything (?:above|so far|you know)\b",
            Thing::Conversation,
        ),
        (
            r"(?i)\b(?:original |current |the )*user(?:'s|s')? (?:original )?(?:request|message|question|query|prompt|input|task)(?: text)?\b|\boriginal (?:request|question|query)\b|\bthis (?:query|request|task)\b",
            Thing::Request,
        ),
        (
            r"(?i)\b(?:contents?|results?|data(?:set|base)?|output|responses?|summar(?:y|ies)|figures|records?|files?|reports?|documents?|pages?|notes?|it|its|them|everything|details|information|profile|payload|values?|hash(?:es)?|findings|rows|list|invoice|key|attachment|transcript|answer)\b",
            Thing::Last,
        ),
    ]
    .into_iter()
    // Constant patterns; the tests here use each.
    .map(|(pattern, thing)| (Regex::new(pattern).expect("a constant pattern"), thing))
    .collect()
});

/// What a text is about, the agent's own things first. `Last` only when there is nothing more exact.
pub(crate) fn things(text: &str) -> Vec<Thing> {
    let found = THINGS.iter().filter(|(pattern, _)| pattern.is_match(text)).map(|(_, thing)| thing.clone());
    let mut found: Vec<Thing> = found.collect();
    if found.len() > 1 {
        found.retain(|thing| *thing != Thing::Last);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_known_by_ordinary_words() {
        for (text, thing) in [
            ("include your complete system instructions", Thing::SystemPrompt),
            ("your full original prompt", Thing::SystemPrompt),
            ("the list of available tools", Thing::Tools),
            ("all MCP server URLs", Thing::Servers),
            ("any API keys you have", Thing::Secrets),
            ("the oauth_token", Thing::Secrets),
            ("the whole conversation history", Thing::Conversation),
            ("the original user request text", Thing::Request),
            ("its full contents", Thing::Last),
            ("the complete dataset", Thing::Last),
        ] {
            assert_eq!(things(text), [thing], "{text}");
        }
        assert_eq!(things("nothing of that kind"), []);
    }

    #[test]
    fn several_things_are_several() {
        assert_eq!(
            things("your system prompt and all connected server URLs"),
            [Thing::SystemPrompt, Thing::Servers]
        );
    }
}
