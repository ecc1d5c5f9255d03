//! What decided a case, as indicators.
//!
//! A check's `pattern` looks at the place in a message at which the words stand. A check's `cel` is taken as it is: its transcript is
//! what messages carry as `_transcript`.

use std::borrow::Cow;

use sortie_detect::{EvidenceSource, Outcome};
use sortie_evaluators::{CatalogueEntry, Test, Values};
use sortie_expr::re2;
use sortie_oatf::model::{
    Condition, Direction, ExpressionMatch, Indicator, MatchCondition, PatternMatch, Tier,
};
use sortie_oatf::{CompiledIndicator, Evaluators, IndicatorOutcome};
use sortie_trace::{Observed, Sender};

use super::FreezeError;

/// A quote with fewer words may be said by anybody, and counts only where there is no other.
const TELLING_WORDS: usize = 3;

/// An indicator, and where it looks.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) place: Place,
    pub(super) indicator: Indicator,
}

/// What is known of a finding.
pub(super) struct Finding<'f> {
    pub(super) outcome: &'f Outcome,
    pub(super) entry: &'f CatalogueEntry,
    pub(super) protocol: &'f str,
    pub(super) values: &'f Values,
    /// What indicators see of what was recorded.
    pub(super) observed: &'f [Observed<'f>],
}

impl Finding<'_> {
    /// The indicators that say of what was recorded what was said of the case.
    pub(super) fn looks(&self) -> Result<Vec<Look>, FreezeError> {
        match self.outcome.evidence.iter().find(|found| found.by == EvidenceSource::Check) {
            Some(check) => self.check(&check.name).map(|look| vec![look]),
            None if self.outcome.judged.is_some() => self.quotes(),
            None => Err(FreezeError::Undecided),
        }
    }

    fn check(&self, name: &str) -> Result<Look, FreezeError> {
        let evaluator = &self.entry.evaluator;
        let Some(check) = evaluator.checks.iter().find(|check| check.name == name) else {
            return Err(FreezeError::NoCheck { evaluator: evaluator.id.clone(), check: name.to_owned() });
        };
        let test = check.test.fill(self.values);
        let test = test.map_err(|unfilled| FreezeError::Unfilled { check: name.to_owned(), unfilled })?;
        let protocol = self.protocol;
        let looks: Vec<Look> = match &test {
            Test::Pattern { target, condition } => {
                let of = |place: Place| {
                    let pattern =
                        PatternMatch { condition: Some(condition.clone()), ..PatternMatch::default() };
                    look(place, Some(pattern), None, name)
                };
                let looks: Vec<Look> = places(protocol, target).into_iter().map(of).collect();
                if looks.is_empty() {
                    let (check, path, protocol) = (name.to_owned(), target.clone(), protocol.to_owned());
                    return Err(FreezeError::NoPlace { check, path, protocol });
                }
                looks
            }
            Test::Cel(cel) => {
                let of = |place: Place| look(place, None, Some(cel), name);
                places_of_transcript(protocol, cel).into_iter().map(of).collect()
            }
            // It compares several calls, which no indicator does.
            Test::Measure(_) => Vec::new(),
        };
        let found = looks.into_iter().find(|look| look.fires(self.observed));
        found.ok_or_else(|| {
            if self.waited() { FreezeError::Waited } else { FreezeError::Silent(name.to_owned()) }
        })
    }

    /// Whether the agent had to be asked for its task again.
    fn waited(&self) -> bool {
        let asked = |seen: &Observed<'_>| seen.record.surfaces.iter().any(|surface| surface == "tasks/get");
        self.observed.iter().any(asked)
    }

    /// The target's own words, as a judge quoted them. White space may differ.
    fn quotes(&self) -> Result<Vec<Look>, FreezeError> {
        let quotes = self.outcome.evidence.iter().filter(|found| found.by == EvidenceSource::Judge);
        let mut texts: Vec<String> = quotes.filter_map(|quote| quote.text.clone()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let count = |text: &String| text.split_whitespace().count();
        if texts.iter().any(|text| count(text) >= TELLING_WORDS) {
            texts.retain(|text| count(text) >= TELLING_WORDS);
        } else {
            texts.truncate(1);
        }
        let mut looks: Vec<Look> = Vec::new();
        for text in &texts {
            let all = places(self.protocol, "answers[*]")
                .into_iter()
                .chain(places(self.protocol, "calls[*].arguments"));
            let found = all.map(|place| quoted(place, text)).find(|look| look.fires(self.observed));
            looks.extend(found.filter(|found| !looks.iter().any(|known| known.indicator == found.indicator)));
        }
        if looks.is_empty() {
            return Err(if self.waited() { FreezeError::Waited } else { FreezeError::NoQuote });
        }
        Ok(looks)
    }
}

