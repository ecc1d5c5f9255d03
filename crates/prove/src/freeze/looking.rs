//! What decided a case, as indicators.

use sortie_detect::{EvidenceSource, Outcome};
use sortie_evaluators::{CatalogueEntry, Test, Values};
use sortie_expr::re2;
use sortie_oatf::model::{
    Condition, Direction, ExpressionMatch, Indicator, MatchCondition, PatternMatch, Tier,
};
use sortie_oatf::{CompiledIndicator, Evaluators};
use sortie_trace::{Observed, Sender};

use super::FreezeError;
use super::cel::translated;
use super::place::{Place, Shows, list_of, places};

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
        let (path, tried): (&str, Vec<Option<Look>>) = match &test {
            Test::Pattern { target, condition } => {
                let of = |place: Place| {
                    let pattern =
                        PatternMatch { condition: Some(condition.clone()), ..PatternMatch::default() };
                    Some(look(place, Some(pattern), None, name))
                };
                (target, places(protocol, target).into_iter().map(of).collect())
            }
            Test::Cel(cel) => {
                let of = |place: Place| {
                    let cel = translated(cel, &place)?;
                    Some(look(place, None, Some(cel), name))
                };
                (list_of(cel), places(protocol, list_of(cel)).into_iter().map(of).collect())
            }
        };
        if tried.is_empty() {
            return Err(FreezeError::NoPlace {
                check: name.to_owned(),
                path: path.to_owned(),
                protocol: protocol.to_owned(),
            });
        }
        let looks: Vec<Look> = tried.into_iter().flatten().collect();
        if looks.is_empty() {
            return Err(FreezeError::SeveralMessages(name.to_owned()));
        }
        let found = looks.into_iter().find(|look| look.fires(self.observed));
        found.ok_or_else(|| {
            if self.waited() { FreezeError::Waited } else { FreezeError::Silent(name.to_owned()) }
        })
    }

    /// Whether the agent had to be asked for its task again.
    fn waited(&self) -> bool {
        let asked = |seen: &Observed<'_>| seen.surfaces.iter().any(|surface| surface == "tasks/get");
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

fn look(place: Place, pattern: Option<PatternMatch>, cel: Option<String>, name: &str) -> Look {
    let tier = if place.shows == Shows::Calls { Tier::LocalAction } else { Tier::BoundaryBreach };
    let target = match (&cel, place.path.as_str()) {
        (Some(_), "") => "_arguments".to_owned(),
        (_, path) => path.to_owned(),
    };
    let indicator = Indicator {
        protocol: Some(place.protocol.clone()),
        surface: Some(place.surface.to_owned()),
        target,
        direction: Some(Direction::Response),
        description: Some(format!("{}.", name.trim_end_matches('.'))),
        pattern,
        expression: cel.map(|cel| ExpressionMatch { cel, variables: None }),
        tier: Some(tier),
        ..Indicator::default()
    };
    Look { place, indicator }
}

impl Look {
    /// Whether it matches something that the target said.
    pub(super) fn fires(&self, observed: &[Observed<'_>]) -> bool {
        let Ok(indicator) = CompiledIndicator::new(&self.indicator) else { return false };
        let mut looked = observed.iter().filter(|seen| {
            seen.sender == Sender::Agent
                && seen.direction == sortie_trace::Direction::Response
                && seen.surfaces.iter().any(|surface| surface == self.place.surface)
        });
        looked.any(|seen| matches!(indicator.is_match(&seen.message, Evaluators::standard()), Ok(true)))
    }
}
