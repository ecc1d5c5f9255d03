//! Values that the server returned, or took, and the properties that they may be meant for.

use serde_json::{Map, Value};
use sortie_trace::Turn;

use crate::answers::{has_ending, is_kept, places, sent, values};
use crate::names::words;

/// So many values are kept in all.
const MAX_ENTRIES: usize = 1_000;
/// So many of them are tried for one property.
const MAX_OFFERED: usize = 4;

/// Words for places in a file system: values for one may do for another.
const PLACES: &[&str] = &[
    "path",
    "file",
    "filename",
    "filepath",
    "directory",
    "dir",
    "folder",
    "root",
    "repo",
    "repository",
    "source",
];

/// Words for tools that are about one file, and no folder.
const OF_ONE_FILE: &[&str] = &["read", "edit", "get", "show", "view", "open"];

/// Whether a name is one for a place in a file system.
pub(crate) fn is_place(words: &[String]) -> bool {
    words.iter().any(|word| PLACES.contains(&word.as_str()))
}

#[derive(Debug, Default)]
pub(crate) struct ValuePool {
    entries: Vec<PoolEntry>,
}

#[derive(Debug)]
struct PoolEntry {
    /// The words of the key that it stood under.
    key: Vec<String>,
    /// The words of the tool that returned or took it.
    tool: Vec<String>,
    value: String,
}

impl ValuePool {
    /// Keeps what a call that worked was given, and what it returned. Says whether there is anything new.
    pub(crate) fn add(&mut self, tool: &str, arguments: &Map<String, Value>, answer: &Turn) -> bool {
        let before = self.entries.len();
        let of_tool = words(tool);
        let folder = sent(arguments).map(|(_, value)| value).find(|value| value.starts_with('/'));
        for (key, value) in values(answer) {
            // An item of a listing is a name in the folder that was listed.
            let is_item = ["", "name", "file", "path"].contains(&key.as_str()) && !value.contains(['/', ' ']);
            if let Some(folder) = folder.as_ref().filter(|_| is_item) {
                self.keep("path", &of_tool, format!("{}/{value}", folder.trim_end_matches('/')));
            }
            self.keep(&key, &of_tool, value);
        }
        self.add_sent(tool, arguments);
        self.entries.len() > before
    }

    /// Keeps what a call was given. Says whether there is anything new.
    pub(crate) fn add_sent(&mut self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let (before, of_tool) = (self.entries.len(), words(tool));
        for (key, value) in sent(arguments) {
            self.keep(key, &of_tool, value);
        }
        self.entries.len() > before
    }

    /// Keeps the places that a call which failed was answered with, but for those that it was given.
    pub(crate) fn add_places(&mut self, tool: &str, arguments: &Map<String, Value>, answer: &Turn) -> bool {
        let before = self.entries.len();
        let given: Vec<String> = sent(arguments).map(|(_, value)| value).collect();
        // `/path/to/repo` stands for a place, and is none.
        let is_real = |place: &String| !place.starts_with("/path/to") && !given.contains(place);
        for place in places(answer).filter(is_real) {
            self.keep("path", &words(tool), place);
        }
        self.entries.len() > before
    }

    /// Keeps the address and the name of a resource, and where it is a file, its path.
    pub(crate) fn add_resource(&mut self, resource: &Value) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str).filter(|value| is_kept(value));
        let path = text("uri").and_then(|uri| uri.strip_prefix("file://"));
        let of_tool = words("resource");
        for (key, value) in [("uri", text("uri")), ("name", text("name")), ("path", path)] {
            if let Some(value) = value {
                self.keep(key, &of_tool, value.to_owned());
            }
        }
    }

    fn keep(&mut self, key: &str, tool: &[String], value: String) {
        let key = words(key);
        let is_known = self.entries.iter().any(|entry| entry.value == value && entry.key == key);
        if !is_known && self.entries.len() < MAX_ENTRIES {
            self.entries.push(PoolEntry { key, tool: tool.to_vec(), value });
        }
    }

    /// Values that a property of a tool may be meant for, likely ones first.
    pub(crate) fn offered(&self, tool: &str, property: &str) -> Vec<String> {
        let (wanted, of_tool) = (words(property), words(tool));
        let mut found: Vec<(u8, &str)> = self
            .entries
            .iter()
            .filter_map(|entry| Some((entry.score(&wanted, &of_tool)?, entry.value.as_str())))
            .collect();
        // Those of one score stay in the order in which they were seen, but for files where a file is wanted.
        let is_about_file = |words: &[String]| words.iter().any(|word| word == "file");
        let is_one = of_tool.iter().any(|word| OF_ONE_FILE.contains(&word.as_str()));
        let wants_file = is_about_file(&wanted) || (is_one && is_about_file(&of_tool));
        found.sort_by_key(|(score, value)| std::cmp::Reverse((*score, wants_file && has_ending(value))));
        let mut offered: Vec<String> = Vec::new();
        for (_, value) in found {
            if offered.len() < MAX_OFFERED && !offered.iter().any(|known| known == value) {
                offered.push(value.to_owned());
            }
        }
        offered
    }
}

impl PoolEntry {
    /// How likely it is meant for a property; `None` where nothing speaks for it.
    fn score(&self, wanted: &[String], of_tool: &[String]) -> Option<u8> {
        let last = wanted.last()?;
        // `id` of what `list_users` returns is the `user_id` of `get_user`, and the `id` of it.
        let noun_in = |words: &[String]| words.iter().any(|word| word != last && self.tool.contains(word));
        if self.key == wanted {
            return Some(if noun_in(of_tool) && !is_place(wanted) { 6 } else { 5 });
        }
        if self.key.last() == Some(last) {
            let of_noun = noun_in(wanted)
                || noun_in(of_tool)
                || self.key.iter().any(|word| word != last && of_tool.contains(word));
            return Some(if of_noun { 4 } else { 2 });
        }
        // What is called `user` may be the name of one.
        if wanted.len() == 1
            && self.key.len() == 1
            && ["name", "id", "title"].contains(&self.key[0].as_str())
            && self.tool.contains(last)
        {
            return Some(3);
        }
        (is_place(wanted) && (is_place(&self.key) || self.key.is_empty())).then_some(1)
    }
}