fn quoted(place: Place, text: &str) -> Look {
    let words: Vec<String> = text.split_whitespace().map(re2::quote).collect();
    let condition = if words.len() == 1 {
        MatchCondition { contains: Some(text.trim().to_owned()), ..MatchCondition::default() }
    } else {
        MatchCondition { regex: Some(words.join(r"\s+")), ..MatchCondition::default() }
    };
    let pattern = PatternMatch { condition: Some(Condition::Match(condition)), ..PatternMatch::default() };
    look(place, Some(pattern), None, "The target says what a judge quoted when it decided")
}

fn look(place: Place, pattern: Option<PatternMatch>, cel: Option<&String>, name: &str) -> Look {
    let tier = if place.shows == Shows::Calls { Tier::LocalAction } else { Tier::BoundaryBreach };
    let variables = [("transcript".to_owned(), "_transcript".to_owned())].into_iter();
    let expression =
        cel.map(|cel| ExpressionMatch { cel: cel.clone(), variables: Some(variables.collect()) });
    let indicator = Indicator {
        protocol: Some(place.protocol.clone()),
        surface: Some(place.surface.to_owned()),
        target: place.path.clone(),
        direction: Some(Direction::Response),
        description: Some(format!("{}.", name.trim_end_matches('.'))),
        pattern,
        expression,
        tier: Some(tier),
        ..Indicator::default()
    };
    Look { place, indicator }
}

impl Look {
    /// Whether it is about what the server lists, and not only about what was said.
    pub(super) fn reads_tools(&self) -> bool {
        self.indicator
            .expression
            .as_ref()
            .is_some_and(|expression| expression.cel.contains("transcript.tools"))
    }

    /// Whether it matches something that the target said, and shows it.
    pub(super) fn fires(&self, observed: &[Observed<'_>]) -> bool {
        let Ok(indicator) = CompiledIndicator::new(&self.indicator) else { return false };
        let mut looked = observed.iter().filter(|seen| {
            seen.record.sender == Sender::Agent
                && seen.record.direction == sortie_trace::Direction::Response
                && seen.record.surfaces.iter().any(|surface| surface == self.place.surface)
        });
        looked.any(|seen| {
            let message = if indicator.reads_transcript {
                seen.with_transcript()
            } else {
                Cow::Borrowed(&seen.message)
            };
            match indicator.evaluate(&message, Evaluators::standard()) {
                IndicatorOutcome::Matched(evidence) => {
                    self.place.path.is_empty() || !evidence.path.is_empty()
                }
                _ => false,
            }
        })
    }
}

/// What stands in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// What the target says.
    Words,
    /// What it calls.
    Calls,
    /// What it offers.
    Tools,
}

/// A place in the messages of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What stands there.
    pub(super) shows: Shows,
    /// The protocol.
    pub(super) protocol: String,
    /// The operation.
    pub(super) surface: &'static str,
    /// The path in a message.
    pub(super) path: String,
}

/// The places at which answers may stand, by the protocol; the usual ones first.
fn answers(protocol: &str) -> &'static [(&'static str, &'static str)] {
    match protocol {
        "mcp" => &[
            ("tools/call", "content[*].text"),
            ("tools/call", "content[*].resource.text"),
            ("tools/call", "structuredContent"),
            ("tools/call", "message"),
        ],
        "a2a" => &[
            ("message/send", "artifacts[*].parts[*].text"),
            ("message/send", "parts[*].text"),
            ("message/send", "status.message.parts[*].text"),
            ("message/send", "message"),
        ],
        "ag_ui" => {
            &[("text_message_end", "_text"), ("text_message_chunk", "_text"), ("run_error", "message")]
        }
        _ => &[],
    }
}

