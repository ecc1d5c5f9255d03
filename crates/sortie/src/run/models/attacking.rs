//! The attacker of a run's cases.

use serde_json::{Value, json};
use sortie_engine::cases::{AttackError, BoxFuture, BudgetExhausted, CaseAttacker, PatternCase};
use sortie_engine::targets::Offer;
use sortie_evaluators::{Template, Values};
use sortie_judge::{Attacker, AttackerError, ModelError, Offers, Rubric, Situation};
use sortie_trace::Transcript;

use super::judging::rubric;

/// An attacker that fills placeholders and goes on with conversations.
pub(super) struct WritingAttacker(Attacker);

/// What an attacker is told about a case.
struct Told<'c> {
    rubric: Rubric,
    pattern: &'c str,
    template: Template,
    offers: Offers,
}

impl WritingAttacker {
    pub(super) fn new(attacker: Attacker) -> Self {
        Self(attacker)
    }

    async fn values(
        &self,
        case: &PatternCase,
        offer: &Offer,
        names: &[String],
    ) -> Result<Values, AttackError> {
        let told = Told::new(case, offer);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let purpose = format!("fill {}", case.id);
        self.0.fill(told.situation(), &names, &purpose).await.map_err(|error| attack_error(&error))
    }

    async fn follow_up(
        &self,
        case: &PatternCase,
        offer: &Offer,
        so_far: &Transcript,
    ) -> Result<Option<String>, AttackError> {
        let told = Told::new(case, offer);
        let purpose = format!("attack {}, turn {}", case.id, so_far.turns().len() / 2 + 1);
        let message = self.0.follow_up(told.situation(), so_far, &purpose).await;
        message.map(Some).map_err(|error| attack_error(&error))
    }
}

impl<'c> Told<'c> {
    fn new(case: &'c PatternCase, offer: &Offer) -> Self {
        let about = match (&offer.server, &offer.card) {
            (server, None) if server.is_empty() => Value::Null,
            (server, None) => json!(server),
            (_, Some(card)) => card.clone(),
        };
        Self {
            rubric: rubric(case),
            pattern: &case.pattern,
            template: case.template.clone(),
            offers: Offers { tools: offer.raw_tools(), about },
        }
    }

    fn situation(&self) -> Situation<'_> {
        let Self { rubric, pattern, template, offers } = self;
        Situation { rubric, pattern, template, offers }
    }
}

fn attack_error(error: &AttackerError) -> AttackError {
    match error {
        AttackerError::Model(ModelError::Budget(error)) => BudgetExhausted(error.to_string()).into(),
        error => AttackError::Failed(error.to_string()),
    }
}

impl CaseAttacker for WritingAttacker {
    fn fill<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<Values, AttackError>> {
        Box::pin(self.values(case, offer, names))
    }

    fn next<'a>(
        &'a self,
        case: &'a PatternCase,
        offer: &'a Offer,
        so_far: &'a Transcript,
    ) -> BoxFuture<'a, Result<Option<String>, AttackError>> {
        Box::pin(self.follow_up(case, offer, so_far))
    }
}
