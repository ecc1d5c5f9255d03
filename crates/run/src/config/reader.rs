//! Reads TOML tables, and takes note of everything that is wrong with them.

use std::ops::Range;
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
pub(super) type Entry<'t, 'i> = (&'t Key<'i>, &'t Spanned<DeValue<'i>>);

impl Reader {
    /// The tables of a table, each with its name and where that is.
    pub(super) fn named<'t, 'i>(
        &mut self,
        value: &'t Spanned<DeValue<'i>>,
        what: &str,
    ) -> Vec<((Range<usize>, String), &'t DeTable<'i>)> {
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

    /// A list of texts; `form` says so where it is none.
    pub(super) fn list<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        form: &str,
        read: impl Fn(&str) -> Result<T, SpecError>,
    ) -> Vec<T> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), form, None);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(item, &read)).collect()
    }

    /// A list of folders.
    pub(super) fn folders(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<PathBuf> {
        self.list(value, "this is a list of folders: `[\"evaluators\"]`", |text| match text {
            "" => Err("a folder has a name".into()),
            text => Ok(PathBuf::from(text)),
        })
    }

    /// A list of names of environment variables.
    pub(super) fn names(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        self.list(value, "this is a list of names of environment variables", variable_name)
    }

    /// Any text.
    pub(super) fn plain(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        self.text(value, |text| Ok(text.to_owned()))
    }

    /// Notes which fields a table lacks.
    pub(super) fn require(&mut self, at: &Range<usize>, table: &DeTable<'_>, what: &str, fields: &[&str]) {
        for field in fields.iter().filter(|field| !has(table, field)) {
            self.wrong(at.clone(), format!("{what} needs a `{field}`"), None);
        }
    }

    pub(super) fn text<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        read: impl FnOnce(&str) -> Result<T, SpecError>,
    ) -> Option<T> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value.span(), "this is a text, between quotes", None);
            return None;
        };
        read(text).map_err(|error| self.wrong(value.span(), error.0, None)).ok()
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

    pub(super) fn wrong(&mut self, at: Range<usize>, message: impl Into<String>, help: Option<String>) {
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
