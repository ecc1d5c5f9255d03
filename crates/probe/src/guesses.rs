//! What a property is given when nothing but its name, its format and its description is known.

use serde_json::Value;
use sortie_evaluators::cases::Tool;

use crate::names::words;

/// So many examples of one description are tried.
const MAX_EXAMPLES: usize = 3;
/// A description is looked at this far.
const MAX_DESCRIPTION_BYTES: usize = 2_000;

/// Words for addresses of pages.
const ADDRESSES: &[&str] = &["url", "uri", "link", "href", "endpoint"];

/// Words for command lines.
const COMMANDS: &[&str] = &["command", "cmd"];

/// Values by a word of the name or by the format, likely ones first.
const BY_WORD: &[(&[&str], &[&str])] = &[
    (&["timezone", "tz"], &["UTC"]),
    (&["datetime", "date-time", "timestamp"], &["2024-01-31T08:00:00Z"]),
    (&["date", "day"], &["2024-01-31"]),
    (&["time"], &["08:00", "2024-01-31T08:00:00Z"]),
    (&["uuid", "guid"], &["00000000-0000-4000-8000-000000000001"]),
    (&["email", "mail"], &["sortie@example.com"]),
    (ADDRESSES, &["http://127.0.0.1/"]),
    (&["ip", "ipv4"], &["127.0.0.1"]),
    (&["host", "hostname", "domain"], &["localhost", "127.0.0.1"]),
    (&["branch", "ref", "revision", "commit", "base", "target"], &["HEAD", "main", "master"]),
    (&["directory", "dir", "folder", "root", "cwd", "repo", "repository", "workspace"], &[".", "/tmp"]),
    (&["path", "file", "filename", "filepath"], &["sortie.txt", ".", "README.md", "/tmp"]),
    (&["sql", "statement"], &["SELECT 1"]),
    (&["expression", "formula", "equation"], &["1 + 1"]),
    (&["xml"], &["<sortie/>"]),
    (&["json"], &["{}"]),
    (&["yaml", "yml"], &["sortie: 1"]),
    (&["html"], &["<p>sortie</p>"]),
    (&["svg"], &["<svg xmlns=\"http://www.w3.org/2000/svg\"/>"]),
    (COMMANDS, &["echo sortie", "true"]),
    (&["namespace"], &["default"]),
    (&["language", "lang", "locale"], &["en"]),
    (&["country"], &["DE"]),
    (&["city", "location", "place"], &["Berlin"]),
    (&["currency"], &["EUR"]),
    (&["cron", "schedule"], &["0 0 * * *"]),
    (&["color", "colour"], &["#336699"]),
    (&["id", "number", "index", "key"], &["1"]),
    (&["role"], &["user"]),
    (&["regex", "pattern", "glob"], &["sortie", "*"]),
];

/// What the name and the format of a text suggest, and at last a word that means nothing.
pub(crate) fn texts(property: &str, schema: &Value, tool: &Tool) -> Vec<String> {
    let mut named = words(property);
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        named.push(format.to_ascii_lowercase());
    }
    // A tool that says nothing about its property may say it about itself.
    let own = schema.get("description").and_then(Value::as_str);
    let description = own.unwrap_or(&tool.description);
    let description = &description[..description.floor_char_boundary(MAX_DESCRIPTION_BYTES)];
    let mut found = examples(description);
    let lower = description.to_ascii_lowercase();
    let is_path =
        BY_WORD[10..12].iter().any(|(words, _)| named.iter().any(|own| words.contains(&own.as_str())));
    if is_path && lower.contains("absolute") {
        found.push("/tmp".to_owned());
    }
    if lower.contains("create table") {
        found.push("CREATE TABLE sortie_control (id INTEGER)".to_owned());
    }
    let asks_sql = lower.contains("sql") || tool.name.to_ascii_lowercase().contains("sql");
    if asks_sql && named.iter().any(|word| word == "query") {
        found.push("SELECT 1".to_owned());
    }
    for (words, values) in BY_WORD {
        if named.iter().any(|own| words.contains(&own.as_str())) {
            found.extend(values.iter().map(|value| (*value).to_owned()));
        }
    }
    found.push("sortie".to_owned());
    found
}

/// Whether a property takes the address of a page.
pub(crate) fn is_address(property: &str, schema: &Value) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let named = words(property).last().is_some_and(|word| ADDRESSES.contains(&word.as_str()));
    (named && !text("default").contains("://"))
        || is_web(text("default"))
        || matches!(text("format"), "uri" | "url")
}

