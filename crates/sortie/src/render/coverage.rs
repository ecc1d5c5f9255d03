//! What a set of documents covers, and what it does not.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use sortie_oatf::bindings::{known_modes, known_surfaces};
use sortie_oatf::{Attack, Category, Impact, Tier, extract_protocol};

use super::style;
use crate::inputs::counted;

/// How many documents cover each member of each dimension.
#[derive(Debug)]
pub(crate) struct Coverage {
    documents: usize,
    dimensions: Vec<Dimension>,
}

#[derive(Debug)]
struct Dimension {
    key: &'static str,
    title: String,
    counts: BTreeMap<String, usize>,
    /// Its members in their own order, where they are known: those that nobody covers are said.
    members: Vec<String>,
}

impl Dimension {
    fn new(key: &'static str, title: impl Into<String>, members: impl IntoIterator<Item = String>) -> Self {
        Self { key, title: title.into(), counts: BTreeMap::new(), members: members.into_iter().collect() }
    }

    /// Counts a document once for each of its members.
    fn add(&mut self, mut members: Vec<String>) {
        members.sort();
        members.dedup();
        for member in members {
            *self.counts.entry(member).or_default() += 1;
        }
    }

    fn covered(&self) -> Vec<(&str, usize)> {
        let known =
            self.members.iter().filter_map(|member| Some((member.as_str(), *self.counts.get(member)?)));
        let others = self.counts.iter().filter(|(member, _)| !self.members.contains(member));
        known.chain(others.map(|(member, count)| (member.as_str(), *count))).collect()
    }

    fn missing(&self) -> Vec<&str> {
        self.members.iter().filter(|member| !self.counts.contains_key(*member)).map(String::as_str).collect()
    }
}

/// Frameworks of ten entries each, and how they are called.
const TOP_TENS: [(&str, &str, &str); 3] = [
    ("owasp_mcp", "OWASP MCP Top 10", "MCP"),
    ("owasp_agentic", "OWASP Agentic Top 10", "ASI"),
    ("owasp_llm", "OWASP LLM Top 10", "LLM"),
];

impl Coverage {
    /// Counts documents.
    pub(crate) fn of<'a>(attacks: impl Iterator<Item = &'a Attack>) -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut dimensions = vec![
            Dimension::new("modes", "modes", words(known_modes())),
            Dimension::new(
                "shapes",
                "shapes",
                words(&["single phase", "several phases", "several actors", "several protocols"]),
            ),
            Dimension::new("categories", "categories", words(Category::WORDS)),
            Dimension::new("impacts", "impacts", words(Impact::WORDS)),
            Dimension::new("tiers", "tiers", words(Tier::WORDS)),
            Dimension::new("methods", "indicators decide by", words(&["pattern", "expression", "semantic"])),
        ];
        for protocol in ["mcp", "a2a", "ag_ui"] {
            let known = known_surfaces(protocol).into_iter().map(|surface| format!("{protocol} {surface}"));
            dimensions.push(Dimension::new("surfaces", format!("operations of {protocol}"), known));
        }
        for (framework, title, prefix) in TOP_TENS {
            dimensions.push(Dimension::new(framework, title, (1..=10).map(|n| format!("{prefix}{n:02}"))));
        }
        dimensions.push(Dimension::new("atlas", "MITRE ATLAS", []));
        dimensions.push(Dimension::new("cwe", "CWE", []));
        let mut coverage = Self { documents: 0, dimensions };
        for attack in attacks {
            coverage.documents += 1;
            for dimension in &mut coverage.dimensions {
                let members = members(dimension, attack);
                dimension.add(members);
            }
        }
        coverage
    }

    /// For people.
    pub(crate) fn write(&self, out: &mut dyn Write, color: bool) -> io::Result<()> {
        writeln!(out, "{}", counted(self.documents, "document", "documents"))?;
        for dimension in &self.dimensions {
            writeln!(out, "\n{}", style::paint(color, style::STRONG, &dimension.title))?;
            let covered: Vec<String> = dimension
                .covered()
                .into_iter()
                .map(|(member, count)| format!("{} {count}", short(member)))
                .collect();
            wrapped(out, "covered", &covered)?;
            let missing: Vec<String> =
                dimension.missing().into_iter().map(|member| short(member).to_owned()).collect();
            wrapped(out, "not covered", &missing)?;
        }
        Ok(())
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let dimensions = self.dimensions.iter().map(|dimension| {
            let covered = dimension.covered().into_iter().map(|(member, count)| json!({"member": member, "documents": count}));
            json!({"dimension": dimension.key, "title": dimension.title, "covered": covered.collect::<Vec<_>>(), "not_covered": dimension.missing()})
        });
        json!({"version": 1, "documents": self.documents, "dimensions": dimensions.collect::<Vec<_>>()})
    }
}

