//! The attacker of a run's cases.

use serde_json::Value;
use sortie_engine::cases::{self, Case, Later};
use sortie_evaluators::{Template, Transcript};
use sortie_judge::{Attacker, Offers, Situation};

use super::judging::rubric;

/// An attacker that goes on with conversations.
pub(super) struct WritingAttacker(Attacker);

impl WritingAttacker {
    pub(super) fn new(attacker: Attacker) -> Self {
        Self(attacker)
    }

    async fn follow_up(&self, case: &Case, so_far: &Transcript) -> Result<Option<String>, String> {
        let (rubric, template, offers) = (rubric(case), template(case), offers(so_far));
        let situation =
            Situation { rubric: &rubric, pattern: &case.pattern, template: &template, offers: &offers };
        let purpose = format!("attack {}, turn {}", case.id, so_far.turns().len() / 2 + 1);
        let message = self.0.follow_up(situation, so_far, &purpose).await;
        message.map(Some).map_err(|error| error.to_string())
    }
}

/// The attack as it is written.
fn template(case: &Case) -> Template {
    let patterns = &case.rubric.evaluator.patterns;
    let own = patterns.iter().find(|pattern| pattern.name == case.pattern);
    own.map_or_else(|| Template::new(""), |pattern| pattern.template.clone())
}

/// What the target offers, as the transcript says.
fn offers(transcript: &Transcript) -> Offers {
    let server = transcript.server();
    let about = if server.is_empty() { Value::Null } else { Value::Object(server.clone()) };
    Offers { tools: transcript.tools().to_vec(), about }
}

impl cases::Attacker for WritingAttacker {
    fn next<'a>(
        &'a self,
        case: &'a Case,
        so_far: &'a Transcript,
    ) -> Later<'a, Result<Option<String>, String>> {
        Box::pin(self.follow_up(case, so_far))
    }
}
