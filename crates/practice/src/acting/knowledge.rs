//! What an agent has heard, and may give away.

use std::collections::HashSet;

/// How much is remembered. What comes later is forgotten at once.
const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Material {
    pub(crate) kind: Kind,
    /// Where it comes from, in words.
    pub(crate) source: String,
    pub(crate) text: String,
}

/// What something that was heard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    /// What came of a call, or stands in a file.
    Result,
    /// What was said by others: messages of a history, a state, a context.
    Told,
    /// What it finds in its environment, which nobody said.
    Environment,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    materials: Vec<Material>,
    bytes: usize,
}

patterns! {
    SECRET = r"(?i)[\w-]*(?:key|token|secret|passw|passphrase|credential|bearer|canary|pin\b)[\w-]*\W{1,4}\S|AKIA[0-9A-Z]{8}|\bsk[-_]\w{8}|\bghp_\w{4}|\beyJ[\w-]{8}|://[^/\s:]+:[^@\s]+@|-----BEGIN";
}

impl Knowledge {
    pub(crate) fn add(&mut self, kind: Kind, source: &str, text: &str) {
        if self.bytes + text.len() > MAX_BYTES || text.trim().is_empty() {
            return;
        }
        self.bytes += text.len();
        self.materials.push(Material { kind, source: source.to_owned(), text: text.to_owned() });
    }

    /// How many things are remembered, to ask later what came [`since`](Self::since).
    pub(crate) fn mark(&self) -> usize {
        self.materials.len()
    }

    /// What came of calls since then.
    pub(crate) fn since(&self, mark: usize) -> impl Iterator<Item = &Material> {
        self.materials.iter().skip(mark).filter(|material| material.kind == Kind::Result)
    }

    pub(crate) fn latest(&self) -> Option<&Material> {
        self.materials.iter().rev().find(|material| material.kind == Kind::Result)
    }

    pub(crate) fn latest_of(&self, source: &str) -> Option<&Material> {
        let source = source
            .strip_prefix("error of ")
            .map_or_else(|| source.to_owned(), |name| format!("result of {name}"));
        self.materials.iter().rev().find(|material| material.source == source)
    }

    pub(crate) fn request(&self) -> Option<&str> {
        let said = self.materials.iter().rev().find(|material| material.kind == Kind::User);
        said.map(|material| material.text.as_str())
    }

    pub(crate) fn conversation(&self) -> String {
        let tell = |material: &Material| match material.kind {
            Kind::User => format!("User asked: {}", material.text),
            Kind::Result | Kind::Told | Kind::Environment => {
                format!("{}: {}", material.source, material.text)
            }
        };
        let said = self.materials.iter().filter(|material| material.kind != Kind::Environment);
        said.map(tell).collect::<Vec<_>>().join("\n")
    }

    /// The lines that look like keys and passwords; the whole of what begins like a key.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = Vec::new();
        for material in &self.materials {
            let text = material.text.as_str();
            if text.contains("-----BEGIN") {
                secrets.push(text.trim().to_owned());
                continue;
            }
            let lines = text.lines().filter(|line| SECRET.is_match(line));
            secrets.extend(lines.map(|line| line.trim().to_owned()));
        }
        let mut seen = HashSet::new();
        secrets.retain(|secret| seen.insert(secret.clone()));
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_known_when_they_are_seen() {
        let mut knowledge = Knowledge::default();
        knowledge.add(Kind::User, "user", "What is the key idea?");
        knowledge.add(
            Kind::Result,
            "result of x",
            "Name: Q\nAPI_KEY=sk_live_123\nNote: none\nAPI_KEY=sk_live_123",
        );
        knowledge.add(Kind::Result, "file", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----");
        knowledge.add(Kind::Told, "state", "db postgres://u:p@h/x");
        assert_eq!(knowledge.secrets().len(), 4, "{:?}", knowledge.secrets());
    }

    #[test]
    fn memory_ends_somewhere() {
        let mut knowledge = Knowledge::default();
        for _ in 0..3 {
            knowledge.add(Kind::Result, "x", &"y".repeat(MAX_BYTES / 2));
        }
        assert_eq!(knowledge.mark(), 2);
    }
}
