//! Reads the document, the attack and its metadata.

use super::reader::{Field, Reader, is_null};
use crate::diagnostic::{Diagnostic, Edit, ParseErrorKind};
use crate::model::{
    Attack, Category, Classification, Correlation, CorrelationLogic, Document, FrameworkMapping, Impact,
    Reference, Relationship, Severity, SeverityLevel, Status, fields,
};
use crate::source::Span;
use crate::yaml::{Node, NodeKind};

impl<'t> Reader<'t> {
    pub(crate) fn document(&mut self) -> Option<Document> {
        let root = self.tree.root();
        let NodeKind::Mapping(entries) = root.kind else {
            self.report(|reader| {
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
            match self.field(entries, *entry, "a document", fields::DOCUMENT, false) {
                Field::Known("oatf") => {
                    has_oatf = true;
                    document.oatf = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("$schema") => document.schema = self.under(*entry, Self::string),
                Field::Known("attack") => {
                    has_attack = true;
                    document.attack = self.under(*entry, Self::attack);
                }
                _ => {}
            }
        }
        if !has_oatf {
            let block = !self.tree.is_flow(root.id);
            self.missing_with(root, "V-001", "a document", "oatf", |finding| {
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
            self.missing(root, "V-003", "a document", "attack", "describe the attack under `attack:`");
        }
        Some(document)
    }

    fn attack(&mut self, node: Node<'t>) -> Attack {
        let mut attack = Attack::default();
        let NodeKind::Mapping(entries) = node.kind else {
            self.report(|reader| {
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
            let field = match self.field(entries, *entry, "an attack", fields::ATTACK, true) {
                Field::Known(field) => field,
                Field::Extension => {
                    self.extension(*entry, after, &mut attack.extensions);
                    continue;
                }
                Field::Unknown => continue,
            };
            after = Some(field);
            self.under(*entry, |reader, node| match field {
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
                "severity" => attack.severity = reader.severity(node),
                "impact" => {
                    attack.impact = reader.list(node, "a list of impacts", |reader, item| {
                        reader.variant(item, "V-005", "a kind of impact", Impact::WORDS)
                    });
                }
                "classification" => attack.classification = reader.classification(node),
                "references" => {
                    attack.references = reader.list(node, "a list of references", Self::reference);
                }
                "execution" if is_null(node) => {}
                "execution" => {
                    has_execution = true;
                    attack.execution = reader.execution(node);
                }
                "indicators" => {
                    attack.indicators = reader
                        .list(node, "a list of indicators", |reader, item| Some(reader.indicator(item)));
                }
                "correlation" => attack.correlation = reader.correlation(node),
                _ => {}
            });
        }
        if !has_execution {
            self.missing(
                node,
                "V-004",
                "an attack",
                "execution",
                "say how the attack is played: `execution:` with `mode` and `state`, `phases` or `actors`",
            );
        }
        attack
    }

    fn severity(&mut self, node: Node<'t>) -> Option<Severity> {
        if is_null(node) {
            return None;
        }
        let NodeKind::Mapping(entries) = node.kind else {
            let level = self.variant(node, "V-005", "a severity level", SeverityLevel::WORDS)?;
            return Some(Severity { level, confidence: None });
        };
        let (mut level, mut confidence, mut has_level) = (None, None, false);
        for entry in entries {
            match self.field(entries, *entry, "a severity", fields::SEVERITY, false) {
                Field::Known("level") => {
                    has_level = self.is_given(*entry);
                    level = self.under(*entry, |reader, node| {
                        reader.variant(node, "V-005", "a severity level", SeverityLevel::WORDS)
                    });
                }
                Field::Known("confidence") => confidence = self.under(*entry, Self::integer),
                _ => {}
            }
        }
        if !has_level {
            self.missing(node, "P-010", "a severity", "level", "for example `level: high`");
        }
        // The level only matters when the document is valid, and then it is there.
        Some(Severity { level: level.unwrap_or(SeverityLevel::Informational), confidence })
    }

    fn classification(&mut self, node: Node<'t>) -> Option<Classification> {
        if is_null(node) {
            return None;
        }
        let mut classification = Classification::default();
        let entries = self.mapping(node, "a mapping").unwrap_or_default();
        for entry in entries {
            match self.field(entries, *entry, "a classification", fields::CLASSIFICATION, false) {
                Field::Known("category") => {
                    classification.category = self.under(*entry, |reader, node| {
                        reader.variant(node, "V-005", "a category", Category::WORDS)
                    });
                }
                Field::Known("mappings") => {
                    classification.mappings = self.under(*entry, |reader, node| {
                        reader.list(node, "a list of framework mappings", Self::framework_mapping)
                    });
                }
                Field::Known("tags") => {
                    classification.tags = self.under(*entry, Self::strings);
                }
                _ => {}
            }
        }
        Some(classification)
    }

    fn framework_mapping(&mut self, node: Node<'t>) -> Option<FrameworkMapping> {
        let entries = self.mapping(node, "a framework mapping")?;
        let mut mapping = FrameworkMapping::default();
        let (mut has_framework, mut has_id) = (false, false);
        for entry in entries {
            match self.field(entries, *entry, "a framework mapping", fields::MAPPING, false) {
                Field::Known("framework") => {
                    has_framework = self.is_given(*entry);
                    mapping.framework = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("id") => {
                    has_id = self.is_given(*entry);
                    mapping.id = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("name") => mapping.name = self.under(*entry, Self::string),
                Field::Known("url") => mapping.url = self.under(*entry, Self::string),
                Field::Known("relationship") => {
                    mapping.relationship = self.under(*entry, |reader, node| {
                        reader.variant(node, "V-005", "a relationship", Relationship::WORDS)
                    });
                }
                _ => {}
            }
        }
        if !has_framework {
            let help = "for example `framework: owasp_llm`";
            self.missing(node, "P-010", "a framework mapping", "framework", help);
        }
        if !has_id {
            self.missing(node, "P-010", "a framework mapping", "id", "for example `id: LLM01`");
        }
        Some(mapping)
    }

    fn reference(&mut self, node: Node<'t>) -> Option<Reference> {
        let entries = self.mapping(node, "a reference")?;
        let mut reference = Reference::default();
        let mut has_url = false;
        for entry in entries {
            match self.field(entries, *entry, "a reference", fields::REFERENCE, false) {
                Field::Known("url") => {
                    has_url = self.is_given(*entry);
                    reference.url = self.under(*entry, Self::string).unwrap_or_default();
                }
                Field::Known("title") => reference.title = self.under(*entry, Self::string),
                Field::Known("description") => {
                    reference.description = self.under(*entry, Self::string);
                }
                _ => {}
            }
        }
        if !has_url {
            self.missing(node, "P-010", "a reference", "url", "say where it is to be found");
        }
        Some(reference)
    }

    fn correlation(&mut self, node: Node<'t>) -> Option<Correlation> {
        if is_null(node) {
            return None;
        }
        let mut correlation = Correlation::default();
        let entries = self.mapping(node, "a mapping").unwrap_or_default();
        for entry in entries {
            if let Field::Known("logic") =
                self.field(entries, *entry, "a correlation", fields::CORRELATION, false)
            {
                correlation.logic = self.under(*entry, |reader, node| {
                    reader.variant(node, "V-005", "a correlation logic", CorrelationLogic::WORDS)
                });
            }
        }
        Some(correlation)
    }
}
