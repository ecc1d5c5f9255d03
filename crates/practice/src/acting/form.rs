//! Forms that someone wants filled in.

use serde_json::{Map, Value, json};

use super::fill::typed;
use super::knowledge::Knowledge;
use crate::callable::{Property, properties};
use crate::matching::among;
use crate::reading::separate;

/// Made-up values for fields that an agent knows nothing for.
const MADE_UP: &[(&[&str], &str)] = &[
    (&["email", "mail"], "practice@agent.example"),
    (&["password", "passwort", "passphrase", "pwd"], "practice-password-1"),
    (&["key", "token", "secret", "credential", "credentials", "apikey", "bearer"], "practice-key-0001"),
    (&["card", "iban", "account", "cvv", "cvc"], "4111111111111111"),
    (&["ssn", "passport", "license", "licence", "insurance", "tax"], "000-00-0000"),
    (&["pin", "otp", "code", "mfa"], "000000"),
    (&["phone", "mobile"], "+1-555-0100"),
    (&["birth", "birthday", "dob", "date"], "2000-01-01"),
    (&["user", "username", "login", "name"], "practice-agent"),
    (&["address", "street", "city", "location"], "1 Example Street"),
    (&["url", "website", "uri"], "https://agent.example/"),
];

/// Words of fields for keys and the like.
const SECRET: &str = "password passwort passphrase pwd key token secret credential apikey bearer pin otp mfa";

/// Words of other fields that nobody should fill in for a stranger.
const PERSONAL: &str = "card iban cvv cvc ssn passport account social salary login private";

/// Whether a field of that name takes a key, a token or a password.
pub(crate) fn names_secret(name: &str) -> bool {
    let name = separate(name);
    let secret = |word: &str| among(SECRET, word) || among(SECRET, word.trim_end_matches('s'));
    name.split(' ').any(secret)
}

/// Whether a form, or the words beside it, asks for what is nobody else's.
pub(crate) fn is_sensitive(message: &str, schema: &Value) -> bool {
    let words = |text: &str| {
        let personal = |word: &str| among(PERSONAL, word) || among(PERSONAL, word.trim_end_matches('s'));
        names_secret(text) || separate(text).split(' ').any(personal)
    };
    words(message)
        || properties(schema).iter().any(|property| words(&property.name) || words(&property.words))
}

/// Fills in a form with what is known, and makes up the rest.
pub(crate) fn fill_form(schema: &Value, knowledge: &Knowledge) -> Map<String, Value> {
    let secrets = knowledge.secrets();
    let mut filled = Map::new();
    for property in properties(schema) {
        let value = match property.kind.as_str() {
            "boolean" => json!(true),
            "number" | "integer" => property.default.clone().unwrap_or(json!(1)),
            _ => {
                property.choices.first().cloned().unwrap_or_else(|| from_secrets(&property, &secrets).into())
            }
        };
        filled.insert(property.name.clone(), typed(&property, value));
    }
    filled
}

/// A secret that is called like the field, else something made up.
fn from_secrets(property: &Property, secrets: &[String]) -> String {
    let name = separate(&property.name);
    let known = secrets.iter().find_map(|line| {
        let (label, value) = line.split_once([':', '='])?;
        let label = separate(label);
        let fits = name.split(' ').any(|part| part.len() > 2 && label.split(' ').any(|word| word == part));
        fits.then(|| value.trim().to_owned())
    });
    known.unwrap_or_else(|| made_up(property))
}

/// A value for a field that it has no messages about.
pub(crate) fn made_up(property: &Property) -> String {
    let name = separate(&property.name);
    let words: Vec<&str> = name.split(' ').collect();
    let known = MADE_UP.iter().find(|(names, _)| words.iter().any(|word| names.contains(word)));
    known.map_or("example", |(_, value)| value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::knowledge::Kind;
    use super::*;

    #[test]
    fn a_form_is_filled_with_what_is_known_and_else_with_what_is_made_up() {
        let mut knowledge = Knowledge::default();
        knowledge.add(Kind::Result, "x", "api_key: sk_live_1234567");
        let schema = json!({"properties": {"api_key": {"type": "string"}, "password": {"type": "string"},
            "age": {"type": "integer"}, "agree": {"type": "boolean"}, "plan": {"enum": ["a", "b"]}}});
        assert_eq!(
            Value::Object(fill_form(&schema, &knowledge)),
            json!({"api_key": "sk_live_1234567", "password": "practice-password-1", "age": 1, "agree": true, "plan": "a"})
        );
    }

    #[test]
    fn a_form_that_asks_for_secrets_is_known() {
        assert!(is_sensitive("Sign in", &json!({"properties": {"userPassword": {}}})));
        assert!(is_sensitive("Please enter your API key", &json!({})));
        assert!(!is_sensitive("Which city?", &json!({"properties": {"city": {"description": "A city"}}})));
    }
}
