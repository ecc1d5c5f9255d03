//! The filters of the bundled library, for `sortie library list` and `sortie run --library`.

use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sortie_bindings::known_modes;
use sortie_library::filter::{FilterError, LibraryFilter};
use sortie_oatf::model::{Category, SeverityLevel};

use crate::Failure;

/// Which documents of the library are meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FilterArgs {
    /// Only attacks with an actor of this mode
    #[arg(long, value_parser = PossibleValuesParser::new(known_modes()))]
    mode: Option<String>,

    /// Only attacks of this category
    #[arg(long, value_parser = one_of::<Category>(Category::WORDS))]
    category: Option<Category>,

    /// Only attacks with this tag. Repeatable: all tags must match
    #[arg(long)]
    tag: Vec<String>,

    /// Only attacks that cover this entry of `sortie library coverage`, such as `homoglyph` or `LLM07`. Repeatable: all must match
    #[arg(long, value_name = "WHAT")]
    covers: Vec<String>,

    /// Only attacks of this severity. Repeatable: any may match
    #[arg(long, value_parser = one_of::<SeverityLevel>(SeverityLevel::WORDS))]
    severity: Vec<SeverityLevel>,
}

/// A parser of the words of an enum.
fn one_of<T: FromStr + Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    // No other word gets to the second step.
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>().map_err(|_| "not one of them"))
}

impl FilterArgs {
    pub(crate) fn filter(&self) -> LibraryFilter {
        LibraryFilter {
            mode: self.mode.clone(),
            category: self.category,
            tags: self.tag.clone(),
            covers: self.covers.clone(),
            severities: self.severity.clone(),
        }
    }

    /// The first option that was given, where one was.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let given = [
            ("--mode", self.mode.is_some()),
            ("--category", self.category.is_some()),
            ("--tag", !self.tag.is_empty()),
            ("--covers", !self.covers.is_empty()),
            ("--severity", !self.severity.is_empty()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        Self::new(error.to_string()).help(error.help())
    }
}
