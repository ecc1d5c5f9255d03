//! Asking a judge, once or more often.

use std::sync::Arc;

use sortie_evaluators::Says;
use sortie_trace::Transcript;
use tokio::task::JoinSet;

use super::answer;
use super::question::{Rubric, again, fenced, question};
use super::quotes::{BadEvidence, TargetWords};
use crate::exchanges::ExchangeError;
use crate::{Completion, Model, ModelError, Prompt};
use sortie_detect::{Judged, Opinion, Provenance, Reason, Ruling, Vote};

/// How a judge is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeOptions {
    /// How many votes are taken. 1. More than half of them must agree, so even numbers only cost more.
    pub votes: u32,
    /// Bytes of a transcript as the judge sees it. 256 KiB. Longer ones are errors: what is left out may be what decides.
    pub transcript_bytes: usize,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        Self { votes: 1, transcript_bytes: 256 << 10 }
    }
}

/// Judges transcripts by rubrics, with a model. Clones share the model.
///
/// What a model answers counts if it is one JSON object of the right shape, and if its quotes are the target's own words.
/// - Quotes that are not: the model is told, and asked once more. Then it is an error.
/// - Not one JSON object, or another shape: an error at once. A model that cannot keep to a form in which it is asked for a verdict
///   is not asked until it happens to.
#[derive(Clone, Debug)]
pub struct Judge {
    model: Model,
    options: JudgeOptions,
}

impl Judge {
    /// A judge that is asked as the options say, at least once.
    pub fn new(model: Model, options: JudgeOptions) -> Self {
        Self { model, options: JudgeOptions { votes: options.votes.max(1), ..options } }
    }

    /// The model it asks.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The same judge for an attempt at a case.
    #[must_use]
    pub fn for_attempt(&self, attempt: u32) -> Self {
        Self { model: self.model.for_attempt(attempt), options: self.options }
    }

    /// Who judges, as far as it is known without asking.
    pub fn provenance(&self) -> Provenance {
        self.model.provenance(None)
    }

    /// Judges a transcript. `purpose` says to people what for: `judge path-escape / Parent folders`.
    pub async fn judge(&self, rubric: &Rubric, transcript: &Transcript, purpose: &str) -> Judged {
        let words = TargetWords::new(transcript);
        let error = |reason| Judged::Error { reason, votes: Vec::new() };
        if words.is_empty() {
            return error(Reason::NothingSaid);
        }
        let fenced = fenced(transcript);
        if fenced.len() > self.options.transcript_bytes {
            return error(Reason::TooLong { bytes: fenced.len(), bound: self.options.transcript_bytes });
        }
        let (question, words) = (Arc::new(question(rubric, &fenced)), Arc::new(words));
        let mut asked = JoinSet::new();
        for ordinal in 0..self.options.votes {
            let (judge, question, words) = (self.clone(), question.clone(), words.clone());
            let purpose = if self.options.votes > 1 {
                format!("{purpose}, vote {}", ordinal + 1)
            } else {
                purpose.to_owned()
            };
            asked.spawn(async move { (ordinal, judge.vote(&question, &words, &purpose, ordinal).await) });
        }
        let mut votes = Vec::new();
        while let Some(done) = asked.join_next().await {
            match done {
                Ok(vote) => votes.push(vote),
                Err(broken) => return error(Reason::Broken(broken.to_string())),
            }
        }
        votes.sort_by_key(|(ordinal, _)| *ordinal);
        let model = votes.iter().find_map(|(_, (_, model))| model.clone());
        let votes = votes.into_iter().map(|(_, (vote, _))| vote).collect();
        count(votes, self.model.provenance(model))
    }

    /// One vote, and the model as it names itself.
    async fn vote(
        &self,
        question: &Prompt,
        words: &TargetWords,
        purpose: &str,
        ordinal: u32,
    ) -> (Vote, Option<String>) {
        let mut model = None;
        let vote = match self.rule(question, words, purpose, ordinal, &mut model).await {
            Ok(ruling) => Vote::Ruling(ruling),
            Err(reason) => Vote::Error { reason },
        };
        (vote, model)
    }

