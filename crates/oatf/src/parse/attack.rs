//! Reads the document, and the attack in it.

use sortie_syntax::yaml::{Node, NodeKind};
use sortie_syntax::{Diagnostic, Edit, Field, ParseErrorKind, Reader, Span};

use crate::model::fields::Object;
use crate::model::{Attack, Document};

pub(crate) fn document(reader: &mut Reader<'_>) -> Option<Document> {
    let root = reader.tree().root();
    let NodeKind::Mapping(entries) = root.kind else {
        reader.report(|reader| {
            Diagnostic::parse(
                ParseErrorKind::TypeMismatch,
                "P-005",
                "a document must be a mapping with `oatf` and `attack`",
            )
            .at(reader.headline(root))
            .help("`sortie new` writes a document to start from")
        });
        return None;
    };
    let mut document = Document::default();
    let (mut has_oatf, mut has_attack) = (false, false);
    for entry in entries {
        match reader.field(entries, *entry, "a document", Document::FIELDS, false) {
            Field::Known("oatf") => {
                has_oatf = true;
                document.oatf = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("$schema") => document.schema = reader.under(*entry, Reader::string),
            Field::Known("attack") => {
                has_attack = true;
                document.attack = reader.under(*entry, attack);
            }
            _ => {}
        }
    }
    if !has_oatf {
        let block = !reader.tree().is_flow(root.id);
        reader.missing_with(root, "V-001", "a document", "oatf", |finding| {
            let finding = finding.help("start with `oatf: \"0.1\"`");
            if !block {
                return finding;
            }
            let span = Span::new(root.span.start, root.span.start);
            let edit = Edit { span, replacement: "oatf: \"0.1\"\n".to_owned() };
            finding.fix("add the version", vec![edit])
        });
    }
    if !has_attack {
        reader.missing(root, "V-003", "a document", "attack", "describe the attack under `attack:`");
    }
    Some(document)
}

fn attack<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Attack {
    if matches!(node.kind, NodeKind::Mapping(_)) {
        return Attack::read_any(reader, node);
    }
    reader.report(|reader| {
        Diagnostic::parse(ParseErrorKind::TypeMismatch, "V-003", "`attack` must be one mapping")
            .at(reader.headline(node))
            .label("exactly one attack")
            .help("an OATF file describes exactly one attack; give others a file of their own")
    });
    Attack::default()
}
