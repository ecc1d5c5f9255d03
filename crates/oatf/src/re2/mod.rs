//! Stand-in until the translator lands.
#![allow(missing_docs)]
#[derive(Debug, Clone)]
pub struct Regex(regex_automata::meta::Regex, String);
#[derive(Debug, Clone)]
pub struct Re2Error {
    pub span: std::ops::Range<usize>,
    pub message: String,
    pub help: Option<String>,
}
impl Regex {
    pub fn new(p: &str) -> Result<Self, Re2Error> {
        regex_automata::meta::Regex::new(p).map(|r| Self(r, p.into())).map_err(|e| Re2Error {
            span: 0..p.len(),
            message: e.to_string(),
            help: None,
        })
    }
    pub fn as_str(&self) -> &str {
        &self.1
    }
    pub fn is_match(&self, t: &str) -> bool {
        self.0.is_match(t)
    }
    pub fn find(&self, t: &str) -> Option<std::ops::Range<usize>> {
        self.0.find(t).map(|m| m.range())
    }
    pub fn group_count(&self) -> usize {
        self.0.captures_len() - 1
    }
    pub fn first_group<'t>(&self, t: &'t str) -> Option<&'t str> {
        let mut c = self.0.create_captures();
        self.0.captures(t, &mut c);
        c.get_group(1).map(|s| &t[s.range()])
    }
    pub fn matches_empty(&self) -> bool {
        self.0.is_match("")
    }
}
pub fn check(p: &str) -> Result<(), Re2Error> {
    Regex::new(p).map(drop)
}
