//! Where an agent card says that its agent is.

use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use crate::Members;
use crate::http::is_loopback;

/// Lists of a card whose items say where else the agent is: those of 0.3, and those of 1.0.
const INTERFACES: [&str; 2] = ["additionalInterfaces", "supportedInterfaces"];

/// Makes a card lead to us: agents that follow it must neither leave the machine nor get lost. A missing `url` is filled,
/// and whatever leads elsewhere is replaced by our address with its path. The rest stays to the byte. Gives the addresses of others
/// too, for which ours stands now.
pub fn card_leading_here(card: String, base: &Url) -> (String, Vec<String>) {
    let mut replaced = Vec::new();
    let Some(mut members) = Members::read(&card) else { return (card, replaced) };
    // A card of 1.0 has its addresses in a list.
    let is_filled = members.get("url").is_none() && members.get("supportedInterfaces").is_none();
    if is_filled {
        members.set("url", &text(base.as_str()));
    } else if let Some(url) = members.string("url")
        && let Some(ours) = ours(&url, base)
    {
        members.set("url", &text(&ours));
        replaced.push(url);
    }
    for list in INTERFACES {
        let Some(interfaces) = members.get(list).and_then(items) else { continue };
        let before = replaced.len();
        let interfaces: Vec<_> = interfaces.iter().map(|item| interface(item, base, &mut replaced)).collect();
        if replaced.len() > before {
            members.set(list, &format!("[{}]", interfaces.join(",")));
        }
    }
    let unchanged = replaced.is_empty() && !is_filled;
    (if unchanged { card } else { members.to_string() }, replaced)
}

fn interface(json: &str, base: &Url, replaced: &mut Vec<String>) -> String {
    let Some(mut interface) = Members::read(json) else { return json.to_owned() };
    let Some(url) = interface.string("url") else { return json.to_owned() };
    let Some(ours) = ours(&url, base) else { return json.to_owned() };
    interface.set("url", &text(&ours));
    replaced.push(url);
    interface.to_string()
}

/// Our address for one that leads elsewhere; `None` for one that leads to us.
fn ours(url: &str, base: &Url) -> Option<String> {
    let Some(parsed) = Url::parse(url).ok().filter(Url::has_host) else {
        return Some(base.to_string());
    };
    let same_host = parsed.host_str() == base.host_str() || (is_loopback(&parsed) && is_loopback(base));
    if parsed.scheme() == "http"
        && same_host
        && parsed.port_or_known_default() == base.port_or_known_default()
    {
        return None;
    }
    let mut ours = base.clone();
    ours.set_path(parsed.path());
    ours.set_query(parsed.query());
    Some(ours.into())
}

/// The items of a JSON array, each as the text it is; `None` when it is none.
fn items(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(card: &str) -> (String, Vec<String>) {
        card_leading_here(card.to_owned(), &Url::parse("http://127.0.0.1:4000/").unwrap())
    }

    #[test]
    fn a_card_that_leads_here_is_served_to_the_byte() {
        for url in [
            "http://127.0.0.1:4000/",
            "http://localhost:4000/a2a",
            "http://[::1]:4000",
            "http://127.0.0.1:4000/?x",
        ] {
            let card =
                format!(r#"{{ "url":  "{url}", "n": 1.00, "additionalInterfaces": [ {{"url":"{url}"}} ] }}"#);
            assert_eq!(served(&card), (card, vec![]));
        }
    }

    #[test]
    fn a_missing_address_is_filled() {
        assert_eq!(
            served(r#"{"name": "x","n":1.0}"#).0,
            r#"{"name":"x","n":1.0,"url":"http://127.0.0.1:4000/"}"#
        );
    }

    #[test]
    fn a_signed_card_of_1_0_that_leads_here_is_served_to_the_byte() {
        let card = r#"{ "name": "x", "supportedInterfaces": [ {"url":"http://127.0.0.1:4000/rpc"} ], "signatures": [ {"protected":"e30","signature":"c2ln"} ] }"#;
        assert_eq!(served(card), (card.to_owned(), vec![]));
    }

    #[test]
    fn what_leads_elsewhere_leads_here_and_is_told() {
        let card = r#"{"url":"https://agent.example:8443/api/v2?x=1","z":9007199254740993.0,"additionalInterfaces":[{"transport":"JSONRPC","url":"https://127.0.0.1:4000/"},{"transport":"GRPC","url":"grpc.example:50051"},3],"supportedInterfaces":[{"url":"http://127.0.0.1:4001/b"}],"provider":{"url":"https://agent.example"}}"#;
        let (json, replaced) = served(card);
        assert_eq!(
            json,
            r#"{"url":"http://127.0.0.1:4000/api/v2?x=1","z":9007199254740993.0,"additionalInterfaces":[{"transport":"JSONRPC","url":"http://127.0.0.1:4000/"},{"transport":"GRPC","url":"http://127.0.0.1:4000/"},3],"supportedInterfaces":[{"url":"http://127.0.0.1:4000/b"}],"provider":{"url":"https://agent.example"}}"#
        );
        assert_eq!(
            replaced,
            [
                "https://agent.example:8443/api/v2?x=1",
                "https://127.0.0.1:4000/",
                "grpc.example:50051",
                "http://127.0.0.1:4001/b"
            ]
        );
    }

    #[test]
    fn what_is_no_address_at_all_is_left_alone_or_replaced_as_a_whole() {
        assert_eq!(served(r#"{"url":5}"#).0, r#"{"url":5}"#);
        assert_eq!(served("[1, 2]").0, "[1, 2]");
        assert_eq!(served(r#"{"url":"/a2a"}"#).0, r#"{"url":"http://127.0.0.1:4000/"}"#);
        assert_eq!(served(r#"{"url":""}"#).0, r#"{"url":"http://127.0.0.1:4000/"}"#);
    }

    #[test]
    fn whatever_only_looks_like_this_machine_is_elsewhere() {
        for url in [
            "http://127.0.0.1.evil.example:4000/",
            "http://localhost@evil.example:4000/",
            "http://localhost.evil.example:4000",
        ] {
            assert_eq!(served(&format!(r#"{{"url":"{url}"}}"#)).1, [url]);
        }
    }
}
