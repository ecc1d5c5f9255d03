//! What several tables of `sortie.toml` have: names of variables, folders, and secrets that stand elsewhere.

use std::path::PathBuf;

use sortie_syntax::tables::TableReader;
use sortie_syntax::{Diagnostic, DiagnosticSeverity};
use toml::Spanned;
use toml::de::DeValue;

use crate::SpecError;
use crate::environment::{FromEnv, variable_name};

/// A list of folders.
pub(super) fn folders(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Vec<PathBuf> {
    reader.list(value, "this is a list of folders: `[\"evaluators\"]`", |text| match text {
        "" => Err(SpecError::from("a folder has a name")),
        text => Ok(PathBuf::from(text)),
    })
}

/// A list of names of environment variables.
pub(super) fn names(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Vec<String> {
    reader.list(value, "this is a list of names of environment variables", variable_name)
}

/// Where a secret is. What is written in its place is not shown: it may be the secret itself.
pub(super) fn secret(reader: &mut TableReader, name: &str, value: &Spanned<DeValue<'_>>) -> Option<FromEnv> {
    let read = value.get_ref().as_str().unwrap_or_default().parse::<FromEnv>();
    read.map_err(|error| {
        let message = format!("`{name}`: {error}");
        reader.findings.push(Diagnostic::new(DiagnosticSeverity::Error, "", message));
    })
    .ok()
}
