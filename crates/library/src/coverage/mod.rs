//! What a set of documents covers, and what it does not: counted, dimension by dimension.

mod known;
mod members;

use serde::Serialize;
use sortie_bindings::{known_modes, known_protocols, known_surfaces};
use sortie_oatf::model::{Category, Impact, Tier};
use sortie_oatf::{Validated, frameworks};

use known::{ATLAS_NOTES, BEYOND, DELIVERY, EVASION, TOP_TENS};
use members::{Kind, SHAPES};

/// The version of the JSON. A change that could break a reader makes it 2.
const VERSION: u32 = 1;

/// What documents cover, as `docs/schema/library-coverage-v1.json` publishes it.
#[derive(Debug, Serialize)]
pub struct Coverage {
    version: u32,
    /// How many documents were counted.
    pub documents: usize,
    /// The ways of looking at them.
    pub dimensions: Vec<Dimension>,
    /// What none of them is about, in sentences.
    pub beyond: &'static [&'static str],
}

/// One way of looking at documents.
#[derive(Debug, Serialize)]
pub struct Dimension {
    #[serde(skip)]
    kind: Kind,
    #[serde(rename = "dimension")]
    key: String,
    /// What people read above it.
    pub title: String,
    /// What there is, in its own order.
    pub members: Vec<Member>,
    /// Those of them that no document covers.
    not_covered: Vec<String>,
    /// What the numbers do not say.
    pub notes: &'static [&'static str],
}

/// Something that a document may cover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The word or identifier.
    #[serde(rename = "member")]
    pub word: String,
    /// What it is called, where it has an identifier or a word that needs explaining.
    pub name: Option<&'static str>,
    /// The ids of the documents that cover it.
    pub documents: Vec<String>,
}

impl Dimension {
    fn new(kind: Kind, key: impl Into<String>, title: impl Into<String>) -> Self {
        let (key, title) = (key.into(), title.into());
        Self { kind, key, title, members: Vec::new(), not_covered: Vec::new(), notes: &[] }
    }

    fn words(mut self, words: &[&str]) -> Self {
        self.members.extend(words.iter().map(|word| Member::new(word, None)));
        self
    }

    fn named<'n>(mut self, members: impl IntoIterator<Item = (&'n str, &'static str)>) -> Self {
        self.members.extend(members.into_iter().map(|(member, name)| Member::new(member, Some(name))));
        self
    }

    fn notes(mut self, notes: &'static [&'static str]) -> Self {
        self.notes = notes;
        self
    }

    /// Counts a document once for each of its members.
    fn add(&mut self, id: &str, document: &Validated) {
        for word in self.kind.members(document) {
            let known = self.members.iter().position(|known| known.word == word);
            let at = match known {
                Some(at) => at,
                // Operations of other protocols are another dimension's.
                None if matches!(self.kind, Kind::Operations(_)) => continue,
                None => {
                    self.members.push(Member::new(&word, None));
                    self.members.len() - 1
                }
            };
            let documents = &mut self.members[at].documents;
            if documents.last().is_none_or(|last| last != id) {
                documents.push(id.to_owned());
            }
        }
    }
}

impl Member {
    fn new(word: &str, name: Option<&'static str>) -> Self {
        Self { word: word.to_owned(), name, documents: Vec::new() }
    }

    /// Whether a document covers it.
    pub fn is_covered(&self) -> bool {
        !self.documents.is_empty()
    }
}

impl Coverage {
    /// Counts documents, each with its id.
    pub fn of<'a>(documents: impl IntoIterator<Item = (&'a str, &'a Validated)>) -> Self {
        let mut coverage = Self { version: VERSION, documents: 0, dimensions: dimensions(), beyond: BEYOND };
        for (id, document) in documents {
            coverage.documents += 1;
            for dimension in &mut coverage.dimensions {
                dimension.add(id, document);
            }
        }
        for dimension in &mut coverage.dimensions {
            if dimension.kind == Kind::Framework("cwe") {
                dimension.members.sort_by_key(|member| (member.word.len(), member.word.clone()));
            }
            let missing = dimension.members.iter().filter(|member| !member.is_covered());
            dimension.not_covered = missing.map(|member| member.word.clone()).collect();
        }
        coverage
    }

    /// Everything that there is, of all dimensions.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.dimensions.iter().flat_map(|dimension| &dimension.members)
    }
}

