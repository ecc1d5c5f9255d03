//! What was recorded by another program: which silence means something there.

use serde_json::Value;
use sortie_oatf::Validated;
use sortie_oatf::model::{Direction as Side, Indicator, extract_protocol};
use sortie_trace::foreign::{MessageClass, RecordingInfo};
use sortie_trace::{Direction, Message, agent_answer};

/// What an indicator can see of the recording of another program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// Whether names of actors tell there.
    pub(crate) names_tell: bool,
    /// A field that it looks at and that only the end of a stream has.
    derived: Option<String>,
}

impl Sight {
    pub(crate) fn new(document: &Validated, indicator: &Indicator) -> Self {
        let root = target(indicator).split(['.', '[']).next().unwrap_or_default();
        Self {
            names_tell: names_tell(document, indicator.protocol.as_deref()),
            derived: ["_text", "_arguments"].contains(&root).then(|| root.to_owned()),
        }
    }

    /// Whether only some of the messages that it looks at have what it looks at.
    pub(crate) fn is_of_some(&self) -> bool {
        self.derived.is_some()
    }

    /// Whether the actor of a message does not matter.
    pub(crate) fn is_any_actor(&self, message: &Message) -> bool {
        message.source.is_some() && !self.names_tell
    }

    /// Whether a message that it looks at has what only some of them have.
    pub(crate) fn sees(&self, message: &Value) -> bool {
        self.derived.as_deref().is_none_or(|field| message.get(field).is_some())
    }
}

/// The path that an indicator looks at.
fn target(indicator: &Indicator) -> &str {
    let pattern = indicator.pattern.as_ref().and_then(|pattern| pattern.target.as_deref());
    pattern.unwrap_or(&indicator.target)
}

/// Why the silence of an indicator says nothing in this recording; `None` where it would have seen what it looks for.
pub(crate) fn not_shown(indicator: &Indicator, recorded: &RecordingInfo) -> Option<String> {
    let look = Look::of(indicator)?;
    if !recorded.shows.iter().any(|class| look.is_at(class)) {
        return Some(format!("recordings in the format `{}` do not show {}", recorded.format, look.words()));
    }
    let lack = recorded.lacks.iter().find(|lack| look.is_at(&lack.class))?;
    Some(match &lack.setting {
        Some(setting) => format!("{}; `{setting}` would have recorded it", lack.why),
        None => lack.why.clone(),
    })
}

/// What an indicator looks at.
struct Look<'i> {
    protocol: &'i str,
    surface: Option<&'i str>,
    direction: Option<Direction>,
}

impl<'i> Look<'i> {
    fn of(indicator: &'i Indicator) -> Option<Self> {
        let protocol = indicator.protocol.as_deref()?;
        if protocol == agent_answer::PROTOCOL {
            // An answer is the text of a message to the user.
            let direction = Some(Direction::Response);
            return Some(Self { protocol: "ag_ui", surface: Some("text_message_end"), direction });
        }
        let direction = match indicator.direction {
            Some(Side::Request) => Some(Direction::Request),
            Some(Side::Response) => Some(Direction::Response),
            None => half_of(target(indicator)),
        };
        Some(Self { protocol, surface: indicator.surface.as_deref(), direction })
    }

    fn is_at(&self, class: &MessageClass) -> bool {
        self.protocol == class.protocol
            && self.surface.is_none_or(|surface| surface == class.surface)
            && self.direction.is_none_or(|direction| direction == class.direction)
    }

    fn words(&self) -> String {
        let half = match self.direction {
            Some(Direction::Request) => "requests",
            Some(Direction::Response) => "responses",
            None => "messages",
        };
        match self.surface {
            Some(surface) => format!("`{surface}` {half} of `{}`", self.protocol),
            None => format!("{half} of `{}`", self.protocol),
        }
    }
}

/// The half of an exchange that has a path, where only one of the two has it.
fn half_of(target: &str) -> Option<Direction> {
    let root = target.split(['.', '[']).next().unwrap_or_default();
    match root {
        "arguments" | "name" | "message" => Some(Direction::Request),
        "content" | "structuredContent" | "isError" | "_request" => Some(Direction::Response),
        _ => None,
    }
}

/// Whether the name of an actor tells which messages an indicator looks at. In the recording of another program a server is called
/// what its client calls it, so names only tell where a document has several actors of one protocol.
fn names_tell(document: &Validated, protocol: Option<&str>) -> bool {
    let actors = document.attack.execution.actors.iter().flatten();
    let same = actors.filter(|actor| protocol.is_none_or(|own| extract_protocol(&actor.mode) == own));
    same.count() > 1
}

/// Whether what the user was told last is whole, in a recording that does not say where it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    open: Option<String>,
}

impl Runs {
    /// Takes note of a message.
    pub(crate) fn message(&mut self, message: &Message) {
        if message.protocol != "ag_ui" {
            return;
        }
        match message.surfaces.first().map(String::as_str) {
            Some("run_agent_input" | "run_started") => self.open = Some(message.actor.clone()),
            Some("run_finished" | "run_error") => self.open = None,
            _ => {}
        }
    }

    /// Why the end is missing.
    pub(crate) fn cut(&self) -> Option<String> {
        let actor = self.open.as_ref()?;
        Some(format!("the last run that `{actor}` asked for has no `run_finished`"))
    }
}
