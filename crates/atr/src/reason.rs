//! Why a rule, or a condition of one, is left out.

use std::path::PathBuf;

use serde::Serialize;
use sortie_syntax::closed_enum;

use crate::pattern::PatternErrorKind;

closed_enum! {
    /// Why something is left out.
    LeftOutReason {
        /// RE2 has no look-around, and it cannot be taken out without a change of what is found.
        LookAround = "look_around",
        /// RE2 has no back-references.
        BackReference = "back_reference",
        /// JavaScript refuses the pattern, so the rule's own engine never finds anything with it.
        InvalidPattern = "invalid_pattern",
        /// The pattern asks for half of a character.
        HalfCharacter = "half_character",
        /// The pattern, or all patterns of the rule together, are larger than a document may have.
        TooLarge = "too_large",
        /// The pattern matches every text.
        Vacuous = "vacuous",
        /// No message has the field, so the condition can never hold.
        DeadField = "dead_field",
        /// The pattern matches at least half of the texts that other rules call harmless.
        AlwaysOn = "always_on",
        /// Only the operator `regex` is known.
        UnsupportedOperator = "unsupported_operator",
        /// The rule looks at more than one message: its method is `trace`, `behavioral` or `signature`.
        UnsupportedMethod = "unsupported_method",
        /// The rule asks a model, and has no pattern for the case that there is none.
        NeedsModel = "needs_model",
        /// The status is `draft` or `deprecated`: the rule's own engine does not run it.
        Inactive = "inactive",
        /// All conditions must hold, and one of them is left out.
        Incomplete = "incomplete",
        /// Every condition is left out.
        NoConditions = "no_conditions",
    }
    /// How a document differs from its rule, beside the conditions that are left out.
    ImportNote {
        /// The rule's own engine ignores what stands in code of Markdown; the document does not.
        CodeBlocks = "code_blocks",
        /// The rule asks a model first. The document has what the rule falls back to.
        FallbackOnly = "fallback_only",
        /// All conditions must hold for one text. Arguments of calls are not looked at, since an expression cannot name every text in them.
        NotInArguments = "not_in_arguments",
    }
    /// Why a document and the author of a rule disagree about a test.
    Disagreement {
        /// The rule must find something, and has conditions that are left out.
        ConditionLeftOut = "condition_left_out",
        /// The rule must find nothing, and its own engine ignores what stands in code.
        CodeBlocks = "code_blocks",
        /// Nobody knows: a mistake of the rule, of its test, or of ours.
        Unexplained = "unexplained",
    }
}

impl LeftOutReason {
    /// One sentence for people.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::LookAround => "look-around that RE2 does not have, and that cannot be taken out exactly",
            Self::BackReference => "a back-reference, which RE2 does not have",
            Self::InvalidPattern => "a pattern that JavaScript refuses, so that it never finds anything",
            Self::HalfCharacter => "a pattern that asks for half of a character",
            Self::TooLarge => "patterns that are larger than a document may have",
            Self::Vacuous => "a pattern that matches every text",
            Self::DeadField => "a field that no message has",
            Self::AlwaysOn => "a pattern that matches half of what other rules call harmless",
            Self::UnsupportedOperator => "an operator other than `regex`",
            Self::UnsupportedMethod => "a method that looks at more than one message",
            Self::NeedsModel => "a model is asked, and there is no pattern to fall back to",
            Self::Inactive => "a draft or deprecated rule, which its own engine does not run",
            Self::Incomplete => "all conditions must hold, and one is left out",
            Self::NoConditions => "every condition is left out",
        }
    }
}

impl ImportNote {
    /// One sentence for people.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::CodeBlocks => {
                "the engine of the rules ignores matches in code of Markdown; the document does not"
            }
            Self::FallbackOnly => {
                "the rule asks a model first; the document has the patterns that it falls back to"
            }
            Self::NotInArguments => {
                "all conditions must hold for one text; arguments of calls are not looked at"
            }
        }
    }
}

impl From<PatternErrorKind> for LeftOutReason {
    fn from(kind: PatternErrorKind) -> Self {
        match kind {
            PatternErrorKind::LookAround => Self::LookAround,
            PatternErrorKind::BackReference => Self::BackReference,
            PatternErrorKind::Invalid => Self::InvalidPattern,
            PatternErrorKind::TooLarge => Self::TooLarge,
            PatternErrorKind::HalfCharacter => Self::HalfCharacter,
        }
    }
}

/// A condition of a rule that its document does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedCondition {
    /// Its number in the rule, from one.
    pub condition: usize,
    /// Its line in the file of the rule, from one.
    pub line: usize,
    /// The field it looks at.
    pub field: String,
    /// Why it is left out.
    pub reason: LeftOutReason,
    /// What is wrong, in words.
    pub detail: String,
}

/// A rule without a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The file of the rule, below the folder that was loaded; empty for a rule that is in none.
    pub file: PathBuf,
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Why there is no document.
    pub reason: LeftOutReason,
    /// What is wrong, in words.
    pub detail: String,
    /// Its conditions that cannot be had, where that is the reason.
    pub skipped: Vec<SkippedCondition>,
    /// How many tests it has.
    pub tests: usize,
}
