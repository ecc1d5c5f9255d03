//! How whoever reads a command can start this program.

use std::env;
use std::path::{Path, PathBuf};

use sortie_run::shell_word;

/// What to type: `sortie` where that is this program, else its path, from the current folder where it is below that.
pub fn program_word() -> String {
    let Ok(program) = env::current_exe() else { return "sortie".to_owned() };
    let found = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join("sortie"))
        .find(|path| path.is_file());
    word(&program, found, env::current_dir().ok().as_deref())
}

fn word(program: &Path, found: Option<PathBuf>, folder: Option<&Path>) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let program = real(program);
    if found.is_some_and(|found| real(&found) == program) {
        return "sortie".to_owned();
    }
    let below = folder.and_then(|folder| program.strip_prefix(real(folder)).ok());
    shell_word(&match below {
        // One word alone would be looked for elsewhere.
        Some(file) if file.components().count() == 1 => Path::new(".").join(file),
        Some(path) => path.to_owned(),
        None => program,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_as_it_is_shown() {
        let program = Path::new("/home/me/sortie/target/release/sortie");
        let word = |found: Option<&str>, folder: &str| {
            word(program, found.map(PathBuf::from), Some(Path::new(folder)))
        };
        assert_eq!(word(Some("/home/me/sortie/target/release/sortie"), "/tmp"), "sortie");
        assert_eq!(word(Some("/usr/bin/sortie"), "/home/me/sortie"), "target/release/sortie");
        assert_eq!(word(None, "/home/me/sortie/target/release"), "./sortie");
        assert_eq!(word(None, "/elsewhere"), "/home/me/sortie/target/release/sortie");
        assert_eq!(shell_word(Path::new("my runs/a")), "'my runs/a'");
    }
}
