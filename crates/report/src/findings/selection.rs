//! `--deny` and `--allow`: which findings count, and how much.

use sortie_syntax::{Diagnostic, DiagnosticSeverity, Rule};
use thiserror::Error;

use super::{nearest_rule, rule};

/// The code of a document without proofs.
const PROOFS: &str = "L-023";

/// What one argument names, from the vaguest to the most exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Codes {
    /// `warnings`
    Warnings,
    Family(char),
    One(&'static str),
}

impl Codes {
    /// `V-013`, `v-013`; `L`, `L-*`; `warnings`; `proofs`.
    fn parse(option: &'static str, text: &str) -> Result<Self, SelectionError> {
        if text.eq_ignore_ascii_case("proofs") {
            return Ok(Self::One(PROOFS));
        }
        if let Some(rule) = rule(text) {
            return Ok(Self::One(rule.code));
        }
        if text.eq_ignore_ascii_case("warnings") {
            return Ok(Self::Warnings);
        }
        let family = text.strip_suffix("-*").or(text.strip_suffix('*')).unwrap_or(text);
        let mut letters = family.chars();
        if let (Some(letter), None) = (letters.next(), letters.next())
            && FAMILIES.iter().any(|(known, _)| letter.eq_ignore_ascii_case(known))
        {
            return Ok(Self::Family(letter.to_ascii_uppercase()));
        }
        Err(SelectionError::Unknown { option, text: text.to_owned(), nearest: nearest_rule(text) })
    }

    /// Whether a warning with this code is meant.
    fn contains(self, code: &str) -> bool {
        match self {
            Self::Warnings => true,
            Self::Family(letter) => code.starts_with(letter),
            Self::One(own) => own == code,
        }
    }

    /// Whether an error is among the codes.
    fn holds_errors(self) -> bool {
        match self {
            Self::Warnings => false,
            Self::Family(letter) => FAMILIES.contains(&(letter, true)),
            Self::One(code) => rule(code).is_some_and(|rule| rule.severity == DiagnosticSeverity::Error),
        }
    }
}

/// The families, and whether there are errors in them.
const FAMILIES: &[(char, bool)] =
    &[('P', true), ('V', true), ('S', true), ('E', true), ('W', false), ('L', false)];

/// Words of `--deny` and `--allow` that select nothing.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// There is no such code and no such family.
    #[error("`{option} {text}`: there is no code or family `{text}`")]
    Unknown {
        /// The option.
        option: &'static str,
        /// What it was given.
        text: String,
        /// The rule that was probably meant.
        nearest: Option<Rule>,
    },
    /// Something that holds errors was to be allowed.
    #[error("`--allow {0}`: an error cannot be allowed")]
    AllowsError(String),
    /// The same is denied and allowed.
    #[error("`{0}` is both denied and allowed")]
    Contradiction(String),
}

impl SelectionError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { nearest: Some(Rule { code, title, .. }), .. } => {
                format!("did you mean `{code}` ({title})?")
            }
            Self::Unknown { nearest: None, .. } => {
                "`sortie explain --list` shows every code; a family is a letter, such as `L`".to_owned()
            }
            Self::AllowsError(_) => {
                "`sortie explain --list` shows which codes are warnings; `W`, `L` and `warnings` hold nothing else"
                    .to_owned()
            }
            Self::Contradiction(_) => "keep one of the two".to_owned(),
        }
    }
}

/// Which findings are dropped, and which are raised to errors.
#[derive(Debug, Default)]
pub struct Selection {
    deny: Vec<Codes>,
    allow: Vec<Codes>,
}

impl Selection {
    /// Reads what `--deny` and `--allow` were given.
    pub fn new(deny: &[String], allow: &[String]) -> Result<Self, SelectionError> {
        let deny = deny.iter().map(|text| Codes::parse("--deny", text)).collect::<Result<Vec<_>, _>>()?;
        let mut allowed = Vec::with_capacity(allow.len());
        for text in allow {
            let codes = Codes::parse("--allow", text)?;
            if codes.holds_errors() {
                return Err(SelectionError::AllowsError(text.clone()));
            }
            if deny.contains(&codes) {
                return Err(SelectionError::Contradiction(text.clone()));
            }
            allowed.push(codes);
        }
        Ok(Self { deny, allow: allowed })
    }

    /// Drops what is allowed, and makes errors of what is denied. Where both say something about a code, the
    /// more exact one wins: a code over its family, a family over `warnings`.
    pub fn apply(&self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut kept = Vec::with_capacity(findings.len());
        for mut finding in findings {
            if !finding.is_error() {
                if self.allows(finding.code) {
                    continue;
                }
                if self.deny.iter().any(|codes| codes.contains(finding.code)) {
                    finding.severity = DiagnosticSeverity::Error;
                }
            }
            kept.push(finding);
        }
        kept
    }

    /// Whether proofs are asked for. They are by name only: most documents are written before their proofs.
    pub fn asks_for_proofs(&self) -> bool {
        self.deny.contains(&Codes::One(PROOFS))
    }

    /// Whether warnings with this code are to be dropped.
    pub fn allows(&self, code: &str) -> bool {
        let most_exact = |list: &[Codes]| list.iter().filter(|codes| codes.contains(code)).max().copied();
        most_exact(&self.allow) > most_exact(&self.deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    fn warning(code: &'static str) -> Diagnostic {
        Diagnostic::new(DiagnosticSeverity::Warning, code, "")
    }

    #[test]
    fn a_code_wins_over_its_family_and_a_family_over_warnings() {
        for (deny, left) in [
            (Codes::One("L-001"), &[("L-001", "error"), ("W-001", "warning")][..]),
            (Codes::Warnings, &[("W-001", "error")]),
        ] {
            let selection = Selection { deny: vec![deny], allow: vec![Codes::Family('L')] };
            let kept = selection.apply(["L-001", "L-002", "W-001"].map(warning).to_vec());
            let kept: Vec<_> = kept.iter().map(|finding| (finding.code, finding.severity.as_str())).collect();
            assert_eq!(kept, left, "{deny:?}");
        }
    }

    #[test]
    fn families_are_written_in_three_ways() {
        for text in ["l", "L", "L-*", "L*"] {
            assert_eq!(Codes::parse("--deny", text).unwrap(), Codes::Family('L'), "{text}");
        }
        assert!(Codes::parse("--deny", "Q").is_err());
        assert!(Codes::parse("--deny", "").is_err());
    }

    #[test]
    fn proofs_are_asked_for_by_name_only() {
        let asks = |deny: &str| Selection::new(&of(&[deny]), &[]).unwrap().asks_for_proofs();
        assert!(asks("proofs") && asks("L-023") && asks("l-023"));
        assert!(!asks("L") && !asks("warnings") && !asks("L-022"));
    }

    #[test]
    fn an_error_or_what_is_denied_cannot_be_allowed() {
        for (deny, allow, fits) in
            [(&[][..], "V-006", false), (&[], "P", false), (&["V"], "L", true), (&["L"], "L-*", false)]
        {
            assert_eq!(Selection::new(&of(deny), &of(&[allow])).is_ok(), fits, "{deny:?} {allow}");
        }
    }
}