fn dimensions() -> Vec<Dimension> {
    let mut dimensions = vec![
        Dimension::new(Kind::Modes, "modes", "modes").words(known_modes()),
        Dimension::new(Kind::Shapes, "shapes", "shapes").words(SHAPES),
        Dimension::new(Kind::Categories, "categories", "categories").words(Category::WORDS),
        Dimension::new(Kind::Impacts, "impacts", "impacts").words(Impact::WORDS),
        Dimension::new(Kind::Tiers, "tiers", "tiers that indicators show").words(Tier::WORDS),
        Dimension::new(Kind::Methods, "methods", "indicators decide by").words(&[
            "pattern",
            "expression",
            "semantic",
        ]),
        Dimension::new(Kind::Delivery, "delivery", "where the attack stands")
            .named(DELIVERY.iter().map(|place| (place.tag, place.name))),
        Dimension::new(Kind::Evasion, "evasion", "how it is hidden").named(EVASION.iter().copied()),
    ];
    for protocol in known_protocols() {
        let title = format!("operations of {protocol}, by which attacks are delivered or seen");
        let dimension = Dimension::new(Kind::Operations(protocol), format!("{protocol}_operations"), title);
        dimensions.push(dimension.words(&known_surfaces(protocol)));
    }
    for top_ten in TOP_TENS {
        let dimension = Dimension::new(Kind::Framework(top_ten.framework), top_ten.framework, top_ten.title);
        dimensions.push(
            dimension.named(frameworks::entries(top_ten.framework).iter().copied()).notes(top_ten.notes),
        );
    }
    let atlas = Dimension::new(Kind::Framework("atlas"), "atlas", "MITRE ATLAS");
    dimensions.push(atlas.named(frameworks::entries("atlas").iter().copied()).notes(ATLAS_NOTES));
    dimensions.push(Dimension::new(Kind::Framework("cwe"), "cwe", "CWE"));
    dimensions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BundledDocument, documents};

    fn of_the_library() -> Coverage {
        let loaded: Vec<_> =
            documents().iter().map(|entry| (entry.id(), entry.document().expect("it loads"))).collect();
        Coverage::of(loaded.iter().map(|(id, document)| (*id, document)))
    }

    #[test]
    fn the_library_covers_what_it_is_for() {
        let coverage = of_the_library();
        let count = |key: &str| {
            let dimension = coverage.dimensions.iter().find(|dimension| dimension.key == key).unwrap();
            assert!(dimension.not_covered.is_empty(), "{key}: {:?}", dimension.not_covered);
            dimension.members.len()
        };
        let counts = ["modes", "categories", "impacts", "tiers", "methods", "shapes"].map(count);
        assert_eq!(counts, [5, 7, 8, 3, 3, SHAPES.len()]);
        let counts = ["owasp_mcp", "owasp_agentic", "owasp_llm"].map(count);
        assert_eq!(counts, [10, 10, 10]);
        assert_eq!((count("delivery"), count("evasion")), (DELIVERY.len(), EVASION.len()));
    }

    #[test]
    fn every_document_says_where_it_stands_and_was_served_there() {
        let coverage = of_the_library();
        let delivery = coverage.dimensions.iter().find(|dimension| dimension.key == "delivery").unwrap();
        let placed =
            |id: &str| delivery.members.iter().any(|place| place.documents.iter().any(|of| of == id));
        let lost: Vec<_> = documents().iter().map(BundledDocument::id).filter(|id| !placed(id)).collect();
        assert!(
            lost.is_empty(),
            "no tag says where they are delivered, or `delivered` says otherwise: {lost:?}"
        );
    }

    #[test]
    fn a_technique_is_known_by_its_name_and_other_frameworks_are_listed_as_they_come() {
        let coverage = of_the_library();
        let unnamed =
            coverage.members().filter(|member| member.word.starts_with("AML.") && member.name.is_none());
        assert_eq!(unnamed.map(|member| &member.word).collect::<Vec<_>>(), Vec::<&String>::new());
        assert!(coverage.members().any(|member| member.word.starts_with("CWE-")));
    }
}
