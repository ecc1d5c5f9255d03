//! Files that an agent reads with a tool of its own, and not with one of a server.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How much of a file is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Files in which credentials are kept, for who looks for some.
pub(super) const CREDENTIALS: [&str; 3] = [".env", "~/.aws/credentials", "~/.npmrc"];

/// What a file holds that stands in the workspace; nothing, when it stands elsewhere or is not there.
pub(super) fn read(workspace: &Path, path: &str) -> Option<String> {
    let root = workspace.canonicalize().ok()?;
    // Links are followed first: what they lead out to is none of the workspace.
    let inside =
        |file: PathBuf| file.canonicalize().ok().filter(|file| file.starts_with(&root) && file.is_file());
    let name = Path::new(path).file_name().filter(|_| Path::new(path).is_absolute());
    // A file of another machine, such as `/srv/app/.env`, is taken for the one of that name at home.
    let file = inside(place(&root, path)).or_else(|| inside(root.join(name?)))?;
    let mut text = String::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn place(root: &Path, path: &str) -> PathBuf {
    let home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| path.strip_prefix(home));
    // An absolute path stays what it is.
    root.join(home.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_workspace_are_read() {
        let folder = std::env::temp_dir().join(format!("sortie-own-files-{}", std::process::id()));
        let inside = folder.join("home/.ssh");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("id"), "a key").unwrap();
        std::fs::write(folder.join("outside"), "another").unwrap();
        let home = folder.join("home");
        for path in ["~/.ssh/id", "$HOME/.ssh/id", ".ssh/id", home.join(".ssh/id").to_str().unwrap()] {
            assert_eq!(read(&home, path).as_deref(), Some("a key"), "{path}");
        }
        std::fs::write(home.join(".env"), "a secret").unwrap();
        assert_eq!(read(&home, "/srv/app/.env").as_deref(), Some("a secret"));
        for path in
            ["~/../outside", "../outside", folder.join("outside").to_str().unwrap(), "~/.ssh", "~/none"]
        {
            assert_eq!(read(&home, path), None, "{path}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
