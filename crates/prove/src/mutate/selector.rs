//! What is not meant: another field, direction, operation or actor.

use sortie_oatf::model::Direction;

use super::Operator;
use super::draft::{About, Drafts};
use super::text::{above, named, quoted};
use crate::scene::Scene;

/// So many neighbours of a field are tried.
const MOST_NEIGHBOURS: usize = 3;

/// So many other operations are tried.
const MOST_SURFACES: usize = 4;

pub(super) fn mutate(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    direction(scene, drafts);
    surface(scene, drafts);
    actor(scene, drafts);
}

const fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Request => Direction::Response,
        Direction::Response => Direction::Request,
    }
}

fn word(direction: Option<Direction>) -> &'static str {
    direction.map_or("both", Direction::as_str)
}

fn direction(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let surface = scene.indicator.surface.as_deref();
    let mut add = |operator, to: Option<Direction>, change: String, wanted: String, equivalent| {
        let from = word(scene.indicator.direction);
        drafts.add_equivalent(
            About { operator, from, to: word(to), change, wanted },
            equivalent,
            |indicator| indicator.direction = to,
        );
    };
    // Without a direction, each half alone; what cannot hold the target is not missed.
    let Some(own) = scene.indicator.direction else {
        for only in [Direction::Request, Direction::Response] {
            let missed = other(only);
            let reason = scene.cannot_match(surface, Some(missed));
            add(
                Operator::SwapDirection,
                Some(only),
                format!("looks at {}s only, instead of both halves", only.as_str()),
                format!("a trace in which it matches in a {}, and nowhere else", missed.as_str()),
                reason,
            );
        }
        return;
    };
    let (own, other) = (own, other(own));
    add(
        Operator::SwapDirection,
        Some(other),
        format!("looks at {}s instead of {}s", other.as_str(), own.as_str()),
        format!("{}, and nothing else", scene.trace_with("is what is looked for")),
        None,
    );
    add(
        Operator::DropDirection,
        None,
        format!("looks at {}s too, not at {}s only", other.as_str(), own.as_str()),
        format!(
            "a trace in which what is looked for stands in a {}, and in no {}",
            other.as_str(),
            own.as_str()
        ),
        scene.cannot_match(surface, Some(other)),
    );
}

fn surface(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let direction = scene.indicator.direction;
    let own = scene.indicator.surface.as_deref();
    let mut add = |operator, to: Option<&str>, change: String, wanted: String, equivalent| {
        let about =
            About { operator, from: own.unwrap_or("every"), to: to.unwrap_or("every"), change, wanted };
        drafts.add_equivalent(about, equivalent, |indicator| indicator.surface = to.map(ToOwned::to_owned));
    };
    let others = scene.other_surfaces();
    if let Some(own) = own {
        let matching: Vec<_> =
            others.iter().filter(|other| scene.cannot_match(Some(other), direction).is_none()).collect();
        let reason = scene.cannot_match_elsewhere();
        let example = matching.first().map_or("another operation".to_owned(), |other| quoted(other));
        add(
            Operator::DropSurface,
            None,
            format!("looks at every operation, not at {} only", quoted(own)),
            format!("a trace in which what is looked for stands in {example}, and not in {}", quoted(own)),
            reason,
        );
    }
    let able = |seen: &&str| Some(*seen) != own && scene.cannot_match(Some(seen), direction).is_none();
    for seen in scene.surfaces_seen().into_iter().filter(able).take(MOST_SURFACES) {
        add(
            Operator::SwapSurface,
            Some(seen),
            format!(
                "looks at {} instead of {}",
                quoted(seen),
                own.map_or("every operation".to_owned(), quoted)
            ),
            format!(
                "{}, and nothing of the kind in {}",
                scene.trace_with("is what is looked for"),
                quoted(seen)
            ),
            None,
        );
    }
}

fn actor(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let others = scene.other_actors();
    let mut add = |operator, to: Option<&str>, change: String, wanted: String, equivalent| {
        let own = scene.indicator.actor.as_deref();
        let about =
            About { operator, from: own.unwrap_or("every"), to: to.unwrap_or("every"), change, wanted };
        drafts.add_equivalent(about, equivalent, |indicator| indicator.actor = to.map(ToOwned::to_owned));
    };
    if let Some(own) = scene.indicator.actor.as_deref() {
        let alone = others.is_empty().then(|| {
            let protocol = scene.indicator.protocol.as_deref().unwrap_or_default();
            format!("no other actor speaks `{protocol}`")
        });
        add(
            Operator::DropActor,
            None,
            format!("looks at the messages of every actor, not of {} only", quoted(own)),
            format!(
                "a trace in which what is looked for is said to another actor, and not to {}",
                quoted(own)
            ),
            alone,
        );
    }
    for other in &others {
        add(
            Operator::SwapActor,
            Some(other),
            format!("looks at the messages of {}", quoted(other)),
            format!("a trace in which what is looked for is not said to {}", quoted(other)),
            None,
        );
    }
}

/// Paths that lead beside what is meant.
pub(super) fn target(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let target = scene.target();
    let mut add = |operator, to: &str, change: String, wanted: String| {
        drafts.add(About { operator, from: target, to, change, wanted }, |indicator| {
            // Normalisation copies the target into the pattern; both say the same then.
            if indicator.target == target {
                to.clone_into(&mut indicator.target);
            }
            if let Some(pattern) = &mut indicator.pattern {
                pattern.target = Some(to.to_owned());
            }
        });
    };
    for neighbour in scene.neighbours(target).into_iter().take(MOST_NEIGHBOURS) {
        let wanted = format!(
            "{}, or one in which it stands in {} and nowhere else",
            scene.trace_with("is what is looked for, and nothing else"),
            quoted(&neighbour),
        );
        let change = format!("looks at {} instead of {}", quoted(&neighbour), named(target));
        add(Operator::ShiftTarget, &neighbour, change, wanted);
    }
    let above = above(target);
    let root = (!target.is_empty() && above != Some("")).then_some("");
    for wider in above.into_iter().chain(root) {
        let wanted = format!(
            "a trace in which {} with what is looked for in {}, and not in {}",
            scene.sent(),
            if wider.is_empty() {
                "another field".to_owned()
            } else {
                format!("another field of {}", quoted(wider))
            },
            named(target),
        );
        let change = format!("looks at {} instead of {}", named(wider), named(target));
        add(Operator::TruncateTarget, wider, change, wanted);
    }
}
