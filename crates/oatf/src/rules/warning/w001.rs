use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::NodePath;
use sortie_syntax::yaml::NodeKind;

use crate::rules::Rule;

/// `oatf` is the first key of the document. The specification lists this as V-002, too.
pub(crate) const W_001: Rule = Rule {
    code: "W-001",
    spec: "§11.1.2",
    title: "`oatf` is the first key",
    severity: Warning,
    explain: include_str!("w001.md"),
    check: Some(|document, report| {
        let Some(tree) = document.tree() else { return };
        let NodeKind::Mapping([first, ..]) = tree.root().kind else { return };
        if tree.key(*first) != "oatf" && tree.entry(tree.root().id, "oatf").is_some() {
            report
                .add(&W_001, NodePath::root().key("oatf"), "`oatf` is not the first key")
                .at_key()
                .help("move it to the top: it says how to read the rest");
        }
    }),
};
