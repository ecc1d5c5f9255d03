//! TOML tables with places: for files that people write, and want to be told everything that is wrong with.
//!
//! ```
//! use sortie_syntax::tables::TableReader;
//! use toml::de::DeTable;
//!
//! let text = "[shop]\nnmae = 'Shoes'\n";
//! let table = DeTable::parse(text)?;
//! let mut reader = TableReader::default();
//! for (_, shop) in reader.named_tables(table.get_ref(), "a shop") {
//!     for (key, value) in shop {
//!         match key.get_ref().as_ref() {
//!             "name" => drop(reader.plain(value)),
//!             _ => reader.unknown(key, "a shop", &["name"]),
//!         }
//!     }
//! }
//! assert_eq!(reader.findings[0].message, "unknown field `nmae` in a shop");
//! assert_eq!(reader.findings[0].help, ["did you mean `name`?"]);
//! # Ok::<(), toml::de::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Diagnostic, DiagnosticSeverity, Edit, Fix, Span, nearest, suggestion};

/// Reads tables, and takes note of everything that is wrong with them.
#[derive(Debug, Default)]
pub struct TableReader {
    /// What is wrong.
    pub findings: Vec<Diagnostic>,
}

/// The key of a member, with its place.
pub type TableKey<'i> = Spanned<Cow<'i, str>>;
/// A member of a table.
pub type TableMember<'t, 'i> = (&'t TableKey<'i>, &'t Spanned<DeValue<'i>>);
/// A table in another one: where its name stands, its name, and its members.
pub type NamedTable<'t, 'i> = ((Range<usize>, String), &'t DeTable<'i>);

impl TableReader {
    /// The tables of a value that is a table, each with its name and where that is.
    pub fn named<'t, 'i>(&mut self, value: &'t Spanned<DeValue<'i>>, what: &str) -> Vec<NamedTable<'t, 'i>> {
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), format!("{what} is a table with a name"), None);
            return Vec::new();
        };
        self.named_tables(table, what)
    }

    /// The tables of a table, each with its name and where that is.
    pub fn named_tables<'t, 'i>(&mut self, table: &'t DeTable<'i>, what: &str) -> Vec<NamedTable<'t, 'i>> {
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
    pub fn list<T, E: Display>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        form: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value.span(), form, None);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(item, &read)).collect()
    }

    /// Any text.
    pub fn plain(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        self.text(value, |text| Ok::<_, std::convert::Infallible>(text.to_owned()))
    }

    /// A text that means something.
    pub fn text<T, E: Display>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value.span(), "this is a text, between quotes", None);
            return None;
        };
        read(text).map_err(|error| self.wrong(value.span(), error.to_string(), None)).ok()
    }

    /// Notes which fields a table lacks.
    pub fn require(&mut self, at: &Range<usize>, table: &DeTable<'_>, what: &str, fields: &[&str]) {
        for field in fields.iter().filter(|field| !has(table, field)) {
            self.wrong(at.clone(), format!("{what} needs a `{field}`"), None);
        }
    }

    /// Notes a field that nobody knows, with a repair where another is near.
    pub fn unknown(&mut self, key: &TableKey<'_>, place: &str, known: &[&str]) {
        let message = format!("unknown field `{}` in {place}", key.get_ref());
        self.wrong(key.span(), message, suggestion(key.get_ref(), known.iter().copied()));
        if let (Some(finding), Some(meant)) =
            (self.findings.last_mut(), nearest(key.get_ref(), known.iter().copied()))
        {
            let span = Span::new(key.span().start, key.span().end);
            let edit = Edit { span, replacement: meant.to_owned() };
            finding.fix = Some(Fix { title: format!("rename the field to `{meant}`"), edits: vec![edit] });
        }
    }

    /// Notes something that is wrong, and where.
    pub fn wrong(&mut self, at: Range<usize>, message: impl Into<String>, help: Option<String>) {
        let mut finding = Diagnostic::new(DiagnosticSeverity::Error, "", message);
        finding.span = Some(Span::new(at.start, at.end));
        finding.help.extend(help);
        self.findings.push(finding);
    }
}

/// Whether a table has a field.
pub fn has(table: &DeTable<'_>, name: &str) -> bool {
    table.iter().any(|(key, _): TableMember<'_, '_>| key.get_ref() == name)
}

/// TOML as JSON; `None` where there is a date or a number that has no place there.
pub fn to_json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(_) => Value::from(to_number(value)?),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| to_json(item.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let member = |(key, value): TableMember<'_, '_>| {
                Some((key.get_ref().to_string(), to_json(value.get_ref())?))
            };
            Value::Object(table.iter().map(member).collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) => return None,
    })
}

/// A number; `None` for anything else.
pub fn to_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}
