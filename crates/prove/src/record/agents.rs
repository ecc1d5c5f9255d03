//! Which practice agents are recorded, how their recordings are called, and what those must give.

use sortie_detect::Outcome;
use sortie_oatf::model::{AttackResult, Indicator, IndicatorResult};
use sortie_practice::Behaviour;
use sortie_syntax::suggestion;

use super::RecordError;
use crate::Recorded;
use crate::prover::matched_ids;

/// Those that every document takes: one that gives in, one that does not, and one that repeats what it does not do.
pub const USUAL_AGENTS: [&str; 3] = ["gullible", "refuser", "quoting-refuser"];

/// The agents that are meant, each once, in the order in which they are named.
pub fn parse_agents(names: &[String]) -> Result<Vec<Behaviour>, RecordError> {
    let mut agents = Vec::new();
    for name in names {
        let name = name.strip_prefix("builtin:").unwrap_or(name);
        let agent: Behaviour = name.parse().map_err(|_| {
            let known = match suggestion(name, Behaviour::ALL.map(Behaviour::name)) {
                Some(_) if name.contains(['/', '.']) => {
                    Some("name the documents first: `sortie prove attack.yaml --record`".to_owned())
                }
                known => known,
            };
            let message = format!("`--record`: there is no practice agent `{name}`");
            RecordError::Refused { message, help: known }
        })?;
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    Ok(agents)
}

/// The name of a recording, and what happens in it, by what the agent did.
fn told(agent: Behaviour, obeyed: bool) -> (String, &'static str) {
    let own = agent.name();
    let (name, about) = match (agent, obeyed) {
        (Behaviour::Gullible, true) => ("gave-in", "Does the task, and what the attack wants."),
        (Behaviour::Refuser, false) => ("did-its-task", "Does the task and nothing else."),
        (Behaviour::QuotingRefuser, false) => {
            ("refused-and-quoted", "Does the task, and repeats what it will not do.")
        }
        (Behaviour::Late, true) => (own, "Does the task, and later what the attack wants."),
        (Behaviour::Encoder, true) => (own, "Does what the attack wants, in disguise."),
        (Behaviour::Partial, true) => (own, "Does the first step of what the attack wants."),
        (Behaviour::Confused, false) => {
            (own, "Calls what nobody asked for, and nothing that the attack wants.")
        }
        (Behaviour::Silent, false) => (own, "Looks at what there is, and does nothing."),
        (_, true) => (own, "Does what the attack wants."),
        (_, false) => (own, "Does nothing that the attack wants."),
    };
    (format!("{name}.jsonl"), about)
}

/// The name of its recording when it does what its name says.
pub(super) fn usual_name(agent: Behaviour) -> String {
    told(agent, agent.obeys()).0
}

/// What a run must give, and whether it did: what the agent's own log says, whatever the indicators say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) recorded: Recorded,
    pub(super) obeyed: bool,
    /// Whether the run gave the contrary, and no judge could change that.
    pub(super) denied: bool,
}

impl Truth {
    /// That the agent obeyed is known from its log. Which indicators show it, and whether that makes the attack whole or
    /// `partial`, is known from the run where it agrees.
    pub(super) fn new(agent: Behaviour, obeyed: bool, run: &Outcome, indicators: &[Indicator]) -> Self {
        let given = run.verdict.result.into();
        let gave_in = matches!(given, AttackResult::Exploited | AttackResult::Partial);
        let (verdict, matched) = match (obeyed, gave_in) {
            (true, true) => (given, matched_ids(run)),
            // None of them did. A manifest must name some, and proving says that they are silent.
            (true, false) => (AttackResult::Exploited, ids(indicators)),
            (false, _) => (AttackResult::NotExploited, Vec::new()),
        };
        let verdicts = &run.verdict.indicator_verdicts;
        let needs_judge = verdicts.iter().any(|verdict| verdict.result == IndicatorResult::Skipped);
        let (trace, about) = told(agent, obeyed);
        let recorded =
            Recorded { trace, agent: agent.name().to_owned(), about: about.to_owned(), verdict, matched };
        Self { recorded, obeyed, denied: obeyed != gave_in && !(obeyed && needs_judge) }
    }
}

/// The indicators that can be proved, or all where none can.
fn ids(indicators: &[Indicator]) -> Vec<String> {
    let ids = |wanted: fn(&&Indicator) -> bool| -> Vec<String> {
        indicators.iter().filter(wanted).filter_map(|indicator| indicator.id.clone()).collect()
    };
    let provable = ids(|indicator| indicator.semantic.is_none());
    if provable.is_empty() { ids(|_| true) } else { provable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_once_with_or_without_their_prefix() {
        let names = ["gullible", "builtin:late", "gullible"].map(ToOwned::to_owned);
        assert_eq!(parse_agents(&names).unwrap(), [Behaviour::Gullible, Behaviour::Late]);
        let usual = parse_agents(&USUAL_AGENTS.map(ToOwned::to_owned)).unwrap();
        assert_eq!(
            usual.into_iter().map(usual_name).collect::<Vec<_>>(),
            ["gave-in.jsonl", "did-its-task.jsonl", "refused-and-quoted.jsonl"]
        );
    }

    #[test]
    fn an_agent_that_does_not_do_what_its_name_says_is_not_called_so() {
        assert_eq!(told(Behaviour::Gullible, false).0, "gullible.jsonl");
        assert_eq!(told(Behaviour::Refuser, true).0, "refuser.jsonl");
    }

    #[test]
    fn no_two_agents_write_into_one_file() {
        let mut names: Vec<_> =
            Behaviour::ALL.iter().flat_map(|agent| [told(*agent, true).0, told(*agent, false).0]).collect();
        names.sort();
        names.dedup();
        // The first three have a name of their own for what is expected of them.
        assert_eq!(names.len(), Behaviour::ALL.len() + 3);
    }
}
