//! Content that documents want generated (`synthesize`), and what it must look like before it is sent.
//!
//! OATF 0.1 reserves the block and says what is planned: a prompt with templates, and content that is held to the schema of the
//! message it goes into. Whatever goes wrong is a warning, and what is written out is served instead; a model's refusal is no
//! content.

use std::fmt::Display;

use crate::actor::ActorState;
use crate::context::ContentGenerator;
use crate::payload::WirePayload;
use serde_json::Value;
use sortie_oatf::model::Attack;
use sortie_oatf::{GenerationError, GenerationErrorKind};
use tokio::runtime::{Handle, RuntimeFlavor};

pub(crate) use sortie_protocol::shape::Shape;

/// Says for each phase that wants content generated that there is nobody to generate it.
pub(crate) fn warnings(attack: &Attack) -> Vec<String> {
    let actors = attack.execution.actors.iter().flatten();
    let phases = actors.flat_map(|actor| actor.phases.iter().map(move |phase| (actor, phase)));
    let wanting = phases.filter(|(_, phase)| phase.state.as_ref().is_some_and(wants));
    let warnings = wanting.map(|(actor, phase)| {
        let (actor, phase) = (&actor.name, phase.name.as_deref().unwrap_or_default());
        format!(
            "W-006: phase `{phase}` of `{actor}` asks for generated content (`synthesize`), but no attacker model is configured; \
             what is written out is served"
        )
    });
    warnings.collect()
}

/// Whether a response entry or a run input in a state has `synthesize`. Content that is put on the wire may have a member of
/// that name, so it is not looked into.
fn wants(state: &Value) -> bool {
    let lists = ["task_responses", "tool_responses", "sampling_responses", "elicitation_responses"];
    let own = lists.iter().filter_map(|key| state.get(key));
    let nested = ["tools", "prompts", "resources"].iter().filter_map(|key| state.get(key)?.as_array());
    let nested = nested.flatten().filter_map(|item| item.get("responses"));
    let entries = own.chain(nested).filter_map(Value::as_array).flatten();
    entries.chain(state.get("run_agent_input")).any(|entry| entry.get("synthesize").is_some())
}

/// Content that a phase wants generated.
#[derive(Clone, Debug)]
pub(crate) struct Synthesis {
    prompt: WirePayload,
    shape: Shape,
}

impl Synthesis {
    /// What an entry of a response list, or the input of a run, wants generated; `None` when it wants nothing.
    pub(crate) fn of(entry: &WirePayload, shape: Shape) -> Option<Self> {
        let prompt = entry.get("synthesize")?.get("prompt").filter(|prompt| prompt.value().is_string())?;
        Some(Self { prompt, shape })
    }

    /// The content, as JSON text. `None` when what is written out is to be served: nobody generates, or what was generated
    /// cannot be sent, which a warning says.
    ///
    /// It waits for a model. A runtime with several threads goes on with the others meanwhile; no lock may be held.
    pub(crate) fn generate(&self, actor: &ActorState, request: Option<&Value>) -> Option<String> {
        let ContentGenerator(provider) = actor.context().generator.as_ref()?;
        // Silence is not the end of the run while a model writes.
        let _working = actor.working();
        let phase = actor.phase().name.clone();
        let generated = self.prompt(actor, request).and_then(|prompt| {
            let request_or_null = request.unwrap_or(&Value::Null);
            let content = waiting(|| provider.generate(&prompt, self.shape.description(), request_or_null))?;
            self.shape.check(&content, request).map_err(|error| invalid(&error))?;
            Ok(content)
        });
        match generated {
            Ok(content) => {
                let text = format!("phase `{phase}` is answered with generated content");
                actor.context().recorder.log(actor.name(), "info", &text);
                Some(content.to_string())
            }
            Err(error) => {
                actor.warn(&format!(
                    "phase `{phase}` wants content generated (`synthesize`), and none was: {error}; what is written out is \
                     served"
                ));
                None
            }
        }
    }

    fn prompt(&self, actor: &ActorState, request: Option<&Value>) -> Result<String, GenerationError> {
        let filled = actor.fill(&self.prompt, request, None).map_err(|error| invalid(&error))?;
        serde_json::from_str(&filled).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &dyn Display) -> GenerationError {
    GenerationError {
        kind: GenerationErrorKind::ValidationFailure,
        message: error.to_string(),
        phase_name: None,
        prompt_preview: None,
    }
}

/// Does something that waits on a thread of the runtime, which is told so where it has others.
fn waiting<T>(work: impl FnOnce() -> T) -> T {
    let many = Handle::try_current().is_ok_and(|own| own.runtime_flavor() == RuntimeFlavor::MultiThread);
    if many { tokio::task::block_in_place(work) } else { work() }
}
