//! Text for the wire, put together once and filled when it is said.

use std::borrow::Cow;

use serde_json::Value;

use crate::actor::ActorState;
use crate::payload::{TooLarge, WirePayload};

/// A piece of text for the wire.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// As it is.
    Text(Cow<'static, str>),
    /// Pass-through content.
    Payload(WirePayload),
}

/// Text for the wire. What refers to nothing is joined when the document is loaded, so that an answer costs one copy.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    parts: Vec<Part>,
    fixed: Option<Box<str>>,
}

impl Wording {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        let is_fixed = |part: &Part| !matches!(part, Part::Payload(payload) if payload.has_templates());
        let fixed = parts.iter().all(is_fixed).then(|| parts.iter().map(Part::text).collect::<String>());
        Self { parts: if fixed.is_some() { Vec::new() } else { parts }, fixed: fixed.map(Into::into) }
    }

    /// A payload alone.
    pub(super) fn of(payload: WirePayload) -> Self {
        Self::new(vec![Part::Payload(payload)])
    }

    /// A payload between two texts.
    pub(super) fn around(before: &'static str, payload: WirePayload, after: &'static str) -> Self {
        Self::new(vec![Part::Text(before.into()), Part::Payload(payload), Part::Text(after.into())])
    }

    /// Payloads as a JSON array between two texts.
    pub(super) fn list(before: &'static str, items: Vec<WirePayload>, after: &'static str) -> Self {
        let mut parts = vec![Part::Text(before.into()), Part::Text("[".into())];
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                parts.push(Part::Text(",".into()));
            }
            parts.push(Part::Payload(item));
        }
        parts.push(Part::Text("]".into()));
        parts.push(Part::Text(after.into()));
        Self::new(parts)
    }

    /// The text, its templates filled.
    pub(super) fn fill(
        &self,
        actor: &ActorState,
        request: Option<&Value>,
        response: Option<&Value>,
    ) -> Result<Cow<'_, str>, TooLarge> {
        if let Some(fixed) = &self.fixed {
            return Ok(Cow::Borrowed(fixed));
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Payload(payload) => text.push_str(&actor.fill(payload, request, response)?.json),
            }
        }
        Ok(Cow::Owned(text))
    }
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Payload(payload) => payload.text(),
        }
    }
}
