use sortie_oatf::bindings::structural_keys;
use sortie_oatf::model::{ActionKind, Mode};
use sortie_oatf::rules::edits;
use sortie_syntax::DiagnosticSeverity::Warning;
use sortie_syntax::nearest;

use super::Rule;

/// An entry action is one that the mode has.
pub(super) const L_017: Rule = Rule {
    code: "L-017",
    spec: "§7",
    title: "an entry action is one that the mode has",
    severity: Warning,
    explain: include_str!("l017.md"),
    check: Some(|document, report| {
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                let Some(mode) = list.mode_of(phase).filter(|mode| structural_keys(mode).is_some()) else {
                    continue;
                };
                for (index, action) in phase.on_enter.iter().flatten().enumerate() {
                    let ActionKind::Other(actions) = &action.kind else { continue };
                    // Several keys, or none, are V-041's to report.
                    let (Some(name), 1) = (actions.keys().next(), actions.len()) else { continue };
                    let known = actions_of(mode);
                    if known.contains(&name.as_str()) {
                        continue;
                    }
                    let path = path.clone().key("on_enter").index(index).key(name);
                    let finding = report
                        .add(
                            &L_017,
                            path.clone(),
                            format!("`{mode}` has no entry action `{name}`, so it is skipped"),
                        )
                        .at_key();
                    match nearest(name, known.iter().copied()) {
                        Some(meant) => {
                            finding
                                .label(format!("did you mean `{meant}`?"))
                                .fix(format!("write `{meant}`"), edits::rename_key(document, &path, meant));
                        }
                        None => {
                            finding
                                .label("skipped")
                                .help("any message can be sent with `send: {method: ..., params: ...}`");
                        }
                    }
                }
            }
        }
    }),
};

fn actions_of(mode: &str) -> &'static [&'static str] {
    match Mode::of(mode) {
        Mode::A2aServer | Mode::A2aClient => &["send", "log", "send_push_notification"],
        _ => &["send", "log"],
    }
}
