//! Reads `standards`.

use sortie_oatf::Edit;
use sortie_oatf::frameworks::Problem;
use sortie_oatf::reading::{Field, Reader};
use sortie_oatf::yaml::{Entry, Node};

use super::words::shown;
use crate::model::{Standard, Standards};
use crate::rules::{error, warning};

/// Keys that other tools take, and no longer should.
pub(super) const REFUSED: &[&str] = &["ref", "mitre"];

/// Says what to write in place of `ref` and `mitre`.
pub(super) fn refused(reader: &mut Reader<'_>, entry: Entry) {
    let key = reader.tree().key(entry).to_owned();
    let at = reader.tree().node(entry.key).span;
    reader.report(|_| {
        error("E-003", format!("evaluators have no `{key}`"))
            .at(at)
            .label("refused")
            .help("say it under its standard: `standards: {atlas: AML.T0053}` for MITRE ATLAS, `owasp-llm: LLM01` for OWASP")
    });
}

pub(super) fn standards<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Standards {
    let mut standards = Standards::default();
    let Some(entries) = reader.mapping(node, "a mapping of standards to entries") else { return standards };
    for entry in entries {
        let key = reader.tree().key(*entry);
        if REFUSED.contains(&key) {
            refused(reader, *entry);
            continue;
        }
        let Field::Known(key) = reader.field(entries, *entry, "`standards`", Standard::WORDS, false) else {
            continue;
        };
        // The key was just found in the list.
        let Ok(standard) = key.parse::<Standard>() else { continue };
        if let Some(id) = reader.under(*entry, |reader, node| one_entry(reader, node, standard)) {
            standards.insert(standard, id);
        }
    }
    standards
}

fn one_entry<'t>(reader: &mut Reader<'t>, node: Node<'t>, standard: Standard) -> Option<String> {
    if sortie_oatf::reading::is_null(node) {
        reader.mismatch(node, "the id of one entry");
        return None;
    }
    let written = reader.string(node)?;
    let at = reader.headline(node);
    match standard.entry(&written) {
        Ok(entry) if entry == written => Some(entry),
        Ok(entry) => {
            reader.warn(|_| {
                warning("E-102", format!("`{}` is not how `{standard}` writes it", shown(&written)))
                    .at(at)
                    .label(format!("`{entry}`"))
                    .help("it is understood; whoever compares texts does not understand it")
                    .fix(
                        format!("write `{entry}`"),
                        vec![Edit { span: node.span, replacement: entry.clone() }],
                    )
            });
            Some(entry)
        }
        Err(problem) => {
            let what = match problem {
                Problem::Form { .. } => "an identifier",
                Problem::NoEntry { .. } => "an entry",
            };
            reader.report(|_| {
                error("E-009", format!("`{}` is not {what} of `{standard}`", shown(&written)))
                    .at(at)
                    .help(problem.to_string())
            });
            None
        }
    }
}
