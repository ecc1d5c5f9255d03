//! Which messages a path of a document is about.

use sortie_bindings::Side;
use sortie_oatf::model::{Direction, Document, Indicator, extract_protocol};
use sortie_syntax::{NodePath, Segment};

/// The messages that an indicator, a trigger or an extractor looks at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Messages {
    pub(crate) protocol: String,
    pub(crate) surface: Option<String>,
    pub(crate) side: Option<Side>,
    pub(crate) modes: Vec<String>,
}

impl Messages {
    /// Of the indicator that a path leads into.
    pub(crate) fn of_indicator(document: &Document, path: &NodePath) -> Option<Self> {
        let [Segment::Key(_), Segment::Key(indicators), Segment::Index(index), ..] = path.segments() else {
            return None;
        };
        let indicator =
            document.attack.indicators.as_ref().filter(|_| indicators == "indicators")?.get(*index)?;
        let modes: Vec<String> = document.modes().into_iter().map(str::to_owned).collect();
        Some(Self {
            protocol: protocol(indicator, &modes)?,
            surface: indicator.surface.clone(),
            side: indicator.direction.map(side),
            modes,
        })
    }

    pub(crate) fn modes(&self) -> Vec<&str> {
        self.modes.iter().map(String::as_str).collect()
    }
}

fn protocol(indicator: &Indicator, modes: &[String]) -> Option<String> {
    let of_modes = || modes.first().map(|mode| extract_protocol(mode).to_owned());
    indicator.protocol.clone().or_else(of_modes)
}

fn side(direction: Direction) -> Side {
    match direction {
        Direction::Request => Side::Request,
        Direction::Response => Side::Response,
    }
}

/// The side that a word of `direction` means.
pub(crate) fn side_of(word: &str) -> Option<Side> {
    word.parse().ok().map(side)
}
