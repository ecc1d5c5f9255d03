//! `[values]`, and `[profiles.NAME]`: what placeholders of evaluators stand for.

use sortie_evaluators::Values;
use toml::de::DeTable;

use super::reader::Reader;

impl Reader {
    /// Names and texts.
    pub(super) fn values(&mut self, table: &DeTable<'_>) -> Values {
        let mut values = Values::new();
        for (key, value) in table {
            if let Some(text) = self.text(value, |text| Ok(text.to_owned())) {
                values.insert(key.get_ref().to_string(), text);
            }
        }
        values
    }
}
