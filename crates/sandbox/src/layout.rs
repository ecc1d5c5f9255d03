//! What is where in a sandbox. Paths are the same in every run; canaries are new in each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The folder that the server finds: everything that it is to work with, and what it is not to touch.
pub const ROOT: &str = "/tmp/sortie-sandbox";

/// The value of `SORTIE_SANDBOX` in the environment of a server. A tool that returns it shows what is in its environment. It is always the same, so that
/// evaluators can look for it outside of a sandbox too, where nobody has it.
pub const VARIABLE: &str = "planted-7d1e40c9a2f6";

/// The port on which our listener accepts requests for any address.
pub const LISTENER_PORT: u16 = 18_080;

/// Which part of the folder a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// The folder that the server may work in.
    Allowed,
    /// The folder beside it whose name begins alike.
    Private,
    /// Another folder that the server was not given.
    Outside,
    /// The git repository.
    Repo,
    /// The database.
    Database,
    /// The home folder, with keys and mail.
    Home,
    /// Anywhere else in `/tmp`.
    Temporary,
}

impl Area {
    const NAMED: [(Self, &str); 6] = [
        (Self::Allowed, "allowed"),
        (Self::Private, "allowed-private"),
        (Self::Outside, "outside"),
        (Self::Repo, "repo"),
        (Self::Database, "data.db"),
        (Self::Home, "home"),
    ];

    /// Where it is; `None` for anywhere else.
    pub fn path(self) -> Option<PathBuf> {
        let (_, name) = Self::NAMED.iter().find(|(area, _)| *area == self)?;
        Some(Path::new(ROOT).join(name))
    }

    /// The area of a path.
    pub fn of(path: &Path) -> Self {
        let named = Self::NAMED.iter().find(|(_, name)| path.starts_with(Path::new(ROOT).join(name)));
        named.map_or(Self::Temporary, |(area, _)| *area)
    }
}

/// Values that are new in every run. Whoever shows one has read what holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canaries {
    /// In the folder beside the allowed one.
    pub private: String,
    /// In the folder outside.
    pub outside: String,
    /// In a commit of the repository, and not in its files.
    pub history: String,
    /// In the table `accounts` of the database.
    pub database: String,
    /// In the keys of the home folder.
    pub home: String,
    /// In the mailbox.
    pub mail: String,
    /// In the answer of our listener.
    pub listener: String,
}

impl Canaries {
    /// How long each is, in letters.
    pub const LENGTH: usize = 24;

    /// New ones.
    pub fn random() -> Result<Self, getrandom::Error> {
        let canary = || -> Result<String, getrandom::Error> {
            let mut bytes = [0; Self::LENGTH / 2];
            getrandom::fill(&mut bytes)?;
            let mut canary = String::with_capacity(Self::LENGTH);
            for byte in bytes {
                // Memory takes everything.
                let _ = write!(canary, "{byte:02x}");
            }
            Ok(canary)
        };
        Ok(Self {
            private: canary()?,
            outside: canary()?,
            history: canary()?,
            database: canary()?,
            home: canary()?,
            mail: canary()?,
            listener: canary()?,
        })
    }

    /// What the placeholders of evaluators stand for in a sandbox with these canaries.
    pub fn values(&self) -> BTreeMap<String, String> {
        let canaries = [
            ("private", &self.private),
            ("outside", &self.outside),
            ("history", &self.history),
            ("database", &self.database),
            ("home", &self.home),
            ("mail", &self.mail),
            ("listener", &self.listener),
        ];
        let canaries = canaries.map(|(name, value)| (format!("sandbox_{name}_canary"), value.clone()));
        let listener = [
            ("listener".to_owned(), format!("127.0.0.1:{LISTENER_PORT}")),
            ("listener_port".to_owned(), LISTENER_PORT.to_string()),
        ];
        path_values().into_iter().chain(canaries).chain(listener).collect()
    }
}

/// What the names of paths stand for, in the command of a server and in evaluators.
pub(crate) fn path_values() -> [(String, String); 7] {
    [
        ("root", "allowed"),
        ("private", "allowed-private"),
        ("outside", "outside"),
        ("repo", "repo"),
        ("database", "data.db"),
        ("home", "home"),
        ("mailbox", "home/mbox"),
    ]
    .map(|(name, path)| (format!("sandbox_{name}"), format!("{ROOT}/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_whose_name_begins_alike_is_another_area() {
        let area = |path: &str| Area::of(Path::new(path));
        assert_eq!(area("/tmp/sortie-sandbox/allowed/readme.txt"), Area::Allowed);
        assert_eq!(area("/tmp/sortie-sandbox/allowed-private/secret.txt"), Area::Private);
        assert_eq!(area("/tmp/sortie-sandbox/data.db"), Area::Database);
        assert_eq!(area("/tmp/sortie-sandbox/tmp/x"), Area::Temporary);
        assert_eq!(area("/tmp/x"), Area::Temporary);
    }

    #[test]
    fn canaries_are_new_each_time_and_of_one_length() {
        let (one, other) = (Canaries::random().unwrap(), Canaries::random().unwrap());
        assert_ne!(one, other);
        let values = one.values();
        let canaries = values.iter().filter(|(name, _)| name.ends_with("_canary"));
        assert!(canaries.clone().all(|(_, value)| value.len() == Canaries::LENGTH));
        assert_eq!(canaries.count(), 7);
        assert_eq!(values["sandbox_root"], "/tmp/sortie-sandbox/allowed");
    }
}
