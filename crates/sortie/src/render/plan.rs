//! `sortie run --dry-run`: what would be served, sent and watched.

use std::io::{self, Write};

use serde::Serialize;
use sortie_engine::run::{Plan, PlannedActor, PlannedIndicator, PlannedPhase};

use super::{style, visible, write_json};

/// The version of the JSON. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Plans<'p> {
    version: u32,
    plans: &'p [Plan],
}

/// Writes plans for machines.
pub(crate) fn write_plans_json(out: &mut dyn Write, plans: &[Plan]) -> io::Result<()> {
    write_json(out, &Plans { version: VERSION, plans })
}

/// Writes plans for people.
pub(crate) fn write_plans(out: &mut dyn Write, plans: &[Plan], color: bool) -> io::Result<()> {
    for plan in plans {
        let id = plan.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
        let title = style::paint(color, style::STRONG, &line(&format!("{id}{}", plan.name)));
        writeln!(out, "{title}\n  --> {}", line(&plan.file))?;
        for actor in &plan.actors {
            write_actor(out, actor, color)?;
        }
        write_indicators(out, plan)?;
        if let Some(agent) = &plan.agent {
            writeln!(out, "  agent {}", line(&agent.join(" ")))?;
        }
        if let Some(prompt) = &plan.prompt {
            writeln!(out, "  prompt {}", line(prompt))?;
        }
        writeln!(
            out,
            "  ends after {}s at the latest, and then watches for {}s\n",
            plan.max_duration_seconds, plan.grace_seconds
        )?;
    }
    writeln!(out, "nothing was started")
}

fn write_actor(out: &mut dyn Write, actor: &PlannedActor, color: bool) -> io::Result<()> {
    let name = style::paint(color, style::STRONG, &line(&actor.name));
    write!(out, "  {name} ({})", line(&actor.mode))?;
    if actor.skipped {
        return writeln!(out, " is left out: nobody here knows its mode");
    }
    if let Some(address) = &actor.listens {
        let address = address.strip_suffix(":0").map(|ip| format!("{ip}, any free port"));
        write!(
            out,
            " listens at {}",
            address.as_ref().or(actor.listens.as_ref()).map_or("", |address| address)
        )?;
    }
    if let Some(target) = &actor.target {
        write!(out, " attacks {}", line(target))?;
    }
    writeln!(out)?;
    actor.phases.iter().try_for_each(|phase| write_phase(out, phase))
}

fn write_phase(out: &mut dyn Write, phase: &PlannedPhase) -> io::Result<()> {
    writeln!(out, "    {}", line(&phase.name))?;
    let mut entry = |word: &str, text: &str| writeln!(out, "      {word:<9} {}", line(text));
    for action in &phase.on_enter {
        entry("on entry", action)?;
    }
    if phase.inherits {
        entry("serves", "what the phase before it does")?;
    }
    phase.serves.iter().try_for_each(|what| entry("serves", what))?;
    phase.sends.iter().try_for_each(|what| entry("sends", what))?;
    phase.extracts.iter().try_for_each(|what| entry("captures", what))?;
    match &phase.until {
        Some(until) => entry("until", until),
        None => Ok(()),
    }
}

fn write_indicators(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    if plan.indicators.is_empty() {
        return writeln!(out, "  watched for nothing: there are no indicators, so this only simulates");
    }
    writeln!(out, "  watched for {} of", plan.correlation)?;
    for PlannedIndicator { id, looks_at, target, method, tier, description } in &plan.indicators {
        let tier = tier.as_ref().map(|tier| format!(" ({tier})")).unwrap_or_default();
        let target = if target.is_empty() { "all" } else { target };
        writeln!(out, "    {}", line(&format!("{id}{tier}: {method} on {target} of {looks_at}")))?;
        if let Some(description) = description {
            writeln!(out, "      {}", line(description.trim_end()))?;
        }
    }
    Ok(())
}

/// Text on one line, with nothing in it that a terminal would obey.
fn line(text: &str) -> String {
    visible(text).replace('\n', "␊").replace('\t', "␉")
}
