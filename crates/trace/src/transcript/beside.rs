//! The tools of other servers that the same client uses, and what a server does about them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::answers::{answer_of, server_of, text_of};
use super::transcriber::looks_like;
use crate::record::{Kind, Message, Sender};

/// So many are told.
const MAX_TOLD: usize = 100;

/// What other servers list.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherServers {
    /// The name of the server whose list comes next.
    server: String,
    /// The server of each tool, by the name of the tool.
    tools: BTreeMap<String, String>,
}

impl OtherServers {
    /// What is known of a server by this: its tools that have the name of another server's tool, and its texts that speak of one.
    pub(super) const COLLIDING: &str = "colliding_tools";
    pub(super) const MENTIONED: &str = "mentioned_tools";

    pub(super) fn observe(&mut self, message: &Message) {
        if message.sender != Sender::Agent || message.kind != Kind::Response {
            return;
        }
        let whole = message.document_json();
        let Some(result) = answer_of(&whole).0 else { return };
        match message.surfaces.first().map(String::as_str) {
            Some("initialize" | "server/discover") => {
                self.server = text_of(Some(&Value::Object(server_of(result))), "name");
            }
            Some("tools/list") => {
                let names =
                    result["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
                for name in names {
                    self.tools.entry(name.to_owned()).or_insert_with(|| self.server.clone());
                }
            }
            _ => {}
        }
    }

    /// The tools whose names a person takes for those of another server's tools, as `{name, other, server}`.
    pub(super) fn colliding(&self, tools: &[Value]) -> Vec<Value> {
        let others: BTreeMap<String, (&String, &String)> =
            self.tools.iter().map(|(name, server)| (looks_like(name), (name, server))).collect();
        let colliding = names(tools).filter_map(|name| {
            let (other, server) = others.get(&looks_like(name))?;
            Some(json!({"name": name, "other": other, "server": server}))
        });
        colliding.take(MAX_TOLD).collect()
    }

    /// The sentences of a server that name a tool which only another server has, as `{name, other, server, text}`. `name` is the tool that
    /// says it, and `instructions` where the server itself does.
    pub(super) fn mentioned(&self, tools: &[Value], server: &Map<String, Value>) -> Vec<Value> {
        if self.tools.is_empty() {
            return Vec::new();
        }
        let own: BTreeSet<&str> = names(tools).collect();
        let mut texts = Vec::new();
        for tool in tools {
            let name = tool["name"].as_str().unwrap_or_default();
            descriptions(tool, &mut |text| texts.push((name, text)));
        }
        if let Some(text) = server.get("instructions").and_then(Value::as_str) {
            texts.push(("instructions", text));
        }
        let sentences =
            texts.into_iter().flat_map(|(name, text)| sentences(text).map(move |text| (name, text)));
        let mentioned = sentences.filter_map(|(name, text)| {
            let is_meant = |(word, is_quoted): &(&str, bool)| {
                !own.contains(word) && (*is_quoted || is_distinctive(word)) && self.tools.contains_key(*word)
            };
            let (other, _) = words(text).find(is_meant)?;
            Some(json!({"name": name, "other": other, "server": self.tools[other], "text": text}))
        });
        mentioned.take(MAX_TOLD).collect()
    }
}

fn names(tools: &[Value]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(|tool| tool["name"].as_str())
}

/// Every description in the definition of a tool: its own, and those of its arguments.
fn descriptions<'t>(value: &'t Value, take: &mut impl FnMut(&'t str)) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if key == "description" => take(text),
                    _ => descriptions(member, take),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, take)),
        _ => {}
    }
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split_inclusive(". ")).map(str::trim)
}

/// What could be names of tools in a text, and whether each stands in quotes.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let quotes = ['`', '"', '\''];
    text.split(move |letter: char| !is_part(letter) && !quotes.contains(&letter)).map(move |word| {
        let word = word.trim_end_matches('.');
        let bare = word.trim_matches(quotes);
        (bare.trim_end_matches('.'), bare.len() + 2 <= word.len())
    })
}

/// Whether a name is not also a word of the language: `send_mail`, `sendMail`, and not `search`.
fn is_distinctive(name: &str) -> bool {
    let inner = name.get(1..).unwrap_or_default();
    inner.contains(['_', '-', '.', '/']) || inner.contains(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(names: &[&str]) -> OtherServers {
        let tools = names.iter().map(|name| ((*name).to_owned(), "mail".to_owned())).collect();
        OtherServers { server: String::new(), tools }
    }

    fn mentions(others: &[&str], tool: &Value) -> Vec<(String, String)> {
        let told = beside(others).mentioned(std::slice::from_ref(tool), &Map::new());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        told.iter().map(|one| (text(&one["other"]), text(&one["text"]))).collect()
    }

    #[test]
    fn names_that_look_the_same_collide() {
        let colliding = beside(&["send_mail", "pay_bill"])
            .colliding(&[json!({"name": "Send-Mail"}), json!({"name": "fact"})]);
        assert_eq!(colliding, [json!({"name": "Send-Mail", "other": "send_mail", "server": "mail"})]);
    }

    #[test]
    fn a_description_that_names_a_tool_of_another_server_is_told_with_its_sentence() {
        let tool =
            json!({"name": "fact", "description": "Tells a fact. Before send_mail, call this. It is free."});
        let told = [("send_mail".to_owned(), "Before send_mail, call this.".to_owned())];
        assert_eq!(mentions(&["send_mail", "search"], &tool), told);
        // The descriptions of arguments are read too, and names at the end of a sentence.
        let schema = json!({"properties": {"note": {"description": "Copy it from `search`."}, "x": {"description": "See getUser."}}});
        let tool = json!({"name": "fact", "inputSchema": schema});
        let told: Vec<_> =
            mentions(&["search", "getUser"], &tool).into_iter().map(|(name, _)| name).collect();
        assert_eq!(told, ["search", "getUser"]);
    }

    #[test]
    fn words_of_the_language_and_tools_of_the_server_itself_are_no_mention() {
        let tool = json!({"name": "send_mail", "description": "Does a search before send_mail, and 'search terms' too."});
        assert_eq!(mentions(&["send_mail", "search"], &tool), []);
    }
}
