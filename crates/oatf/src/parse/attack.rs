//! Reads the document, the attack and its metadata.

use sortie_syntax::yaml::{Node, NodeKind};
use sortie_syntax::{Diagnostic, Edit, Field, ParseErrorKind, Reader, Span, is_null};

use super::execution::execution;
use super::extension;
use super::indicator::indicator;
use crate::model::{
    Attack, Category, Classification, Correlation, CorrelationLogic, Document, FrameworkMapping, Impact,
    Reference, Relationship, Severity, SeverityLevel, Status, fields,
};

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
        match reader.field(entries, *entry, "a document", fields::DOCUMENT, false) {
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
    let mut attack = Attack::default();
    let NodeKind::Mapping(entries) = node.kind else {
        reader.report(|reader| {
            Diagnostic::parse(ParseErrorKind::TypeMismatch, "V-003", "`attack` must be one mapping")
                .at(reader.headline(node))
                .label("exactly one attack")
                .help("an OATF file describes exactly one attack; give others a file of their own")
        });
        return attack;
    };
    let mut has_execution = false;
    let mut after = None;
    for entry in entries {
        let field = match reader.field(entries, *entry, "an attack", fields::ATTACK, true) {
            Field::Known(field) => field,
            Field::Extension => {
                extension(reader, *entry, after, &mut attack.extensions);
                continue;
            }
            Field::Unknown => continue,
        };
        after = Some(field);
        reader.under(*entry, |reader, node| match field {
            "id" => attack.id = reader.string(node),
            "name" => attack.name = reader.string(node),
            "version" => attack.version = reader.integer(node),
            "status" => {
                attack.status = reader.variant(node, "V-005", "a status of a document", Status::WORDS);
            }
            "created" => attack.created = reader.string(node),
            "modified" => attack.modified = reader.string(node),
            "author" => attack.author = reader.string(node),
            "description" => attack.description = reader.string(node),
            "grace_period" => attack.grace_period = reader.string(node),
            "severity" => attack.severity = severity(reader, node),
            "impact" => {
                attack.impact = reader.list(node, "a list of impacts", |reader, item| {
                    reader.variant(item, "V-005", "a kind of impact", Impact::WORDS)
                });
            }
            "classification" => attack.classification = classification(reader, node),
            "references" => {
                attack.references = reader.list(node, "a list of references", reference);
            }
            "execution" if is_null(node) => {}
            "execution" => {
                has_execution = true;
                attack.execution = execution(reader, node);
            }
            "indicators" => {
                attack.indicators =
                    reader.list(node, "a list of indicators", |reader, item| Some(indicator(reader, item)));
            }
            "correlation" => attack.correlation = correlation(reader, node),
            _ => {}
        });
    }
    if !has_execution {
        reader.missing(
            node,
            "V-004",
            "an attack",
            "execution",
            "say how the attack is played: `execution:` with `mode` and `state`, `phases` or `actors`",
        );
    }
    attack
}

fn severity<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Severity> {
    if is_null(node) {
        return None;
    }
    let NodeKind::Mapping(entries) = node.kind else {
        let level = reader.variant(node, "V-005", "a severity level", SeverityLevel::WORDS)?;
        return Some(Severity { level, confidence: None });
    };
    let (mut level, mut confidence, mut has_level) = (None, None, false);
    for entry in entries {
        match reader.field(entries, *entry, "a severity", fields::SEVERITY, false) {
            Field::Known("level") => {
                has_level = reader.is_given(*entry);
                level = reader.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "a severity level", SeverityLevel::WORDS)
                });
            }
            Field::Known("confidence") => confidence = reader.under(*entry, Reader::integer),
            _ => {}
        }
    }
    if !has_level {
        reader.missing(node, "P-010", "a severity", "level", "for example `level: high`");
    }
    // The level only matters when the document is valid, and then it is there.
    Some(Severity { level: level.unwrap_or(SeverityLevel::Informational), confidence })
}

fn classification<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Classification> {
    if is_null(node) {
        return None;
    }
    let mut classification = Classification::default();
    let entries = reader.mapping(node, "a mapping").unwrap_or_default();
    for entry in entries {
        match reader.field(entries, *entry, "a classification", fields::CLASSIFICATION, false) {
            Field::Known("category") => {
                classification.category = reader.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "a category", Category::WORDS)
                });
            }
            Field::Known("mappings") => {
                classification.mappings = reader.under(*entry, |reader, node| {
                    reader.list(node, "a list of framework mappings", framework_mapping)
                });
            }
            Field::Known("tags") => {
                classification.tags = reader.under(*entry, Reader::strings);
            }
            _ => {}
        }
    }
    Some(classification)
}

fn framework_mapping<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<FrameworkMapping> {
    let entries = reader.mapping(node, "a framework mapping")?;
    let mut mapping = FrameworkMapping::default();
    let (mut has_framework, mut has_id) = (false, false);
    for entry in entries {
        match reader.field(entries, *entry, "a framework mapping", fields::MAPPING, false) {
            Field::Known("framework") => {
                has_framework = reader.is_given(*entry);
                mapping.framework = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("id") => {
                has_id = reader.is_given(*entry);
                mapping.id = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("name") => mapping.name = reader.under(*entry, Reader::string),
            Field::Known("url") => mapping.url = reader.under(*entry, Reader::string),
            Field::Known("relationship") => {
                mapping.relationship = reader.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "a relationship", Relationship::WORDS)
                });
            }
            _ => {}
        }
    }
    if !has_framework {
        let help = "for example `framework: owasp_llm`";
        reader.missing(node, "P-010", "a framework mapping", "framework", help);
    }
    if !has_id {
        reader.missing(node, "P-010", "a framework mapping", "id", "for example `id: LLM01`");
    }
    Some(mapping)
}

fn reference<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Reference> {
    let entries = reader.mapping(node, "a reference")?;
    let mut reference = Reference::default();
    let mut has_url = false;
    for entry in entries {
        match reader.field(entries, *entry, "a reference", fields::REFERENCE, false) {
            Field::Known("url") => {
                has_url = reader.is_given(*entry);
                reference.url = reader.under(*entry, Reader::string).unwrap_or_default();
            }
            Field::Known("title") => reference.title = reader.under(*entry, Reader::string),
            Field::Known("description") => {
                reference.description = reader.under(*entry, Reader::string);
            }
            _ => {}
        }
    }
    if !has_url {
        reader.missing(node, "P-010", "a reference", "url", "say where it is to be found");
    }
    Some(reference)
}

fn correlation<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Correlation> {
    if is_null(node) {
        return None;
    }
    let mut correlation = Correlation::default();
    let entries = reader.mapping(node, "a mapping").unwrap_or_default();
    for entry in entries {
        if let Field::Known("logic") =
            reader.field(entries, *entry, "a correlation", fields::CORRELATION, false)
        {
            correlation.logic = reader.under(*entry, |reader, node| {
                reader.variant(node, "V-005", "a correlation logic", CorrelationLogic::WORDS)
            });
        }
    }
    Some(correlation)
}
