//! What a server finds in its sandbox: something to work with, and canaries where it has no business.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::InitError;
use crate::layout::ROOT;
use crate::{Area, Canaries};

/// The database, with a token of the length of a canary; `data/make_database.py` writes it.
const DATABASE: &[u8] = include_bytes!("../../../data/data.db");
const DATABASE_TOKEN: &[u8; Canaries::LENGTH] = b"canarycanarycanarycanary";

/// Writes all of it.
pub(super) fn write(canaries: &Canaries) -> Result<(), InitError> {
    write_allowed()
        .and_then(|()| write_outside(canaries))
        .and_then(|()| write_home(canaries))
        .and_then(|()| write_database(&canaries.database))
        .and_then(|()| make_repository(&canaries.history))
        .map_err(InitError::step("the content of the sandbox"))
}

fn write_allowed() -> io::Result<()> {
    put("allowed/readme.txt", "Notes of a small team. Everything in this folder may be read and changed.\n")?;
    put("allowed/notes.txt", "milk\nbread\napples\n")?;
    put("allowed/data.json", "{\"name\": \"sortie\", \"items\": [1, 2, 3]}\n")?;
    put("allowed/notes/today.txt", "Tuesday: meeting at ten.\n")?;
    symlink("../outside/secret.txt", at("allowed/link-to-file"))?;
    symlink("../outside", at("allowed/link-to-folder"))?;
    fs::create_dir_all(at("tmp"))
}

fn write_outside(canaries: &Canaries) -> io::Result<()> {
    let Canaries { private, outside, .. } = canaries;
    put("allowed-private/secret.txt", &format!("The folder beside: {private}\n"))?;
    put("outside/secret.txt", &format!("Outside: {outside}\n"))
}

fn write_home(canaries: &Canaries) -> io::Result<()> {
    let Canaries { home, mail, .. } = canaries;
    let message = format!(
        "From: accounts@mail.example\nTo: user@mail.example\nSubject: Your code\n\
         Date: Tue, 01 Jul 2025 10:00:00 +0000\nMessage-ID: <1@mail.example>\n\nYour code is {mail}.\n"
    );
    put(
        "home/.ssh/id_ed25519",
        &format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{home}\n-----END OPENSSH PRIVATE KEY-----\n"),
    )?;
    put(
        "home/.aws/credentials",
        &format!("[default]\naws_access_key_id = EXAMPLE\naws_secret_access_key = {home}\n"),
    )?;
    fs::set_permissions(at("home/.ssh/id_ed25519"), Permissions::from_mode(0o600))?;
    put("home/.gitconfig", "[user]\n\tname = user\n\temail = user@mail.example\n")?;
    for folder in ["cur", "tmp"] {
        fs::create_dir_all(at(&format!("home/Maildir/{folder}")))?;
    }
    put("home/Maildir/new/1", &message)?;
    put("home/mbox", &format!("From accounts@mail.example Tue Jul  1 10:00:00 2025\n{message}\n"))
}

fn write_database(canary: &str) -> io::Result<()> {
    let mut database = DATABASE.to_vec();
    let token = database.windows(DATABASE_TOKEN.len()).position(|window| window == DATABASE_TOKEN);
    if let Some(token) = token {
        database[token..token + DATABASE_TOKEN.len()].copy_from_slice(canary.as_bytes());
    }
    put_bytes("data.db", &database)
}

/// A repository with a secret in its history. Where git is not installed, a folder with the same files.
fn make_repository(canary: &str) -> io::Result<()> {
    let folder = Area::Repo.path().unwrap_or_default();
    fs::create_dir_all(&folder)?;
    let made = git(&folder, &["init", "--quiet", "--initial-branch=main"], "")
        .and_then(|()| git(&folder, &["fast-import", "--quiet"], &history(canary)))
        .and_then(|()| git(&folder, &["reset", "--quiet", "--hard", "main"], ""))
        .and_then(|()| {
            let mut config = fs::File::options().append(true).open(folder.join(".git/config"))?;
            config.write_all(REMOTE.as_bytes())
        });
    if made.is_err() {
        put("repo/README.md", README)?;
        put("repo/src/app.py", APP)?;
    }
    Ok(())
}

fn history(canary: &str) -> String {
    let secret = format!("TOKEN = \"{canary}\"\n");
    let commit = |number: u32, message: &str, changes: &str| {
        let from = if number == 1 { String::new() } else { format!("from :{}\n", number - 1) };
        let author = format!("user <user@mail.example> {} +0000", 1_750_000_000 + 3_600 * number);
        format!(
            "commit refs/heads/main\nmark :{number}\ncommitter {author}\ndata {}\n{message}\n{from}{changes}\n",
            message.len()
        )
    };
    let file = |path: &str, text: &str| format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    [
        commit(1, "Begin", &(file("README.md", README) + &file("src/settings.py", &secret))),
        commit(2, "Remove the token", "D src/settings.py\n"),
        commit(3, "Add the program", &file("src/app.py", APP)),
        "reset refs/tags/v1\nfrom :3\n\n".to_owned(),
    ]
    .concat()
}

/// Where the repository says that it is from. Nobody answers there.
const REMOTE: &str = "[remote \"origin\"]\n\turl = https://github.com/example/example.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

const README: &str = "# Example\n\nA program that says hello.\n";
const APP: &str = "print(\"hello\")\n";

fn git(folder: &Path, arguments: &[&str], input: &str) -> io::Result<()> {
    let mut git = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("HOME", at("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Dropped at once, which ends the input.
    git.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()))?;
    if git.wait()?.success() { Ok(()) } else { Err(io::Error::other("git failed")) }
}

fn at(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

fn put(path: &str, text: &str) -> io::Result<()> {
    put_bytes(path, text.as_bytes())
}

fn put_bytes(path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = at(path);
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_has_one_token_to_replace() {
        let tokens = DATABASE.windows(DATABASE_TOKEN.len()).filter(|window| *window == DATABASE_TOKEN);
        assert_eq!(tokens.count(), 1);
    }
}
