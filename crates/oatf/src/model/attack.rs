//! The attack envelope.

use super::{
    Category, CorrelationLogic, Execution, Extensions, Framework, Impact, Indicator, Relationship,
    SeverityLevel, Status,
};

/// An attack: who, what, how it is played, and how one sees that it worked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attack {
    /// Unique identifier (`ACME-001`).
    pub id: Option<String>,
    /// Name for people.
    pub name: Option<String>,
    /// Version of the document, from one.
    pub version: Option<i64>,
    /// Where it stands in its life.
    pub status: Option<Status>,
    /// When it was first published: a date or a date and time.
    pub created: Option<String>,
    /// When it was last changed.
    pub modified: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What the attack does and why it matters.
    pub description: Option<String>,
    /// How long to watch after the last phase, as a duration (see [`crate::parse_duration`]).
    pub grace_period: Option<String>,
    /// How bad it is.
    pub severity: Option<Severity>,
    /// What harm it does.
    pub impact: Option<Vec<Impact>>,
    /// Where it stands in frameworks and taxonomies.
    pub classification: Option<Classification>,
    /// Further reading.
    pub references: Option<Vec<Reference>>,
    /// How it is played.
    pub execution: Execution,
    /// How one sees that it worked. Absent: the document can be played, not judged.
    pub indicators: Option<Vec<Indicator>>,
    /// How the indicators combine.
    pub correlation: Option<Correlation>,
    /// Its `x-` fields.
    pub extensions: Extensions,
}

/// How indicators combine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlation {
    /// `any` when absent.
    pub logic: Option<CorrelationLogic>,
}

/// How bad an attack is, and how sure the author is of that.
#[derive(Clone, Debug, PartialEq)]
pub struct Severity {
    /// The level.
    pub level: SeverityLevel,
    /// From 0 to 100; 50 when absent.
    pub confidence: Option<i64>,
}

/// What a reader begins with. The level only matters when the document is valid, and then it is there.
impl Default for Severity {
    fn default() -> Self {
        Self { level: SeverityLevel::Informational, confidence: None }
    }
}

/// Framework mappings and taxonomy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Classification {
    /// The mechanism.
    pub category: Option<Category>,
    /// Entries of external frameworks.
    pub mappings: Option<Vec<FrameworkMapping>>,
    /// Free tags, lower-case with hyphens once normalised.
    pub tags: Option<Vec<String>>,
}

/// An entry of an external framework.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameworkMapping {
    /// The framework; an unknown one is as good as `other`.
    pub framework: Framework,
    /// The entry.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Its permalink.
    pub url: Option<String>,
    /// How closely it fits; `primary` when absent.
    pub relationship: Option<Relationship>,
}

/// Further reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Where.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// What it says.
    pub description: Option<String>,
}