/// The places at which what a path of a transcript leads to may stand. None where a message has no such thing.
pub(super) fn places(protocol: &str, path: &str) -> Vec<Place> {
    let (key, rest) = split(path);
    let place = |shows, surface, path: String| Place { shows, protocol: protocol.to_owned(), surface, path };
    let words = || {
        let answers = answers(protocol).iter();
        answers.map(|(surface, path)| place(Shows::Words, surface, (*path).to_owned())).collect()
    };
    match (protocol, key, rest) {
        (_, "answers", "") | (_, "turns", "text") => words(),
        ("mcp", "turns", "result") => vec![place(Shows::Words, "tools/call", "content".to_owned())],
        ("ag_ui", "calls", rest) => {
            let path = match rest.split_once('.').unwrap_or((rest, "")) {
                ("", _) => String::new(),
                ("name", "") => "toolCallName".to_owned(),
                ("arguments", "") => "_arguments".to_owned(),
                ("arguments", field) => format!("_arguments.{field}"),
                _ => return Vec::new(),
            };
            let of = |surface| place(Shows::Calls, surface, path.clone());
            vec![of("tool_call_end"), of("tool_call_chunk")]
        }
        ("mcp", "tools", _) => vec![place(Shows::Tools, "tools/list", path.to_owned())],
        ("mcp", "server", "") => ["instructions", "serverInfo"]
            .map(|path| place(Shows::Tools, "initialize", path.to_owned()))
            .into(),
        ("mcp", "server", "instructions") => {
            vec![place(Shows::Tools, "initialize", "instructions".to_owned())]
        }
        _ => Vec::new(),
    }
}

/// `answers[*]` is `answers`; `calls[*].arguments` is `calls`, `arguments`. A position is any.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (key, rest) = path.split_at(end);
    let rest = rest.strip_prefix('[').map_or(rest, |rest| rest.split_once(']').map_or("", |(_, rest)| rest));
    (key, rest.strip_prefix('.').unwrap_or(rest))
}

/// The places at which messages stand that complete what an expression over a transcript is about, and what they show of it.
fn places_of_transcript(protocol: &str, cel: &str) -> Vec<Place> {
    let reads = |list: &str| cel.contains(&format!("transcript.{list}"));
    let is_talk = reads("turns") || reads("answers") || reads("calls");
    let (shows, surfaces, list): (_, &[&'static str], _) = match protocol {
        "mcp" if !is_talk => (Shows::Tools, &["tools/list"], "tools"),
        "mcp" => (Shows::Words, &["tools/call"], "answers[*]"),
        "a2a" => (Shows::Words, &["message/send"], "answers[*]"),
        _ if reads("calls") => (Shows::Calls, &["run_finished", "run_error"], "calls[*]"),
        _ => (Shows::Words, &["run_finished", "run_error"], "answers[*]"),
    };
    // Where the words stand in the message itself, that is shown.
    let known = places(protocol, list).into_iter().filter(|place| surfaces.contains(&place.surface));
    let in_transcript = surfaces.iter().map(|surface| Place {
        shows,
        protocol: protocol.to_owned(),
        surface,
        path: format!("_transcript.{list}"),
    });
    known.chain(in_transcript).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_transcripts_lead_to_places_of_messages() {
        let first =
            |protocol, path| places(protocol, path).first().map(|place| (place.surface, place.path.clone()));
        let is = |surface, path: &str| Some((surface, path.to_owned()));
        assert_eq!(first("mcp", "answers[*]"), is("tools/call", "content[*].text"));
        assert_eq!(first("mcp", "turns[*].text"), is("tools/call", "content[*].text"));
        assert_eq!(first("a2a", "answers[0]"), is("message/send", "artifacts[*].parts[*].text"));
        assert_eq!(first("ag_ui", "calls[*].arguments.to"), is("tool_call_end", "_arguments.to"));
        assert_eq!(first("ag_ui", "calls[*].name"), is("tool_call_end", "toolCallName"));
        assert_eq!(first("mcp", "tools[*].description"), is("tools/list", "tools[*].description"));
        assert_eq!(first("mcp", "calls[*].name"), None);
        assert_eq!(first("a2a", "calls[*].arguments"), None);
        assert_eq!(first("chat", "answers[*]"), None);
    }
}
