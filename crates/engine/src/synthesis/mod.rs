//! Content that documents want generated (`synthesize`), and what it must look like before it is sent.
//!
//! OATF 0.1 reserves the block and says what is planned: a prompt with templates, and content that is held to the schema of the
//! message it goes into. Whatever goes wrong is a warning, and what is written out is served instead; a model's refusal is no
//! content.

mod block;
mod shape;

use serde_json::Value;
use sortie_oatf::model::Attack;

pub(crate) use block::Synthesis;
pub(crate) use shape::Shape;

/// Says for each phase that wants content generated that there is nobody to generate it.
pub(crate) fn warnings(attack: &Attack) -> Vec<String> {
    let actors = attack.execution.actors.iter().flatten();
    let phases = actors.flat_map(|actor| actor.phases.iter().map(move |phase| (actor, phase)));
    let wanting = phases.filter(|(_, phase)| phase.state.as_ref().is_some_and(wants));
    let warnings = wanting.map(|(actor, phase)| {
        let (actor, phase) = (&actor.name, phase.name.as_deref().unwrap_or_default());
        format!(
            "W-006: phase `{phase}` of `{actor}` wants content generated (`synthesize`), and nobody here generates any; \
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
