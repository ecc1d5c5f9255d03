//! A rule as its file says it.

use serde_json::Value;
use sortie_syntax::yaml::Tree;
use sortie_syntax::{Diagnostic, DiagnosticSeverity, NodePath, Reader, Source};

/// Why a text is not a rule.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuleError {
    /// It is not YAML, or more of it than is read.
    #[error("this is not valid YAML: {}", .findings.first().map_or("", |first| first.message.as_str()))]
    Yaml {
        /// The text.
        source_text: Source,
        /// Everything that is wrong with it.
        findings: Vec<Diagnostic>,
    },
    /// It is YAML, and no rule: it has no `detection`.
    #[error("this is not a rule: it has no `detection`")]
    NotARule,
    /// A part of the rule is missing, or of the wrong type.
    #[error("`{path}` {problem}")]
    Field {
        /// The part.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Whether one condition is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    Any,
    All,
}

/// A rule.
#[derive(Clone, Debug)]
pub(crate) struct AtrRule {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) version: Option<i64>,
    pub(crate) status: String,
    pub(crate) severity: String,
    /// `agent_source.type`
    pub(crate) source: String,
    /// `detection.method`
    pub(crate) method: String,
    /// Whether a rule that asks a model falls back to its patterns.
    pub(crate) falls_back: bool,
    pub(crate) logic: Logic,
    pub(crate) conditions: Vec<RuleCondition>,
    pub(crate) ignores_code: bool,
    /// Whether the rule is also for the files of skills, where every field is the whole text.
    pub(crate) is_for_skills: bool,
    pub(crate) tags: Vec<String>,
    /// Frameworks and identifiers, as the rule writes them.
    pub(crate) mappings: Vec<(&'static str, String)>,
    /// Tests that must trigger, and those that must not.
    pub(crate) positives: Vec<Value>,
    pub(crate) negatives: Vec<Value>,
}

/// A condition of a rule.
#[derive(Clone, Debug)]
pub(crate) struct RuleCondition {
    pub(crate) field: String,
    pub(crate) operator: String,
    pub(crate) value: String,
    pub(crate) description: Option<String>,
    pub(crate) line: usize,
}

impl AtrRule {
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        let (tree, mut findings) = parse_lenient(text);
        let Some(tree) = tree else {
            return Err(RuleError::Yaml { source_text: Source::new(text), findings });
        };
        let mut reader = Reader::new(&tree);
        let rule = reader.value(tree.root());
        findings.extend(reader.finish());
        findings.retain(|finding| finding.severity == DiagnosticSeverity::Error);
        if !findings.is_empty() {
            return Err(RuleError::Yaml { source_text: tree.source().clone(), findings });
        }
        Self::read(&rule, &tree)
    }

    fn read(rule: &Value, tree: &Tree) -> Result<Self, RuleError> {
        let detection = rule.get("detection").ok_or(RuleError::NotARule)?;
        let required = |value: &Value, key: &str| text(value, key).ok_or(missing(key, "must be a text"));
        let tags = &rule["tags"];
        let tests = |key: &str| rule["test_cases"][key].as_array().cloned().unwrap_or_default();
        let references = &rule["references"];
        let mappings = FRAMEWORKS.iter().flat_map(|(key, framework)| {
            texts(&references[*key]).into_iter().map(|id| {
                // `AML.T0051 - LLM Prompt Injection`
                let id = id.split(" - ").next().unwrap_or_default().trim().to_owned();
                (*framework, id)
            })
        });
        Ok(Self {
            id: required(rule, "id")?,
            title: required(rule, "title")?,
            description: text(rule, "description"),
            author: text(rule, "author"),
            date: text(rule, "date"),
            version: rule["rule_version"].as_i64(),
            status: text(rule, "status").unwrap_or_default(),
            severity: text(rule, "severity").unwrap_or_default(),
            source: text(&rule["agent_source"], "type").unwrap_or_default(),
            method: text(detection, "method").unwrap_or_else(|| "pattern".to_owned()),
            falls_back: detection["semantic"]["fallback_method"] == "pattern",
            logic: match text(detection, "condition").as_deref() {
                Some("any" | "or") => Logic::Any,
                // The engine of the rules takes every other word for this.
                _ => Logic::All,
            },
            conditions: conditions(detection, tree)?,
            ignores_code: tags["suppress_in_code_blocks"] == true,
            is_for_skills: tags["scan_target"] == "skill" || tags["scan_target"] == "both",
            tags: ["category", "subcategory"].iter().filter_map(|key| text(tags, key)).collect(),
            mappings: mappings.collect(),
            positives: tests("true_positives"),
            negatives: tests("true_negatives"),
        })
    }
}

/// So many lines are mended.
const MAX_MENDED: usize = 64;

/// What the parser says about a quoted text that goes on too far to the left.
const TOO_FAR_LEFT: &str = "invalid indentation in multiline quoted scalar";

/// Reads YAML, and lets quoted texts go on at any column. The specification forbids that, the reader that rules are written for does
/// not, and where such a line begins makes no difference to the text.
fn parse_lenient(text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
    let mut mended = text.to_owned();
    for _ in 0..MAX_MENDED {
        let (tree, findings) = Tree::parse(&mended);
        let is_left = |finding: &&Diagnostic| finding.message.contains(TOO_FAR_LEFT);
        let at = findings.iter().find(is_left).and_then(|finding| finding.span);
        let Some(at) = at.filter(|_| tree.is_none()) else { return (tree, findings) };
        let line = mended[..at.start.min(mended.len())].rfind('\n').map_or(0, |end| end + 1);
        mended.insert_str(line, &" ".repeat(sortie_syntax::yaml::MAX_NESTING));
    }
    Tree::parse(&mended)
}

/// What rules call frameworks, and what documents call them.
const FRAMEWORKS: &[(&str, &str)] = &[
    ("owasp_llm", "owasp_llm"),
    ("owasp_agentic", "owasp_agentic"),
    ("mitre_atlas", "atlas"),
    ("mitre_attack", "mitre_attack"),
];

/// A rule has at most so many conditions.
const MAX_CONDITIONS: usize = 200;

/// The conditions of a rule; none where they have names, as in the older form.
fn conditions(detection: &Value, tree: &Tree) -> Result<Vec<RuleCondition>, RuleError> {
    if detection["conditions"].is_object() {
        return Ok(Vec::new());
    }
    let problem = "must be a list with at least one condition";
    let listed = detection["conditions"].as_array().filter(|listed| !listed.is_empty());
    let listed = listed.ok_or(missing("detection.conditions", problem))?;
    if listed.len() > MAX_CONDITIONS {
        return Err(missing("detection.conditions", "has more than 200 conditions"));
    }
    let path = NodePath::root().key("detection").key("conditions");
    let conditions = listed.iter().enumerate().map(|(index, condition)| {
        let own = |key: &str| text(condition, key).unwrap_or_default();
        let span = tree.span_of(&path.clone().index(index).key("value"));
        RuleCondition {
            field: own("field"),
            operator: own("operator"),
            value: own("value"),
            description: text(condition, "description"),
            line: tree.source().line_column(span.start).line,
        }
    });
    Ok(conditions.collect())
}

fn missing(path: &str, problem: &'static str) -> RuleError {
    RuleError::Field { path: path.to_owned(), problem }
}

fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| value[key].as_str().unwrap_or_default().to_owned())
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}
