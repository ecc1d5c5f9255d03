//! Agent cards: one card can say the same to clients of both versions.

use serde_json::{Value, json};

use super::A2aVersion;
use super::rewrite::items;
use crate::Members;

/// The binding that is spoken here.
const JSON_RPC: &str = "JSONRPC";

/// Where an agent takes messages, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInterface {
    /// The address, as the card has it.
    pub url: String,
    /// What is spoken there.
    pub version: A2aVersion,
}

/// The JSON-RPC interfaces of a card, in its order. What the card says in the words of 0.3 counts when it says nothing in
/// those of 1.0.
pub fn interfaces(card: &str) -> Vec<AgentInterface> {
    let Some(card) = Members::read(card) else { return Vec::new() };
    if let Some(supported) = card.get("supportedInterfaces").and_then(items) {
        return supported.into_iter().filter_map(interface).collect();
    }
    let transport = card.string("preferredTransport");
    let first =
        (transport.is_none_or(|transport| transport == JSON_RPC)).then(|| card.string("url")).flatten();
    let additional = card.get("additionalInterfaces").and_then(items).unwrap_or_default();
    let additional = additional.into_iter().filter_map(|interface| {
        let interface = Members::read(interface)?;
        (interface.string("transport")? == JSON_RPC).then(|| interface.string("url")).flatten()
    });
    first.into_iter().chain(additional).map(|url| AgentInterface { url, version: A2aVersion::V0_3 }).collect()
}

fn interface(json: &str) -> Option<AgentInterface> {
    let interface = Members::read(json)?;
    let version = match interface.string("protocolVersion") {
        Some(version) if !version.is_empty() => A2aVersion::parse(&version)?,
        // Who names no version has one that needs no name.
        _ => A2aVersion::V1_0,
    };
    let binding = interface.string("protocolBinding")?;
    (binding == JSON_RPC).then_some(AgentInterface { url: interface.string("url")?, version })
}

/// A card with what clients of a version look for, made from what it says in the words of the other. Nothing that it has is
/// changed or taken away; a card that has all of it stays as it is, to the byte.
pub fn complete_card(json: &str, to: A2aVersion) -> String {
    let Some(mut card) = Members::read(json) else { return json.to_owned() };
    let before = card.iter().count();
    match to {
        A2aVersion::V1_0 => add_1_0(&mut card),
        A2aVersion::V0_3 => add_0_3(&mut card),
    }
    if card.iter().count() == before { json.to_owned() } else { card.to_string() }
}

/// Whether a card says that there is another one for those who ask for it.
pub fn has_extended_card(card: &str) -> bool {
    let Some(card) = Members::read(card) else { return false };
    let capability =
        card.object("capabilities").is_some_and(|all| all.get("extendedAgentCard") == Some("true"));
    capability || card.get("supportsAuthenticatedExtendedCard") == Some("true")
}

fn add_1_0(card: &mut Members) {
    if card.get("supportedInterfaces").is_some() {
        return;
    }
    let Some(url) = card.string("url") else { return };
    let offered = |url: &str, binding: &str, version: A2aVersion| json!({"url": url, "protocolBinding": binding, "protocolVersion": version.as_str()});
    let preferred = card.string("preferredTransport").unwrap_or_else(|| JSON_RPC.to_owned());
    let mut supported =
        vec![offered(&url, JSON_RPC, A2aVersion::V1_0), offered(&url, &preferred, A2aVersion::V0_3)];
    for interface in card.get("additionalInterfaces").and_then(items).unwrap_or_default() {
        let interface = Members::read(interface);
        if let Some((url, transport)) =
            interface.and_then(|interface| Some((interface.string("url")?, interface.string("transport")?)))
        {
            supported.push(offered(&url, &transport, A2aVersion::V0_3));
        }
    }
    card.set("supportedInterfaces", &Value::from(supported).to_string());
    if card.get("supportsAuthenticatedExtendedCard") == Some("true")
        && let Some(mut capabilities) = card.object("capabilities")
    {
        capabilities.set_missing("extendedAgentCard", "true");
        card.set("capabilities", &capabilities.to_string());
    }
    let security = card.get("security").and_then(items);
    let requirements = security.map(|all| all.into_iter().map(requirement).collect::<Option<Vec<_>>>());
    if let Some(Some(requirements)) = requirements {
        card.set_missing("securityRequirements", &format!("[{}]", requirements.join(",")));
    }
}

/// `{"key": ["scope"]}` as `{"schemes": {"key": {"list": ["scope"]}}}`.
fn requirement(json: &str) -> Option<String> {
    let mut schemes = Members::default();
    for (name, scopes) in Members::read(json)?.iter() {
        schemes.push(name, &format!("{{\"list\":{scopes}}}"));
    }
    Some(format!("{{\"schemes\":{schemes}}}"))
}

fn add_0_3(card: &mut Members) {
    let Some(supported) = card.get("supportedInterfaces").and_then(items) else { return };
    let read = |interface: &str| {
        let interface = Members::read(interface)?;
        Some((
            interface.string("url")?,
            interface.string("protocolBinding")?,
            interface.string("protocolVersion"),
        ))
    };
    let supported: Vec<_> = supported.into_iter().filter_map(read).collect();
    let text = |text: &str| Value::from(text).to_string();
    if let Some((url, binding, version)) = supported.first() {
        card.set_missing("url", &text(url));
        card.set_missing("preferredTransport", &text(binding));
        if let Some(version) = version {
            card.set_missing("protocolVersion", &text(version));
        }
    }
    if supported.len() > 1 {
        let additional = supported.iter().skip(1);
        let additional: Value =
            additional.map(|(url, binding, _)| json!({"url": url, "transport": binding})).collect();
        card.set_missing("additionalInterfaces", &additional.to_string());
    }
    if let Some(extended) =
        card.object("capabilities").and_then(|all| all.get("extendedAgentCard").map(str::to_owned))
    {
        card.set_missing("supportsAuthenticatedExtendedCard", &extended);
    }
}
