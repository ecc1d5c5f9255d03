//! What every package says about the program: one source for all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;

/// The package that is the program.
pub(crate) const PROGRAM: &str = "sortie";

/// The program, and the words about it.
pub(crate) struct Facts {
    /// The version of the workspace.
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) licence: String,
    /// The text of the licence.
    pub(crate) licence_text: String,
    /// Which machines it runs on, as Rust names them.
    pub(crate) target: String,
    /// Seconds since 1970 that stand in archives for the time of every file.
    pub(crate) time: u64,
    /// Where the artefacts will be, without the name of a file.
    pub(crate) url: String,
    /// `cargo metadata` for the target.
    pub(crate) metadata: Value,
    /// `name version` of every crate that the program is built from.
    pub(crate) crates: BTreeSet<String>,
}

/// A file that there is for each target.
#[derive(Clone, Copy)]
pub(crate) enum FileKind {
    Archive,
    DebugArchive,
    Bill,
    Debian,
    ProgramWheel,
    NpmProgram,
    Image,
}

impl Facts {
    /// Asks Cargo and Git about the repository.
    pub(crate) fn load(root: &Path, target: &str, url: Option<&str>) -> Result<Self, Error> {
        let metadata = cargo_metadata(root, target)?;
        let package = package(&metadata, PROGRAM);
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let version = text("version");
        // A name that is reserved for examples: nobody can be sent to a wrong place by it.
        let url = url.map_or_else(|| format!("https://sortie.example/releases/v{version}"), str::to_owned);
        Ok(Self {
            description: text("description"),
            licence: text("license"),
            licence_text: read_text(&root.join("LICENSE"))?,
            target: target.to_owned(),
            time: source_date(root)?,
            url,
            version,
            metadata,
            crates: crates_of_package(root, PROGRAM, target)?,
        })
    }

    /// `sortie-0.1.0-x86_64-unknown-linux-musl`
    pub(crate) fn stem(&self) -> String {
        format!("sortie-{}-{}", self.version, self.target)
    }

    /// The architecture in the words of Rust: `x86_64`.
    pub(crate) fn architecture(&self) -> &str {
        self.target.split('-').next().unwrap_or_default()
    }

    /// The architecture in the words of Debian and of images: `amd64`.
    pub(crate) fn debian_architecture(&self) -> &'static str {
        if self.architecture() == "aarch64" { "arm64" } else { "amd64" }
    }

    /// The architecture in the words of Node: `x64`.
    pub(crate) fn node_architecture(&self) -> &'static str {
        if self.architecture() == "aarch64" { "arm64" } else { "x64" }
    }

    /// Whether the program is for another processor than that of this machine.
    pub(crate) fn is_foreign(&self) -> bool {
        self.architecture() != std::env::consts::ARCH
    }

    /// The names of the files for this target.
    pub(crate) fn file(&self, kind: FileKind) -> String {
        let version = &self.version;
        match kind {
            FileKind::Archive => format!("{}.tar.gz", self.stem()),
            FileKind::DebugArchive => format!("{}-debug.tar.gz", self.stem()),
            FileKind::Bill => format!("{}.cdx.json", self.stem()),
            FileKind::Debian => format!("sortie_{version}_{}.deb", self.debian_architecture()),
            FileKind::ProgramWheel => {
                let machine = self.architecture();
                format!("sortie-{version}-py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}.whl")
            }
            FileKind::NpmProgram => format!("sortie-linux-{}-{version}.tgz", self.node_architecture()),
            FileKind::Image => format!("sortie-{version}-oci-{}.tar", self.debian_architecture()),
        }
    }
}

/// What Cargo says about the workspace in a folder, as far as it is built for a target.
pub(crate) fn cargo_metadata(folder: &Path, target: &str) -> Result<Value, Error> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    serde_json::from_slice(&output(command.current_dir(folder))?)
        .map_err(|error| Error::Command { command: "cargo metadata".into(), problem: error.to_string() })
}

/// The package with this name.
pub(crate) fn package<'m>(metadata: &'m Value, name: &str) -> &'m Value {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.into_iter().find(|package| package["name"] == name).unwrap_or(&Value::Null)
}

/// `name version` of every crate that a package of the workspace in a folder is built from. The metadata has the features of the
/// whole workspace, and so crates that only its other members use.
pub(crate) fn crates_of_package(
    folder: &Path,
    package: &str,
    target: &str,
) -> Result<BTreeSet<String>, Error> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"]);
    let printed = output(tree.args(["--target", target]).current_dir(folder))?;
    Ok(crates_of_tree(&String::from_utf8_lossy(&printed)))
}

/// The first line is the program, which a bill has elsewhere.
fn crates_of_tree(printed: &str) -> BTreeSet<String> {
    let crates = printed.lines().skip(1).filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        Some(format!("{name} {}", rest.split(' ').next()?))
    });
    crates.collect()
}

/// `SOURCE_DATE_EPOCH`, else the time of the last commit.
fn source_date(root: &Path) -> Result<u64, Error> {
    if let Some(named) = std::env::var_os("SOURCE_DATE_EPOCH") {
        let text = named.to_string_lossy().into_owned();
        return text.parse().map_err(|_| Error::SourceDate(text));
    }
    let printed = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let text = String::from_utf8_lossy(&printed).trim().to_owned();
    text.parse().map_err(|_| Error::SourceDate(text))
}

pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// What a command prints, when it ends well.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, Error> {
    let shown = || {
        let words = std::iter::once(command_name(command));
        words
            .chain(command.get_args().map(|word| word.to_string_lossy().into_owned()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let line = shown();
    match command.output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let problem =
                format!("it ended with {}\n{}{said}", output.status, String::from_utf8_lossy(&output.stdout));
            Err(Error::Command { command: line, problem })
        }
        Err(error) => Err(Error::Command { command: line, problem: error.to_string() }),
    }
}

fn command_name(command: &Command) -> String {
    PathBuf::from(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

pub(crate) fn create_folder(path: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    Ok(path.to_owned())
}

pub(crate) fn broken(name: &str, problem: impl Into<String>) -> Error {
    Error::Broken { name: name.to_owned(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_names_every_crate_once() {
        let tree = "sortie v0.1.0 (/here)\nring v0.17.14\nsortie-oatf v0.1.0 (/here/oatf)\nring v0.17.14 (*)\n\nserde v1.0.1\n";
        let crates = crates_of_tree(tree);
        assert_eq!(crates.iter().collect::<Vec<_>>(), ["ring 0.17.14", "serde 1.0.1", "sortie-oatf 0.1.0"]);
    }
}
