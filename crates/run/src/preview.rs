//! `sortie run --dry-run`: what would be served, sent and watched.

use std::io::{self, Write};

use serde_json::{Value, json};
use sortie_engine::cases::{Planned, Play};
use sortie_report::{line, style, write_json};

use crate::document_plan::{DocumentPlan, PlannedActor, PlannedIndicator, PlannedPhase};
use crate::forecast::RunForecast;
use crate::repeats::Repeats;
use crate::{DocumentCase, UnplayedDocument};

/// The version of the JSON. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// What a run would do.
pub struct Preview {
    plans: Vec<DocumentPlan>,
    /// Optional documents with which nothing would be done, and why.
    unplayed: Vec<UnplayedDocument>,
    /// With evaluators, where there are some.
    cases: Option<Vec<Planned>>,
    /// How often each case would be played, and what is known about that.
    repeats: Option<(Repeats, RunForecast)>,
}

impl Preview {
    pub(crate) fn new(
        documents: &[DocumentCase],
        unplayed: Vec<UnplayedDocument>,
        cases: Option<Vec<Planned>>,
    ) -> Self {
        let plan = |DocumentCase { document, options, .. }: &DocumentCase| {
            DocumentPlan::new(&document.compiled, &document.name, options)
        };
        Self { plans: documents.iter().map(plan).collect(), unplayed, cases, repeats: None }
    }

    /// Adds how often each case would be played, and what is known about that.
    pub(crate) fn set_repeats(&mut self, repeats: Repeats, forecast: RunForecast) {
        self.repeats = Some((repeats, forecast));
    }

    /// The cases of evaluators.
    pub(crate) fn cases(&self) -> &[Planned] {
        self.cases.as_deref().unwrap_or_default()
    }

    /// Writes it for machines.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut plans = json!({"version": VERSION, "plans": self.plans});
        if let Some(cases) = &self.cases {
            plans["cases"] = cases.iter().map(described).collect();
        }
        if let Some((repeats, forecast)) = &self.repeats {
            let test = repeats.test();
            let forecasts =
                test.map(|test| [0.0, test.gate().p0(), test.gate().p1()].map(|rate| test.forecast(rate)));
            plans["repeats"] = json!({
                "cases": repeats.cases,
                "most": repeats.most(),
                "forecasts": forecasts,
                "attempts": forecast,
            });
        }
        if !self.unplayed.is_empty() {
            let unplayed = self.unplayed.iter();
            plans["unfit"] =
                unplayed.map(|one| json!({"file": one.document.name, "reason": one.reason})).collect();
        }
        write_json(out, &plans)
    }

    /// Writes it for people.
    pub fn write_human(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        write_documents(out, &self.plans, color)?;
        for UnplayedDocument { document, reason } in &self.unplayed {
            writeln!(out, "not applicable: {}: {}", line(&document.name), line(reason))?;
        }
        if let Some((repeats, forecast)) = &self.repeats {
            forecast.lines(repeats).iter().try_for_each(|told| writeln!(out, "{}", line(told)))?;
        }
        let Some(cases) = &self.cases else { return writeln!(out, "nothing was started") };
        for planned in cases {
            let mut described = described(planned);
            if let Some(described) = described.as_object_mut() {
                described.remove("id");
            }
            let said = described["said"].as_str().map(str::to_owned);
            writeln!(out, "{}: {}", planned.id(), line(&said.unwrap_or_else(|| described.to_string())))?;
        }
        Ok(())
    }
}

/// What would be done in a case.
fn described(planned: &Planned) -> Value {
    let id = planned.id();
    match planned {
        Planned::Ready(case) => match &case.play {
            Play::Seeds(seeds) => json!({"id": id, "said": seeds.join("\n")}),
            Play::Call { tool, arguments } => json!({"id": id, "call": tool, "arguments": arguments}),
            Play::Series { tool, calls } => json!({"id": id, "call": tool, "series": calls}),
            Play::Review { .. } => json!({"id": id, "reviews": "the list of tools; nothing is sent"}),
            Play::Connection { headers } => json!({"id": id, "connects": headers}),
            Play::Unfilled { missing, .. } => {
                json!({"id": id, "template": case.template.text(), "call": case.tool(), "attacker_fills": missing})
            }
        },
        Planned::Skipped { missing, .. } => {
            json!({"id": id, "skipped": "nothing is known for its placeholders", "missing": missing})
        }
        Planned::NotApplicable { reason, .. } => json!({"id": id, "not_applicable": reason}),
    }
}

fn write_documents(out: &mut dyn Write, plans: &[DocumentPlan], color: bool) -> io::Result<()> {
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
    Ok(())
}

fn write_actor(out: &mut dyn Write, actor: &PlannedActor, color: bool) -> io::Result<()> {
    let name = style::paint(color, style::STRONG, &line(&actor.name));
    write!(out, "  {name} ({})", line(&actor.mode))?;
    if actor.skipped {
        return writeln!(out, " is left out: its mode is not supported");
    }
    if let Some(address) = &actor.listens {
        let free = address.strip_suffix(":0").map(|ip| format!("{ip}, any free port"));
        write!(out, " listens at {}", free.as_ref().unwrap_or(address))?;
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

fn write_indicators(out: &mut dyn Write, plan: &DocumentPlan) -> io::Result<()> {
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
