//! What normalisation writes out that the author left out, and where it would stand.

use sortie_syntax::NodePath;
use sortie_syntax::yaml::emit::{self, EmitNode};

use crate::model::fields::Object;
use crate::model::{Document, Phase};
use crate::normalize::normalize;
use crate::rules::execution_path;

/// A field that normalisation adds to an object of the document as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedDefault {
    /// The object that gets the field.
    pub path: NodePath,
    /// The field.
    pub field: &'static str,
    /// Its value, on one line of YAML.
    pub value: String,
}

/// Every default that [`normalize`] adds, object by object. Changes of form, such as actors around phases, are not among them.
///
/// ```
/// let document = sortie_oatf::parse("
/// oatf: '0.1'
/// attack:
///   name: Notes
///   execution: {mode: mcp_server, state: {tools: []}}
/// ").unwrap();
/// let added = sortie_oatf::defaults::added_defaults(&document);
/// let shown: Vec<_> = added.iter().map(|added| format!("{}.{}: {}", added.path, added.field, added.value)).collect();
/// assert_eq!(shown, ["attack.version: 1", "attack.status: draft"]);
/// ```
pub fn added_defaults(document: &Document) -> Vec<AddedDefault> {
    let normalized = normalize(document);
    let (written, full) = (&document.attack, &normalized.attack);
    let attack = NodePath::root().key("attack");
    let mut added = Added::default();
    added.compare(&attack, written, full);
    added.compare_each(&attack.clone().key("severity"), written.severity.as_ref(), full.severity.as_ref());
    if let (Some(written), Some(full)) = (&written.classification, &full.classification) {
        let path = attack.clone().key("classification").key("mappings");
        added.compare_list(&path, written.mappings.as_deref(), full.mappings.as_deref());
    }
    let all_actors = full.execution.actors.as_deref().unwrap_or_default();
    if let (Some(phases), Some(only)) = (&written.execution.phases, all_actors.first()) {
        added.phases(&execution_path().key("phases"), phases, &only.phases);
    }
    let actors = written.execution.actors.as_deref().unwrap_or_default();
    for (index, (actor, full)) in actors.iter().zip(all_actors).enumerate() {
        let path = execution_path().key("actors").index(index).key("phases");
        added.phases(&path, &actor.phases, &full.phases);
    }
    let indicators = written.indicators.as_deref().unwrap_or_default();
    for (index, full) in full.indicators.iter().flatten().enumerate() {
        let Some(written) = indicators.get(index) else { break };
        let path = attack.clone().key("indicators").index(index);
        added.compare(&path, written, full);
        added.compare_each(&path.clone().key("semantic"), written.semantic.as_ref(), full.semantic.as_ref());
    }
    added.0
}

#[derive(Default)]
struct Added(Vec<AddedDefault>);

impl Added {
    /// The fields that only the second of two objects has.
    fn compare<T: Object>(&mut self, path: &NodePath, written: &T, full: &T) {
        let given = written.given();
        for (field, node) in full.write_fields() {
            if !given.contains(&field)
                && let Some(value) = one_line(&node)
            {
                self.0.push(AddedDefault { path: path.clone(), field, value });
            }
        }
    }

    fn compare_each<T: Object>(&mut self, path: &NodePath, written: Option<&T>, full: Option<&T>) {
        if let (Some(written), Some(full)) = (written, full) {
            self.compare(path, written, full);
        }
    }

    fn compare_list<T: Object>(&mut self, path: &NodePath, written: Option<&[T]>, full: Option<&[T]>) {
        let pairs = written.unwrap_or_default().iter().zip(full.unwrap_or_default());
        for (index, (written, full)) in pairs.enumerate() {
            self.compare(&path.clone().index(index), written, full);
        }
    }

    fn phases(&mut self, path: &NodePath, written: &[Phase], full: &[Phase]) {
        self.compare_list(path, Some(written), Some(full));
        for (index, (written, full)) in written.iter().zip(full).enumerate() {
            self.compare_each(
                &path.clone().index(index).key("trigger"),
                written.trigger.as_ref(),
                full.trigger.as_ref(),
            );
        }
    }
}

/// What fits on one line: a scalar, or a mapping of one field.
fn one_line(node: &EmitNode<'_>) -> Option<String> {
    let mut text = String::new();
    emit::write(node, &mut text);
    let text = text.trim_end();
    let shown = if matches!(node, EmitNode::Mapping(_)) { format!("{{{text}}}") } else { text.to_owned() };
    (!shown.contains('\n')).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_normalisation_that_adds_a_field_is_told_where_it_was_left_out() {
        let text = "
oatf: '0.1'
attack:
  id: ACME-001
  name: Written
  severity: {level: high}
  classification: {mappings: [{framework: owasp_llm, id: LLM01}]}
  execution:
    actors:
      - name: server
        mode: mcp_server
        phases:
          - state: {tools: []}
            trigger: {event: tools/list}
          - {name: second, state: {tools: []}}
  indicators:
    - {protocol: mcp, target: arguments, semantic: {intent: leak}}
";
        let document = crate::parse(text).unwrap();
        let shown: Vec<_> = added_defaults(&document)
            .iter()
            .map(|added| format!("{}.{}: {}", added.path, added.field, added.value))
            .collect();
        assert_eq!(
            shown,
            [
                "attack.version: 1",
                "attack.status: draft",
                "attack.correlation: {logic: any}",
                "attack.severity.confidence: 50",
                "attack.classification.mappings[0].relationship: primary",
                "attack.execution.actors[0].phases[0].name: phase-1",
                "attack.execution.actors[0].phases[0].trigger.count: 1",
                "attack.indicators[0].id: ACME-001-01",
                "attack.indicators[0].semantic.target: arguments",
            ]
        );
    }
}