    async fn rule(
        &self,
        question: &Prompt,
        words: &TargetWords,
        purpose: &str,
        ordinal: u32,
        model: &mut Option<String>,
    ) -> Result<Ruling, Reason> {
        let first = self.model.ask(question, purpose, ordinal).await?;
        *model = Some(first.model.clone()).filter(|model| !model.is_empty());
        let why = match rule(&first, words)? {
            Ok(ruling) => return Ok(ruling),
            Err(why) => why,
        };
        let question = again(question.clone(), &first.text, &why);
        let second = self.model.ask(&question, &format!("{purpose}, asked again"), ordinal).await?;
        match rule(&second, words)? {
            Ok(ruling) => Ok(Ruling { asked_again: true, ..ruling }),
            Err(why) => Err(Reason::Evidence(why.to_string())),
        }
    }
}

/// What an answer rules; or why its evidence does not hold.
fn rule(completion: &Completion, words: &TargetWords) -> Result<Result<Ruling, BadEvidence>, Reason> {
    let answer = answer::read(&completion.text).map_err(|why| {
        let cut = if completion.cut { ", cut off because it became too long" } else { "" };
        Reason::Malformed(format!("{why}{cut}"))
    })?;
    Ok(words.find(&answer).map(|quotes| Ruling {
        verdict: answer.verdict,
        confidence: answer.confidence,
        reasoning: answer.reasoning,
        quotes,
        turn: answer.turn,
        asked_again: false,
    }))
}

/// The majority of all votes that were asked for. A vote that failed is one that nobody has.
fn count(votes: Vec<Vote>, provenance: Provenance) -> Judged {
    let of = |says| {
        let rulings =
            votes.iter().filter(|vote| matches!(vote, Vote::Ruling(ruling) if ruling.verdict == says));
        u32::try_from(rulings.count()).unwrap_or(u32::MAX)
    };
    let (pass, fail) = (of(Says::Pass), of(Says::Fail));
    let all = u32::try_from(votes.len()).unwrap_or(u32::MAX);
    // A vote that was never cast is not outvoted: with it the verdict could be another one.
    let not_cast = votes.iter().find_map(|vote| match vote {
        Vote::Error { reason: reason @ (Reason::NotRecorded(_) | Reason::Budget(_)) } => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = not_cast {
        return Judged::Error { reason, votes };
    }
    let (winner, agree) = if pass > fail { (Says::Pass, pass) } else { (Says::Fail, fail) };
    if u64::from(agree) * 2 <= u64::from(all) {
        // Of a single vote, or if all failed alike, the reason is more than the count.
        let reason = match &votes[..] {
            [Vote::Error { reason }] => reason.clone(),
            [Vote::Error { reason }, others @ ..]
                if others
                    .iter()
                    .all(|vote| matches!(vote, Vote::Error { reason: other } if other == reason)) =>
            {
                reason.clone()
            }
            _ => Reason::Split { pass, fail, error: all - pass - fail },
        };
        return Judged::Error { reason, votes };
    }
    let ruling = votes.iter().find_map(|vote| match vote {
        Vote::Ruling(ruling) if ruling.verdict == winner => Some(ruling.clone()),
        _ => None,
    });
    match (ruling, winner) {
        (Some(ruling), Says::Pass) => Judged::Pass(Opinion { ruling, agree, votes, provenance }),
        (Some(ruling), Says::Fail) => Judged::Fail(Opinion { ruling, agree, votes, provenance }),
        (None, _) => Judged::Error { reason: Reason::Split { pass, fail, error: all }, votes },
    }
}

impl From<ModelError> for Reason {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Budget(error) => Self::Budget(error.to_string()),
            ModelError::Store(ExchangeError::Missing(miss)) => Self::NotRecorded(miss.to_string()),
            error => Self::Model(error.to_string()),
        }
    }
}
