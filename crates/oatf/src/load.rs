//! From text to a document that can be relied on.

use std::ops::Deref;

use sortie_syntax::Diagnostic;

use crate::error::{OatfError, ValidationError};
use crate::extension::Extension;
use crate::model::Document;
use crate::normalize::into_normalized;
use crate::parse::parse;
use crate::validate::{ValidationResult, validate};

/// A document that has been validated without an error, and normalised.
///
/// There are two ways to one: [`load`] and [`Validated::new`]. Code that takes one may rely on every guarantee
/// of normalisation: there are actors, indicators have ids and protocols, patterns have conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    pub(crate) document: Document,
    pub(crate) extension: Extension,
}

impl Validated {
    /// Validates and normalises a document; gives the warnings beside it.
    ///
    /// ```
    /// use sortie_oatf::{Validated, parse};
    ///
    /// let document = parse("{oatf: '0.1', attack: {execution: {mode: mcp_server, state: {}}}}").unwrap();
    /// let (validated, warnings) = Validated::new(document).unwrap();
    /// assert_eq!(validated.attack.version, Some(1));
    /// assert!(warnings.is_empty());
    /// ```
    pub fn new(document: Document) -> Result<(Self, Vec<Diagnostic>), Vec<ValidationError>> {
        let ValidationResult { errors, warnings } = validate(&document);
        if !errors.is_empty() {
            return Err(errors);
        }
        // S-010 has found every error in it.
        let (extension, _) = Extension::read(&document.attack);
        Ok((Self { document: into_normalized(document), extension }, warnings))
    }

    /// What its `x-sortie` says.
    pub fn extension(&self) -> &Extension {
        &self.extension
    }

    /// The document itself. What is done to it from here on is nobody's promise.
    pub fn into_inner(self) -> Document {
        self.document
    }
}

impl Deref for Validated {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.document
    }
}

/// A document that can be relied on, and what looks wrong with it all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadResult {
    /// The valid, normalised document.
    pub document: Validated,
    /// What validation warned of, ordered by place.
    pub warnings: Vec<Diagnostic>,
}

/// Parses, validates and normalises. Errors of parsing come alone: what could not be read cannot be judged.
/// ([`crate::analyze`] reports both kinds at once, for whoever shows them to people.)
///
/// ```
/// let loaded = sortie_oatf::load("
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
/// ").unwrap();
/// assert_eq!(loaded.document.attack.name.as_deref(), Some("Untitled"));
///
/// let errors = sortie_oatf::load("oatf: '0.1'").unwrap_err();
/// assert_eq!(errors[0].diagnostic().code, "V-003");
/// ```
pub fn load(input: &str) -> Result<LoadResult, Vec<OatfError>> {
    let all = |errors: Vec<ValidationError>| errors.into_iter().map(OatfError::from).collect::<Vec<_>>();
    let document =
        parse(input).map_err(|errors| errors.into_iter().map(OatfError::from).collect::<Vec<_>>())?;
    let (document, warnings) = Validated::new(document).map_err(all)?;
    Ok(LoadResult { document, warnings })
}
