//! What it all comes to: how each agent did, and whatever is not as declared, by name.

use std::fmt::Write as _;

use sortie_oatf::model::Tier;
use sortie_practice::Behaviour;
use sortie_report::{counted, line, outcome as words, style, why_undecided, wrap};

use super::{AGENTS, Came, Cell, Demo, Row};

pub(super) fn write(demo: &Demo, color: bool, columns: usize) -> String {
    let mut text = String::new();
    let width = AGENTS.iter().map(|agent| agent.name().len()).max().unwrap_or(0);
    for agent in AGENTS {
        // Writing to memory cannot fail.
        let _ =
            writeln!(text, "{:width$} {}: {}", agent.name(), counts(demo, agent), judged(demo, agent, color));
    }
    text.push('\n');
    text.push_str(&odd(demo, color, columns));
    text.push_str(&note(demo, columns));
    text
}

/// Whether an agent did as declared.
fn judged(demo: &Demo, agent: Behaviour, color: bool) -> String {
    let count = |wanted: &[Came]| {
        let own = demo.outcomes().filter(|(_, outcome)| outcome.agent == agent);
        own.filter(|(_, outcome)| wanted.contains(&outcome.came())).count()
    };
    match (count(&[Came::Otherwise, Came::Undecided]), count(&[Came::NotPlayed])) {
        (0, 0) => style::paint(color, style::NOTE, "as declared"),
        (0, _) => style::paint(color, style::WARNING, "as declared so far"),
        (odd, _) => style::paint(color, style::ERROR, &format!("{odd} not as declared")),
    }
}

/// What became of an agent, in words of the specification.
fn counts(demo: &Demo, agent: Behaviour) -> String {
    let results =
        demo.outcomes().filter(|(_, outcome)| outcome.agent == agent).map(|(_, outcome)| result(outcome));
    let mut counts: Vec<(&str, usize, [usize; 3])> = Vec::new();
    for (result, tier) in results {
        let at = counts.iter().position(|(known, ..)| *known == result).unwrap_or_else(|| {
            counts.push((result, 0, [0; 3]));
            counts.len() - 1
        });
        counts[at].1 += 1;
        if let Some(tier) = tier {
            counts[at].2[tier as usize] += 1;
        }
    }
    let one = |(result, count, tiers): &(&str, usize, [usize; 3])| {
        let tiers =
            [Tier::BoundaryBreach, Tier::LocalAction, Tier::Ingested].into_iter().filter_map(|tier| {
                let count = tiers[tier as usize];
                (count > 0).then(|| format!("{count} {tier}"))
            });
        let tiers: Vec<_> = tiers.collect();
        let tiers = if tiers.is_empty() { String::new() } else { format!(" ({})", tiers.join(", ")) };
        format!("{count} {result}{tiers}")
    };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn result(outcome: &Cell) -> (&'static str, Option<Tier>) {
    match &outcome.run {
        Some(run) if outcome.came() != Came::NotPlayed => (run.verdict.result.as_str(), run.verdict.max_tier),
        _ => ("not run", None),
    }
}

/// Everything that did not come out as declared. What was not played is only counted: after an interruption that is most.
fn odd(demo: &Demo, color: bool, columns: usize) -> String {
    let mut text = String::new();
    for (row, outcome) in demo.outcomes() {
        let (Came::Otherwise | Came::Undecided, Some(run)) = (outcome.came(), &outcome.run) else { continue };
        let title = format!("{} {} with {}", row.entry.id(), row.entry.short(), outcome.agent);
        let _ = writeln!(text, "{}", style::paint(color, style::ERROR, &title));
        let declared = match outcome.declared.max_tier {
            Some(tier) => format!("{} ({tier})", outcome.declared.result),
            None => outcome.declared.result.to_string(),
        };
        let _ = writeln!(text, "  {}, declared {declared}", words(run));
        let why = why_undecided(run).filter(|_| outcome.came() == Came::Undecided);
        for why in wrap(&line(&why.map(|(_, why)| why).unwrap_or_default()), columns.saturating_sub(2)) {
            let _ = writeln!(text, "  {why}");
        }
        let _ = writeln!(text, "  {}", line(run.trace.as_deref().unwrap_or("no trace")));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What all this does not say.
fn note(demo: &Demo, columns: usize) -> String {
    let mut note =
        "The agents have no model: this shows that attacks arrive and that detections work, not how a real \
                    agent would act."
            .to_owned();
    let needy: Vec<&Row> = demo.rows.iter().filter(|row| row.need_a_judge() > 0).collect();
    let indicators: usize = needy.iter().map(|row| row.need_a_judge()).sum();
    if indicators > 0 {
        let ids: Vec<_> = needy.iter().map(|row| row.entry.id()).collect();
        let need = counted(indicators, "indicator needs", "indicators need");
        let _ = write!(
            note,
            " {need} a judge, and the demo has none ({}): these verdicts rest on the other indicators.",
            ids.join(", ")
        );
    }
    format!("{}\n\n", wrap(&note, columns).join("\n"))
}
