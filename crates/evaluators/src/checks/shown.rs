//! What an expression rests on.
//!
//! CEL says that it holds, not why. The first item that makes it hold alone, where nothing at all does not, is shown; where
//! it takes several, or none, the list that it looks at.

use serde_json::{Value, json};
use sortie_expr::cel::{PartKind, Program};
use sortie_oatf::{CompiledIndicator, Evaluators, IndicatorOutcome, MatchEvidence};

/// So many items are tried alone: each may cost as much as the whole.
const TRIED: usize = 32;

/// The list that an expression looks at, or what the server says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Answers,
    Calls,
    Server,
    Tools,
}

impl Shown {
    /// The list that an expression looks at.
    pub(super) fn of(cel: &str) -> Self {
        // What is not CEL was refused when it was read.
        let parts = Program::compile(cel).map(|program| program.parts()).unwrap_or_default();
        let reads = |wanted: &str| {
            parts.iter().any(|part| {
                let PartKind::Field { path, .. } = &part.kind else { return false };
                path.split(['.', '[']).any(|step| step == wanted)
            })
        };
        if reads("calls") {
            Self::Calls
        } else if reads("server") {
            Self::Server
        } else if reads("tools") && !reads("answers") && !reads("turns") {
            Self::Tools
        } else {
            Self::Answers
        }
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Calls => "calls",
            Self::Server => "server",
            Self::Tools => "tools",
        }
    }

    /// What an indicator for the expression looks at.
    pub(super) fn target(self) -> String {
        match self {
            Self::Server => self.key().to_owned(),
            Self::Answers | Self::Calls | Self::Tools => format!("{}[*]", self.key()),
        }
    }

    /// What a match rests on; `whole` is what the match itself says.
    pub(super) fn evidence(
        self,
        indicator: &CompiledIndicator,
        transcript: &Value,
        whole: MatchEvidence,
    ) -> MatchEvidence {
        let holds = |transcript: &Value| match indicator.evaluate(transcript, Evaluators::standard()) {
            IndicatorOutcome::Matched(evidence) => Some(evidence),
            _ => None,
        };
        // What a server says about itself is not a list, and is shown as it is.
        let count = transcript[self.key()].as_array().map_or(0, Vec::len);
        if count < 2 {
            return whole;
        }
        if holds(&self.alone(transcript, None)).is_none() {
            for at in 0..count.min(TRIED) {
                if let Some(mut evidence) = holds(&self.alone(transcript, Some(at))) {
                    evidence.path = format!("{}[{at}]", self.key());
                    return evidence;
                }
            }
        }
        MatchEvidence { path: self.key().to_owned(), ..whole }
    }

    /// A transcript with one item of the list, or none.
    fn alone(self, transcript: &Value, at: Option<usize>) -> Value {
        let none = || Value::Array(Vec::new());
        let list = |key: &str| transcript[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut alone = json!({
            "turns": none(), "sent": none(), "answers": none(), "calls": none(),
            "tools": transcript["tools"], "server": transcript["server"],
        });
        if self == Self::Tools {
            for key in ["turns", "sent", "answers", "calls"] {
                alone[key] = transcript[key].clone();
            }
            alone["tools"] = at.and_then(|at| list("tools").get(at)).cloned().into_iter().collect();
            return alone;
        }
        let Some(at) = at else { return alone };
        let targets = list("turns").iter().filter(|turn| turn["role"] == "target");
        let mut position = 0;
        for turn in targets {
            let calls = turn["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            let here = if self == Self::Calls { calls.len() } else { 1 };
            if at < position + here {
                let mut turn = turn.clone();
                if self == Self::Calls {
                    turn["calls"] = Value::Array(vec![calls[at - position].clone()]);
                    turn["text"] = "".into();
                }
                alone["answers"] = json!([turn["text"]]);
                alone["calls"] = turn["calls"].clone();
                alone["turns"] = Value::Array(vec![turn]);
                break;
            }
            position += here;
        }
        alone
    }
}

#[cfg(test)]
mod tests {
    use crate::{Check, CheckSays, CompiledChecks, Test, Values};
    use sortie_trace::{ObservedCall, Transcript, Turn};

    fn path(cel: &str) -> String {
        let call = |name: &str| ObservedCall {
            name: name.to_owned(),
            arguments: serde_json::Map::new(),
            result: "".into(),
            is_error: false,
        };
        let mut second = Turn::target("the code is 7");
        second.calls = vec![call("look"), call("send")];
        let turns = vec![Turn::attacker("hi"), Turn::target("hello"), Turn::attacker("code?"), second];
        let transcript = Transcript::new(turns).unwrap();
        let check =
            Check { name: "c".to_owned(), says: CheckSays::Fail, test: Test::Cel(cel.to_owned()), line: 1 };
        let decision = CompiledChecks::new(&[check]).unwrap().decide(&transcript, &Values::new());
        decision.because.unwrap_or_else(|| panic!("{cel}: {:?}", decision.errors)).evidence.path
    }

    #[test]
    fn an_expression_shows_the_item_that_makes_it_hold() {
        assert_eq!(path("transcript.answers.exists(a, a.contains('code'))"), "answers[1]");
        assert_eq!(
            path("transcript.turns.exists(t, t.role == 'target' && t.text.contains('hello'))"),
            "answers[0]"
        );
        assert_eq!(path("transcript.calls.exists(c, c.name == 'send')"), "calls[1]");
        assert_eq!(path("size(transcript.answers) == 2 && !has(transcript.server.name)"), "server");
    }

    #[test]
    fn one_that_needs_everything_or_nothing_shows_the_list() {
        assert_eq!(path("size(transcript.answers) == 2"), "answers");
        assert_eq!(path("!transcript.answers.exists(a, a.contains('secret'))"), "answers");
        assert_eq!(path("true"), "answers");
    }
}
