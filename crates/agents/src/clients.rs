//! Where clients keep the servers that their users have configured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use sortie_syntax::tables::TableReader;
use toml::de::DeTable;

use crate::server_file::{ServerFile, ServersError, read_servers};

const CLIENTS: &str = include_str!("clients.toml");

/// A client of MCP servers, and where it keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFiles {
    /// What it is called, such as `cursor`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Files of the user.
    pub user: Vec<String>,
    /// Files of a project, relative to it.
    pub project: Vec<String>,
}

/// The folders that clients look in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFolders {
    /// The home of the user.
    pub home: PathBuf,
    /// The folder of configurations.
    pub config: PathBuf,
    /// The folder of applications.
    pub data: PathBuf,
    /// The project.
    pub project: PathBuf,
    /// Places that the user has chosen by a variable, by its name.
    pub chosen: BTreeMap<String, PathBuf>,
}

/// A file of a client that is there.
#[derive(Debug)]
pub struct FoundFile {
    /// The client.
    pub client: &'static ClientFiles,
    /// Whether it is of the project, and not of the user.
    pub is_project: bool,
    /// The file.
    pub path: PathBuf,
    /// What it says about servers.
    pub servers: Result<ServerFile, ServersError>,
}

/// The clients that are known, by name.
pub fn clients() -> &'static [ClientFiles] {
    static ALL: LazyLock<Vec<ClientFiles>> = LazyLock::new(|| {
        let (clients, findings) = parse(CLIENTS);
        // A test reads them.
        debug_assert!(findings.is_empty(), "{findings:?}");
        clients
    });
    &ALL
}

impl UserFolders {
    /// Those of the user who runs this program, and of the current folder.
    pub fn current() -> Self {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).unwrap_or_default();
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let data = match std::env::consts::OS {
            "macos" => home.join("Library/Application Support"),
            "windows" => variable("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            _ => config.clone(),
        };
        let paths = clients().iter().flat_map(|client| &client.user);
        let names = paths.filter_map(|path| path.strip_prefix('$')?.split('/').next());
        let chosen = names.filter_map(|name| Some((name.to_owned(), variable(name)?))).collect();
        Self { home, config, data, project: std::env::current_dir().unwrap_or_default(), chosen }
    }

    /// Where a file of a user is; `None` where it depends on a variable that is not set.
    fn resolve(&self, path: &str) -> Option<PathBuf> {
        if let Some(rest) = path.strip_prefix('$') {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let chosen = self.chosen.get(name)?;
            return Some(if rest.is_empty() { chosen.clone() } else { chosen.join(rest) });
        }
        let folders = [("{home}/", &self.home), ("{config}/", &self.config), ("{data}/", &self.data)];
        folders.into_iter().find_map(|(start, folder)| Some(folder.join(path.strip_prefix(start)?)))
    }
}

/// Finds the files of all clients, and reads them. None is written.
pub fn find_server_files(folders: &UserFolders) -> Vec<FoundFile> {
    let mut found: Vec<FoundFile> = Vec::new();
    for client in clients() {
        let of_user = client.user.iter().filter_map(|path| Some((folders.resolve(path)?, false)));
        let of_project = client.project.iter().map(|path| (folders.project.join(path), true));
        for (path, is_project) in of_user.chain(of_project) {
            let is_known = found.iter().any(|known| known.client == client && known.path == path);
            if path.is_file() && !is_known {
                let servers = read_servers(&path);
                found.push(FoundFile { client, is_project, path, servers });
            }
        }
    }
    found
}

fn parse(text: &str) -> (Vec<ClientFiles>, Vec<String>) {
    let mut reader = TableReader::default();
    let mut clients = Vec::new();
    match DeTable::parse(text) {
        Ok(table) => {
            for (_, value) in table.get_ref() {
                for ((at, name), table) in reader.named(value, "a client") {
                    reader.require(&at, table, "a client", &["title", "user", "project"]);
                    clients.push(client(&mut reader, name, table));
                }
            }
        }
        Err(error) => reader.wrong(0..0, error.to_string(), None),
    }
    (clients, reader.findings.into_iter().map(|finding| finding.message).collect())
}

fn client(reader: &mut TableReader, name: String, table: &DeTable<'_>) -> ClientFiles {
    let mut client = ClientFiles { name, ..ClientFiles::default() };
    let path = |path: &str| Ok::<_, std::convert::Infallible>(path.to_owned());
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "title" => client.title = reader.plain(value).unwrap_or_default(),
            "user" => client.user = reader.list(value, "files are a list", path),
            "project" => client.project = reader.list(value, "files are a list", path),
            _ => reader.unknown(key, "a client", &["title", "user", "project"]),
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_every_client_is_somewhere() {
        let (clients, findings) = parse(CLIENTS);
        assert_eq!(findings, [""; 0]);
        assert!(clients.len() >= 10, "{clients:?}");
        let chosen = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "OPENCODE_CONFIG"];
        let folders = UserFolders {
            chosen: chosen.map(|name| (name.to_owned(), PathBuf::from("/chosen"))).into(),
            ..UserFolders::default()
        };
        for path in clients.iter().flat_map(|client| &client.user) {
            assert!(folders.resolve(path).is_some(), "{path}");
        }
        assert_eq!(folders.resolve("$OTHER/x"), None);
    }
}
