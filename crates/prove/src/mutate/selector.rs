//! What is not meant: another field, direction, operation or actor.

use sortie_oatf::model::Direction;

use super::Operator;
use super::draft::Drafts;
use super::text::{above, named, quoted};
use crate::scene::Scene;

/// So many neighbours of a field and other operations are tried.
const MOST_NEIGHBOURS: usize = 3;
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
    let mut add = |operator, to: Option<Direction>, words, equivalent| {
        let key = (word(scene.indicator.direction), word(to));
        drafts.add(operator, key, words, equivalent, |indicator| indicator.direction = to);
    };
    // Without a direction, each half alone; what cannot hold the target is not missed.
    let Some(own) = scene.indicator.direction else {
        for only in [Direction::Request, Direction::Response] {
            let missed = other(only);
            let change = format!("looks at {only}s only, instead of both halves");
            let wanted = format!("a trace in which it matches in a {missed}, and nowhere else");
            let reason = scene.cannot_match(surface, Some(missed));
            add(Operator::SwapDirection, Some(only), (change, wanted), reason);
        }
        return;
    };
    let other = other(own);
    let change = format!("looks at {other}s instead of {own}s");
    let wanted = format!("{}, and nothing else", scene.trace_with("is what is looked for"));
    add(Operator::SwapDirection, Some(other), (change, wanted), None);
    let change = format!("looks at {other}s too, not at {own}s only");
    let wanted = format!("a trace in which what is looked for stands in a {other}, and in no {own}");
    let reason = scene.cannot_match(surface, Some(other));
    add(Operator::DropDirection, None, (change, wanted), reason);
}

fn surface(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let direction = scene.indicator.direction;
    let own = scene.indicator.surface.as_deref();
    let mut add = |operator, to: Option<&str>, words, equivalent| {
        let key = (own.unwrap_or("every"), to.unwrap_or("every"));
        drafts.add(operator, key, words, equivalent, |indicator| {
            indicator.surface = to.map(ToOwned::to_owned);
        });
    };
    let is_able = |other: &&str| scene.cannot_match(Some(other), direction).is_none();
    if let Some(own) = own {
        let example = scene.other_surfaces().into_iter().find(is_able);
        let example = example.map_or("another operation".to_owned(), quoted);
        let own = quoted(own);
        let change = format!("looks at every operation, not at {own} only");
        let wanted = format!("a trace in which what is looked for stands in {example}, and not in {own}");
        add(Operator::DropSurface, None, (change, wanted), scene.cannot_match_elsewhere());
    }
    let able = scene.surfaces_seen().into_iter().filter(|seen| Some(*seen) != own).filter(is_able);
    for seen in able.take(MOST_SURFACES) {
        let (shown, own) = (quoted(seen), own.map_or("every operation".to_owned(), quoted));
        let change = format!("looks at {shown} instead of {own}");
        let wanted = scene.trace_with("is what is looked for");
        let wanted = format!("{wanted}, and nothing of the kind in {shown}");
        add(Operator::SwapSurface, Some(seen), (change, wanted), None);
    }
}

fn actor(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let others = scene.other_actors();
    let own = scene.indicator.actor.as_deref();
    let mut add = |operator, to: Option<&str>, words, equivalent| {
        let key = (own.unwrap_or("every"), to.unwrap_or("every"));
        drafts.add(operator, key, words, equivalent, |indicator| {
            indicator.actor = to.map(ToOwned::to_owned);
        });
    };
    if let Some(own) = own.map(quoted) {
        let alone = others.is_empty().then(|| {
            let protocol = scene.indicator.protocol.as_deref().unwrap_or_default();
            format!("no other actor speaks `{protocol}`")
        });
        let change = format!("looks at the messages of every actor, not of {own} only");
        let wanted =
            format!("a trace in which what is looked for is said to another actor, and not to {own}");
        add(Operator::DropActor, None, (change, wanted), alone);
    }
    for other in &others {
        let change = format!("looks at the messages of {}", quoted(other));
        let wanted = format!("a trace in which what is looked for is not said to {}", quoted(other));
        add(Operator::SwapActor, Some(other), (change, wanted), None);
    }
}

/// Paths that lead beside what is meant.
pub(super) fn target(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    let target = scene.target();
    let mut add = |operator, to: &str, words| {
        drafts.add(operator, (target, to), words, None, |indicator| {
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
        add(Operator::ShiftTarget, &neighbour, (change, wanted));
    }
    let above = above(target);
    let root = (!target.is_empty() && above != Some("")).then_some("");
    for wider in above.into_iter().chain(root) {
        let of = if wider.is_empty() { String::new() } else { format!(" of {}", quoted(wider)) };
        let (sent, own) = (scene.sent(), named(target));
        let wanted =
            format!("a trace in which {sent} with what is looked for in another field{of}, and not in {own}");
        let change = format!("looks at {} instead of {}", named(wider), named(target));
        add(Operator::TruncateTarget, wider, (change, wanted));
    }
}
