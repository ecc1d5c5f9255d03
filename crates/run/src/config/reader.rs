//! Reads TOML tables, and takes note of everything that is wrong with them.

use std::path::PathBuf;

use sortie_syntax::{Diagnostic, DiagnosticSeverity, Span, suggestion};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::SpecError;
use crate::environment::{FromEnv, variable_name};

/// Reads tables, and takes note of everything that is wrong with them.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) findings: Vec<Diagnostic>,
}

pub(super) type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Entry<'t, 'i> = (&'t Key<'i>, &'t Spanned<DeValue<'i>>);

impl Reader {
    /// The tables of a table, each with its name and where that is.
    pub(super) fn named<'t, 'i>(
        &mut self,
        value: &'t Spanned<DeValue<'i>>,
        what: &str,
    ) -> Vec<((std::ops::Range<usize>, String), &'t DeTable<'i>)> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), format!("{what} is a table with a name"), None);
            return Vec::new();
        };
        let mut named = Vec::new();
        for (name, value) in table {
            match value.get_ref().as_table() {
                Some(table) => named.push(((name.span(), name.get_ref().to_string()), table)),
                None => self.wrong(value.span(), format!("{what} is a table"), None),
            }
        }
        named
    }

    /// A list of folders.
    pub(super) fn folders(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<PathBuf> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), "this is a list of folders: `[\"evaluators\"]`".into(), None);
            return Vec::new();
        };
        let folder = |text: &str| match text {
            "" => Err("a folder has a name".into()),
            text => Ok(PathBuf::from(text)),
        };
        items.iter().filter_map(|item| self.text(item, folder)).collect()
    }

    /// A list of names of environment variables.
    pub(super) fn names(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), "this is a list of names of environment variables".into(), None);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(item, variable_name)).collect()
    }

    pub(super) fn text<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        read: impl FnOnce(&str) -> Result<T, SpecError>,
    ) -> Option<T> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value.span(), "this is a text, between quotes".into(), None);
            return None;
        };
        read(text).map_err(|error| self.wrong(value.span(), error.to_string(), None)).ok()
    }

    /// Where a secret is. What is written in its place is not shown: it may be the secret itself.
    pub(super) fn secret(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<FromEnv> {
        let read = value.get_ref().as_str().unwrap_or_default().parse::<FromEnv>();
        read.map_err(|error| {
            let message = format!("`{name}`: {error}");
            self.findings.push(Diagnostic::new(DiagnosticSeverity::Error, "", message));
        })
        .ok()
    }

    pub(super) fn unknown(&mut self, key: &Key<'_>, place: &str, known: &[&str]) {
        let message = format!("unknown field `{}` in {place}", key.get_ref());
        self.wrong(key.span(), message, suggestion(key.get_ref(), known.iter().copied()));
    }

    pub(super) fn wrong(&mut self, at: std::ops::Range<usize>, message: String, help: Option<String>) {
        let mut finding = Diagnostic::new(DiagnosticSeverity::Error, "", message);
        finding.span = Some(Span::new(at.start, at.end));
        finding.help.extend(help);
        self.findings.push(finding);
    }
}

/// Whether a table has a field.
pub(super) fn has(table: &DeTable<'_>, name: &str) -> bool {
    table.iter().any(|(key, _): Entry<'_, '_>| key.get_ref() == name)
}
