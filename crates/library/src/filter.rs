//! Which documents of the library are meant.

use sortie_oatf::Validated;
use sortie_oatf::model::{Attack, Category, SeverityLevel};
use sortie_syntax::nearest;
use thiserror::Error;

use crate::{BundledDocument, Coverage, Member, documents};

/// A document of the library, loaded.
pub type LoadedDocument = (&'static BundledDocument, Validated);

/// What must be true of a document, all at once. The default is true of every one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryFilter {
    /// It has an actor of this mode.
    pub mode: Option<String>,
    /// It is of this category.
    pub category: Option<Category>,
    /// It has all of these tags.
    pub tags: Vec<String>,
    /// It covers all of this: words and entries of the coverage.
    pub covers: Vec<String>,
    /// It has one of these severities; any, where none is named.
    pub severities: Vec<SeverityLevel>,
}

/// Why a filter is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// No document has the tag.
    #[error("`--tag`: no document of the library has the tag `{word}`")]
    Tag {
        /// The tag.
        word: String,
        /// The tag that was probably meant.
        nearest: Option<String>,
    },
    /// No document could cover that.
    #[error("`--covers`: no document of the library could cover `{word}`")]
    Covers {
        /// What was to be covered.
        word: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// It is not true of any document.
    #[error("no document of the library is all of that")]
    Nothing,
}

impl FilterError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Tag { nearest: Some(near), .. } | Self::Covers { nearest: Some(near), .. } => {
                format!("did you mean `{near}`?")
            }
            Self::Tag { .. } => "`sortie library list --format json` shows the tags of each".to_owned(),
            Self::Covers { .. } => "`sortie library coverage` shows what there is".to_owned(),
            Self::Nothing => "ask for less, or see with `sortie library coverage` what there is".to_owned(),
        }
    }
}

/// Every document of the library, loaded.
pub fn load_library() -> Vec<LoadedDocument> {
    documents().iter().filter_map(|entry| Some((entry, entry.document()?))).collect()
}

/// What documents cover.
pub fn coverage(documents: &[LoadedDocument]) -> Coverage {
    Coverage::of(documents.iter().map(|(entry, document)| (entry.id(), document)))
}

impl LibraryFilter {
    /// The documents of the library that it is true of, in their order. That there is none is an error.
    pub fn apply(&self, all: Vec<LoadedDocument>) -> Result<Vec<LoadedDocument>, FilterError> {
        self.refuse_unknown_tags(&all)?;
        let covering = self.covering(&all)?;
        let takes = |(entry, document): &LoadedDocument| {
            self.takes(&document.attack) && covering.iter().all(|ids| ids.iter().any(|id| id == entry.id()))
        };
        let chosen: Vec<_> = all.into_iter().filter(takes).collect();
        if chosen.is_empty() { Err(FilterError::Nothing) } else { Ok(chosen) }
    }

    fn takes(&self, attack: &Attack) -> bool {
        let category = attack.classification.as_ref().and_then(|class| class.category);
        let severity = attack.severity.as_ref().map(|severity| severity.level);
        let mut actors = attack.execution.actors.iter().flatten();
        self.mode.as_ref().is_none_or(|mode| actors.any(|actor| actor.mode == *mode))
            && self.category.is_none_or(|wanted| category == Some(wanted))
            && self.tags.iter().all(|tag| tags(attack).any(|own| own == tag))
            && (self.severities.is_empty() || severity.is_some_and(|own| self.severities.contains(&own)))
    }

    fn refuse_unknown_tags(&self, all: &[LoadedDocument]) -> Result<(), FilterError> {
        let known = || all.iter().flat_map(|(_, document)| tags(&document.attack)).map(String::as_str);
        match self.tags.iter().find(|tag| !known().any(|known| known == tag.as_str())) {
            Some(tag) => {
                Err(FilterError::Tag { word: tag.clone(), nearest: nearest(tag, known()).map(str::to_owned) })
            }
            None => Ok(()),
        }
    }

    /// The documents that cover each thing that was asked for.
    fn covering(&self, all: &[LoadedDocument]) -> Result<Vec<Vec<String>>, FilterError> {
        let coverage = coverage(all);
        let ids = |asked: &String| {
            let is = |member: &&Member| member.word.eq_ignore_ascii_case(asked);
            let mut found = coverage.members().filter(is).peekable();
            if found.peek().is_none() {
                let known = coverage.members().map(|member| member.word.as_str());
                let nearest = nearest(asked, known).map(str::to_owned);
                return Err(FilterError::Covers { word: asked.clone(), nearest });
            }
            Ok(found.flat_map(|member| member.documents.clone()).collect())
        };
        self.covers.iter().map(ids).collect()
    }
}

fn tags(attack: &Attack) -> impl Iterator<Item = &String> {
    attack.classification.iter().flat_map(|class| class.tags.iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(filter: &LibraryFilter) -> Vec<&'static str> {
        filter.apply(load_library()).unwrap().iter().map(|(entry, _)| entry.id()).collect()
    }

    #[test]
    fn what_is_asked_for_must_hold_all_at_once() {
        let all = LibraryFilter::default();
        assert_eq!(ids(&all).len(), documents().len());
        let servers = LibraryFilter { mode: Some("mcp_server".to_owned()), ..LibraryFilter::default() };
        let severe = LibraryFilter { severities: vec![SeverityLevel::Critical], ..LibraryFilter::default() };
        let both = LibraryFilter { severities: severe.severities.clone(), ..servers.clone() };
        let severe = ids(&severe);
        let expected: Vec<_> = ids(&servers).into_iter().filter(|id| severe.contains(id)).collect();
        assert!(!expected.is_empty() && expected.len() < severe.len().max(ids(&servers).len()));
        assert_eq!(ids(&both), expected);
    }

    #[test]
    fn unknown_words_are_errors_that_say_what_may_be_meant() {
        let asked = |tag: &str, covers: &str| {
            let words = |word: &str| if word.is_empty() { vec![] } else { vec![word.to_owned()] };
            let filter =
                LibraryFilter { tags: words(tag), covers: words(covers), ..LibraryFilter::default() };
            filter.apply(load_library()).map(|_| ()).unwrap_err()
        };
        assert!(asked("multi-acter", "").help().contains("multi-actor"));
        assert!(asked("", "homoglyhp").help().contains("homoglyph"));
        assert_eq!(LibraryFilter::default().apply(Vec::new()), Err(FilterError::Nothing));
    }
}
