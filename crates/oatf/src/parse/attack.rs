//! Reads the document, the attack and its metadata.

use sortie_syntax::yaml::{Node, NodeKind};
use sortie_syntax::{Diagnostic, Edit, Field, ParseErrorKind, Reader, Span, is_null};

use super::execution::execution;
use super::indicator::indicator;
use super::{object, require};
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
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        reader.report(|reader| {
            Diagnostic::parse(ParseErrorKind::TypeMismatch, "V-003", "`attack` must be one mapping")
                .at(reader.headline(node))
                .label("exactly one attack")
                .help("an OATF file describes exactly one attack; give others a file of their own")
        });
        return attack;
    }
    let extensions = Some(&mut attack.extensions);
    let what = ("an attack", "an attack");
    let given = object(reader, node, what, fields::ATTACK, extensions, |reader, field, node| match field {
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
        "references" => attack.references = reader.list(node, "a list of references", reference),
        "execution" if is_null(node) => {}
        "execution" => attack.execution = execution(reader, node),
        "indicators" => {
            attack.indicators =
                reader.list(node, "a list of indicators", |reader, item| Some(indicator(reader, item)));
        }
        "correlation" => attack.correlation = correlation(reader, node),
        _ => {}
    });
    let help = "say how the attack is played: `execution:` with `mode` and `state`, `phases` or `actors`";
    require(reader, node, ("V-004", "an attack"), given, &[("execution", help)]);
    attack
}

fn severity<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Severity> {
    if is_null(node) {
        return None;
    }
    let level = |reader: &mut Reader<'t>, node| {
        reader.variant(node, "V-005", "a severity level", SeverityLevel::WORDS)
    };
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        return Some(Severity { level: level(reader, node)?, confidence: None });
    }
    // The level only matters when the document is valid, and then it is there.
    let mut severity = Severity { level: SeverityLevel::Informational, confidence: None };
    let what = ("a mapping", "a severity");
    let given = object(reader, node, what, fields::SEVERITY, None, |reader, field, node| match field {
        "level" => severity.level = level(reader, node).unwrap_or(severity.level),
        "confidence" => severity.confidence = reader.integer(node),
        _ => {}
    });
    require(reader, node, ("P-010", "a severity"), given, &[("level", "for example `level: high`")]);
    Some(severity)
}

fn classification<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Classification> {
    if is_null(node) {
        return None;
    }
    let mut classification = Classification::default();
    let what = ("a mapping", "a classification");
    object(reader, node, what, fields::CLASSIFICATION, None, |reader, field, node| match field {
        "category" => {
            classification.category = reader.variant(node, "V-005", "a category", Category::WORDS);
        }
        "mappings" => {
            classification.mappings = reader.list(node, "a list of framework mappings", framework_mapping);
        }
        "tags" => classification.tags = reader.strings(node),
        _ => {}
    });
    Some(classification)
}

fn framework_mapping<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<FrameworkMapping> {
    let mut mapping = FrameworkMapping::default();
    let what = ("a framework mapping", "a framework mapping");
    let given = object(reader, node, what, fields::MAPPING, None, |reader, field, node| match field {
        "framework" => mapping.framework = reader.string(node).unwrap_or_default(),
        "id" => mapping.id = reader.string(node).unwrap_or_default(),
        "name" => mapping.name = reader.string(node),
        "url" => mapping.url = reader.string(node),
        "relationship" => {
            mapping.relationship = reader.variant(node, "V-005", "a relationship", Relationship::WORDS);
        }
        _ => {}
    });
    let is_object = given.is_some();
    let needed = [("framework", "for example `framework: owasp_llm`"), ("id", "for example `id: LLM01`")];
    require(reader, node, ("P-010", "a framework mapping"), given, &needed);
    is_object.then_some(mapping)
}

fn reference<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Reference> {
    let mut reference = Reference::default();
    let what = ("a reference", "a reference");
    let given = object(reader, node, what, fields::REFERENCE, None, |reader, field, node| match field {
        "url" => reference.url = reader.string(node).unwrap_or_default(),
        "title" => reference.title = reader.string(node),
        "description" => reference.description = reader.string(node),
        _ => {}
    });
    let is_object = given.is_some();
    require(reader, node, ("P-010", "a reference"), given, &[("url", "say where it is to be found")]);
    is_object.then_some(reference)
}

fn correlation<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Correlation> {
    if is_null(node) {
        return None;
    }
    let mut correlation = Correlation::default();
    let what = ("a mapping", "a correlation");
    object(reader, node, what, fields::CORRELATION, None, |reader, _, node| {
        correlation.logic = reader.variant(node, "V-005", "a correlation logic", CorrelationLogic::WORDS);
    });
    Some(correlation)
}
