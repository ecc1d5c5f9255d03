//! What one document covers.

use sortie_bindings::{Reachability, Side, is_agent_side, known_surfaces, reachability};
use sortie_oatf::extension::RequiredDelivery;
use sortie_oatf::model::{Attack, Direction, Indicator, extract_protocol};
use sortie_oatf::{Validated, frameworks};

use super::known::{DELIVERY, EVASION};

/// What documents are looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Modes,
    Shapes,
    Categories,
    Impacts,
    Tiers,
    Methods,
    Delivery,
    Evasion,
    /// Those of a protocol.
    Operations(&'static str),
    /// Entries of a framework.
    Framework(&'static str),
}

/// How many take part, and how long it goes on.
pub(super) const SHAPES: &[&str] = &["single phase", "several phases", "several actors", "several protocols"];

impl Kind {
    /// What a document covers of it. The same may come twice.
    pub(super) fn members(self, document: &Validated) -> Vec<String> {
        let attack = &document.attack;
        let class = attack.classification.as_ref();
        let indicators = || attack.indicators.iter().flatten();
        let actors = || attack.execution.actors.iter().flatten();
        match self {
            Self::Modes => actors().map(|actor| actor.mode.clone()).collect(),
            Self::Shapes => shapes(attack),
            Self::Categories => {
                class.and_then(|class| class.category).iter().map(ToString::to_string).collect()
            }
            Self::Impacts => attack.impact.iter().flatten().map(ToString::to_string).collect(),
            Self::Tiers => indicators().filter_map(|own| own.tier).map(|tier| tier.to_string()).collect(),
            Self::Methods => indicators().map(method).collect(),
            Self::Delivery => {
                let served = delivered(document);
                let at = |place: &&super::known::Place| {
                    place.surfaces.iter().any(|surface| served.iter().any(|(_, served)| served == surface))
                };
                let tagged = DELIVERY.iter().filter(|place| has_tag(attack, place.tag));
                // A tag is easily written; what must have been served is checked in every run.
                tagged.filter(at).map(|place| place.tag.to_owned()).collect()
            }
            Self::Evasion => EVASION
                .iter()
                .filter(|(tag, _)| has_tag(attack, tag))
                .map(|(tag, _)| (*tag).to_owned())
                .collect(),
            Self::Operations(protocol) => operations(document, protocol),
            Self::Framework(name) => class
                .iter()
                .flat_map(|class| class.mappings.iter().flatten())
                .filter(|mapping| mapping.framework == name)
                .map(|mapping| entry(name, &mapping.id))
                .collect(),
        }
    }
}

fn has_tag(attack: &Attack, tag: &str) -> bool {
    let tags = attack.classification.iter().flat_map(|class| class.tags.iter().flatten());
    tags.into_iter().any(|own| own == tag)
}

fn method(indicator: &Indicator) -> String {
    match (&indicator.pattern, &indicator.expression) {
        (Some(_), _) => "pattern",
        (_, Some(_)) => "expression",
        _ => "semantic",
    }
    .to_owned()
}

/// An entry of a framework, without the year of its edition: `MCP03` for `MCP-03:2025`.
fn entry(framework: &str, id: &str) -> String {
    let id = frameworks::normalise(framework, id).unwrap_or_else(|_| id.to_owned());
    id.split(':').next().unwrap_or_default().to_owned()
}

fn shapes(attack: &Attack) -> Vec<String> {
    let actors: Vec<_> = attack.execution.actors.iter().flatten().collect();
    let mut protocols: Vec<&str> = actors.iter().map(|actor| extract_protocol(&actor.mode)).collect();
    protocols.sort_unstable();
    protocols.dedup();
    let phases = actors.iter().map(|actor| actor.phases.len()).max().unwrap_or(0);
    let is = [phases <= 1, phases > 1, actors.len() > 1, protocols.len() > 1];
    SHAPES.iter().zip(is).filter(|(_, is)| *is).map(|(shape, _)| (*shape).to_owned()).collect()
}

/// What must have been served: protocols and operations (`x-sortie.delivered`).
fn delivered(document: &Validated) -> Vec<(String, String)> {
    let read = |entry: &RequiredDelivery| {
        let mut actors = document.attack.execution.actors.iter().flatten();
        let actor = actors.find(|actor| actor.name == entry.actor)?;
        Some((extract_protocol(&actor.mode).to_owned(), entry.surface.clone()))
    };
    document.extension().delivered.iter().filter_map(read).collect()
}

/// The operations of a protocol that an attack is delivered by, and those in which its indicators look at the agent.
fn operations(document: &Validated, protocol: &str) -> Vec<String> {
    let attack = &document.attack;
    let served = delivered(document).into_iter().filter(|(of, _)| of == protocol).map(|(_, surface)| surface);
    let indicators = attack.indicators.iter().flatten();
    let own = indicators.filter(|indicator| indicator.protocol.as_deref() == Some(protocol));
    served.chain(own.flat_map(|indicator| looked_at(attack, indicator, protocol))).collect()
}

/// The operation that an indicator names, or those in whose messages the agent can write what it looks at.
fn looked_at(attack: &Attack, indicator: &Indicator, protocol: &str) -> Vec<String> {
    if let Some(surface) = &indicator.surface {
        return vec![surface.clone()];
    }
    if indicator.target.is_empty() {
        // Everything has it, which says nothing.
        return Vec::new();
    }
    let modes: Vec<&str> =
        attack.execution.actors.iter().flatten().map(|actor| actor.mode.as_str()).collect();
    let side = indicator.direction.map(|direction| match direction {
        Direction::Request => Side::Request,
        Direction::Response => Side::Response,
    });
    let writes = |surface: &&str| {
        let possible = reachability(protocol, Some(surface), side, &modes, &indicator.target);
        let of_agent = modes.iter().any(|mode| is_agent_side(mode, Some(surface), side) == Some(true));
        possible == Reachability::Possible && of_agent
    };
    known_surfaces(protocol).into_iter().filter(writes).map(ToOwned::to_owned).collect()
}
