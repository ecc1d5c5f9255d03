//! What a document needs of the servers that it attacks: `x-sortie.needs`.

use serde_json::Value;
use sortie_oatf::Compiled;

/// What an actor needs of the server that it attacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The actor.
    pub actor: String,
    /// The tools that the server must offer. Without one of them a refusal says nothing: whatever is not there cannot be
    /// attacked.
    pub tools: Vec<String>,
}

impl Need {
    /// What a document says that it needs, as far as it can be understood; `sortie check` warns about the rest.
    pub fn of(document: &Compiled) -> Vec<Self> {
        let attack = &document.document().attack;
        let entries = attack.extensions.get("x-sortie").and_then(|extension| extension.get("needs"));
        let needs = entries.and_then(Value::as_array).into_iter().flatten().filter_map(|entry| {
            let tools = entry.get("tools")?.as_array()?.iter().filter_map(Value::as_str);
            let (actor, tools) = (entry.get("actor")?.as_str()?.to_owned(), tools.map(str::to_owned));
            Some(Self { actor, tools: tools.collect() })
        });
        needs.collect()
    }
}