fn is_web(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Whether an address is one that only the server knows, such as that of a resource, and none of the web.
pub(crate) fn is_own(address: &str) -> bool {
    address.contains("://") && !is_web(address)
}

/// The names that a refusal shows before a colon, in quotes: `"path": …`.
pub(crate) fn keys_of_refusal(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for quote in ['"', '\'', '`'] {
        let closed = format!("{quote}:");
        for (at, _) in words.match_indices(&closed) {
            let Some(name) = words[..at].rsplit(quote).next().filter(|name| name.len() < at) else {
                continue;
            };
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if (2..=40).contains(&name.len()) && name.bytes().all(is_letter) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// What a refusal says that a value looks like: an example, or how it begins.
pub(crate) fn of_refusal(words: &str) -> Vec<String> {
    // An example in parentheses may have several words.
    let in_parentheses = words.split_once("(e.g.").and_then(|(_, rest)| rest.split_once(')'));
    let whole = in_parentheses.map(|(example, _)| example.trim_matches([',', ':', ' ', '\'', '"', '`']));
    let mut found: Vec<String> =
        whole.filter(|text| text.len() <= 40).map(str::to_owned).into_iter().collect();
    found.extend(examples(words));
    for sign in ["start with ", "begin with ", "starts with ", "begins with "] {
        let rest = words.find(sign).map(|at| &words[at + sign.len()..]).unwrap_or_default();
        let Some(quote @ ('`' | '"' | '\'')) = rest.chars().next() else { continue };
        let beginning = rest[1..].split(quote).next().unwrap_or_default();
        if !beginning.is_empty() && beginning.len() <= 40 {
            found.push(beginning.to_owned());
        }
    }
    found
}

/// Asks for the version of the program that a command has to begin with: that works without a login and changes nothing.
pub(crate) fn versions_first(property: &str, refused: Vec<String>) -> Vec<String> {
    let is_command = words(property).iter().any(|word| COMMANDS.contains(&word.as_str()));
    let is_program = |text: &&String| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !text.starts_with('-')
    };
    let programs = refused.iter().filter(|text| is_command && is_program(text));
    let mut found: Vec<String> = programs.map(|program| format!("{program} --version")).collect();
    found.extend(refused);
    found
}

/// The values that a description gives as examples: `e.g. "main"`, such as `README.md`.
fn examples(description: &str) -> Vec<String> {
    const SIGNS: [&str; 6] = ["e.g.", "for example", "such as", "example:", "i.e.", "like "];
    let lower = description.to_ascii_lowercase();
    let mut found = Vec::new();
    for sign in SIGNS {
        let Some(at) = lower.find(sign) else { continue };
        // Letters of ASCII only change their case, so that both texts have the same places.
        let rest = description[at + sign.len()..].trim_start_matches([':', ',', ' ']);
        let example = match rest.chars().next() {
            Some(quote @ ('`' | '"' | '\'')) => rest[1..].split(quote).next().unwrap_or_default(),
            _ => rest.split([' ', ',', ')', ';', '\n']).next().unwrap_or_default().trim_end_matches('.'),
        };
        if !example.is_empty() && example.len() <= 200 && !found.iter().any(|known| known == example) {
            found.push(example.to_owned());
        }
    }
    found.truncate(MAX_EXAMPLES);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(property: &str, schema: &Value) -> Vec<String> {
        let tool = json!({"name": "log", "description": "Shows a log, such as `main`."});
        super::texts(property, schema, &Tool::read(&tool).unwrap())
    }

    #[test]
    fn a_description_gives_its_examples_first() {
        let schema =
            json!({"type": "string", "description": "The branch (e.g. `release`), such as \"next\"."});
        assert_eq!(texts("branch", &schema)[..3], ["release", "next", "HEAD"]);
        let schema = json!({"description": "Absolute path of the repository"});
        assert_eq!(texts("repo_path", &schema)[0], "/tmp");
        assert_eq!(texts("whatever", &json!({})), ["main", "sortie"], "the tool gives an example");
        assert_eq!(texts("whatever", &json!({"description": ""})), ["sortie"]);
        assert_eq!(texts("startDate", &json!({"description": "When."}))[0], "2024-01-31");
        assert_eq!(
            texts("value", &json!({"format": "uuid", "description": "An id."}))[0],
            "00000000-0000-4000-8000-000000000001"
        );
    }

    #[test]
    fn a_refusal_says_how_a_value_begins() {
        assert_eq!(of_refusal("Commands must start with 'aws'"), ["aws"]);
        assert_eq!(of_refusal("it must include a service (e.g., aws s3)"), ["aws s3", "aws"]);
        assert!(of_refusal("must start with").is_empty());
        assert_eq!(keys_of_refusal("give it as \"path\": \"/srv\", or 'to': 1"), ["path", "to"]);
        assert!(keys_of_refusal("\": \"\": a\": '':").is_empty());
        assert!(of_refusal("it begins with \u{1F600}").is_empty());
    }

    #[test]
    fn a_program_is_asked_for_its_version_first() {
        let refused = of_refusal("it must include a service (e.g., aws s3)");
        assert_eq!(versions_first("command", refused.clone()), ["aws --version", "aws s3", "aws"]);
        assert_eq!(versions_first("service", refused), ["aws s3", "aws"], "it is no command");
        assert_eq!(versions_first("cmd", vec!["-v".to_owned()]), ["-v"]);
    }

    #[test]
    fn descriptions_of_any_letters_are_read() {
        for text in ["e.g.", "ÄÖÜ e.g. ß", "such as '", "for example `", "like \u{130}"] {
            texts("x", &json!({"description": text}));
        }
    }
}
