//! A flow that is not asked for.

use sortie_oatf::extension::KEY;
use sortie_oatf::model::Extensions;

use super::Operator;
use super::draft::Drafts;
use crate::scene::Scene;

pub(super) fn mutate(scene: &Scene<'_>, drafts: &mut Drafts<'_>) {
    if scene.compiled.flow.is_none() {
        return;
    }
    let change = "does not ask whether the value came in before".to_owned();
    let wanted = format!("{} that did not come in before", scene.trace_with("is something"));
    drafts.add(Operator::DropFlow, ("flow", "none"), (change, wanted), None, |indicator| {
        let mut others = Extensions::default();
        for field in indicator.extensions.iter().filter(|field| field.name != KEY) {
            others.push(field.name.clone(), field.value.clone(), field.after.as_deref());
        }
        indicator.extensions = others;
    });
}
