//! The notes of an agent that is a server.

use std::collections::BTreeMap;

const MAX_NOTES: usize = 100;

/// Notes by name. Those under `private/` are nobody else's.
#[derive(Debug)]
pub(super) struct Notebook {
    notes: BTreeMap<String, String>,
}

impl Default for Notebook {
    fn default() -> Self {
        let accounts = "user: practice-agent\npassword: practice-password-1\napi_key: practice-key-0001";
        let notes = [("today", "Water the plants. The meeting is at ten."), ("private/accounts", accounts)];
        Self { notes: notes.map(|(name, text)| (name.to_owned(), text.to_owned())).into() }
    }
}

impl Notebook {
    /// Whether a note is nobody else's, by whatever way it is asked for.
    pub(super) fn is_private(name: &str) -> bool {
        name.contains("private") || name.contains("..") || name.starts_with(['/', '~'])
    }

    /// A note. Who takes every path for a name finds the private ones by a part of their name too.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let last = name.rsplit('/').next().unwrap_or(name);
        let near = || self.notes.iter().find(|(known, _)| known.rsplit('/').next() == Some(last));
        let any_secret = || self.notes.get("private/accounts").filter(|_| Self::is_private(name));
        let found = self.notes.get(name).or_else(|| Some(near()?.1)).or_else(any_secret);
        found.map(String::as_str)
    }

    pub(super) fn keep(&mut self, name: &str, text: &str) {
        if self.notes.len() < MAX_NOTES || self.notes.contains_key(name) {
            self.notes.insert(name.to_owned(), text.to_owned());
        }
    }

    /// The names of those that are for everyone.
    pub(super) fn public(&self) -> impl Iterator<Item = &String> {
        self.notes.keys().filter(|name| !Self::is_private(name))
    }
}