/// An operation without its protocol, which stands in the title.
fn short(member: &str) -> &str {
    ["mcp ", "a2a ", "ag_ui "].iter().find_map(|protocol| member.strip_prefix(protocol)).unwrap_or(member)
}

/// Words in lines that fit a terminal.
fn wrapped(out: &mut dyn Write, label: &str, words: &[String]) -> io::Result<()> {
    const WIDTH: usize = 100;
    let mut line = format!("  {label:11}");
    for (place, word) in words.iter().enumerate() {
        let word = if place + 1 < words.len() { format!("{word},") } else { word.clone() };
        if line.len() + 1 + word.len() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(13);
        }
        line.push(' ');
        line.push_str(&word);
    }
    if words.is_empty() { Ok(()) } else { writeln!(out, "{line}") }
}

/// What a document covers of a dimension.
fn members(dimension: &Dimension, attack: &Attack) -> Vec<String> {
    let class = attack.classification.as_ref();
    let indicators = || attack.indicators.iter().flatten();
    let actors = || attack.execution.actors.iter().flatten();
    match dimension.key {
        "modes" => actors().map(|actor| actor.mode.clone()).collect(),
        "shapes" => shapes(attack),
        "categories" => class.and_then(|class| class.category).iter().map(ToString::to_string).collect(),
        "impacts" => attack.impact.iter().flatten().map(ToString::to_string).collect(),
        "tiers" => indicators().filter_map(|indicator| indicator.tier).map(|tier| tier.to_string()).collect(),
        "methods" => indicators()
            .map(|indicator| match (&indicator.pattern, &indicator.expression) {
                (Some(_), _) => "pattern".to_owned(),
                (_, Some(_)) => "expression".to_owned(),
                _ => "semantic".to_owned(),
            })
            .collect(),
        "surfaces" => {
            surfaces(attack).into_iter().filter(|surface| dimension.members.contains(surface)).collect()
        }
        framework => class
            .iter()
            .flat_map(|class| class.mappings.iter().flatten())
            .filter(|mapping| mapping.framework == framework)
            // The year of an edition says nothing about the entry.
            .map(|mapping| mapping.id.split(':').next().unwrap_or_default().to_owned())
            .collect(),
    }
}

fn shapes(attack: &Attack) -> Vec<String> {
    let actors: Vec<_> = attack.execution.actors.iter().flatten().collect();
    let mut protocols: Vec<&str> = actors.iter().map(|actor| extract_protocol(&actor.mode)).collect();
    protocols.sort_unstable();
    protocols.dedup();
    let phases = actors.iter().map(|actor| actor.phases.len()).max().unwrap_or(0);
    let mut shapes = vec![if phases > 1 { "several phases" } else { "single phase" }.to_owned()];
    shapes.extend((actors.len() > 1).then(|| "several actors".to_owned()));
    shapes.extend((protocols.len() > 1).then(|| "several protocols".to_owned()));
    shapes
}

/// The operations that an attack is delivered by, and those in which its indicators look at the agent.
fn surfaces(attack: &Attack) -> Vec<String> {
    let actors = || attack.execution.actors.iter().flatten();
    let delivered =
        attack.extensions.get("x-sortie").and_then(|own| own.get("delivered")).and_then(Value::as_array);
    let mut surfaces: Vec<String> = delivered
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.get("actor")?.as_str()?;
            let actor = actors().find(|actor| actor.name == name)?;
            Some(format!("{} {}", extract_protocol(&actor.mode), entry.get("surface")?.as_str()?))
        })
        .collect();
    for indicator in attack.indicators.iter().flatten() {
        let Some(protocol) = indicator.protocol.as_deref() else { continue };
        let Some(surface) = indicator.surface.as_deref() else { continue };
        surfaces.push(format!("{protocol} {surface}"));
    }
    surfaces
}
