//! Packs the program as people install it, and checks that each package does. `cargo xtask release` starts this.

mod checks;
mod facts;
mod hooks;
mod packages;
mod place;
mod program;
mod sbom;
mod tree;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use facts::{Facts, FileKind, PROGRAM, read_text};
use packages::{Artefact, checksums, pretty};
use program::{Program, Texts};
use sbom::Package;
use thiserror::Error as ThisError;

const USAGE: &str = "\
Usage: sortie-release pack PROGRAMS WHEELS OUT URL MODULE_TARGET TARGET...
       sortie-release verify OUT MODULE_TARGET TARGET...

The program for a target is in PROGRAMS/TARGET. The first target runs on this machine.";

/// The package that is the Python module.
const MODULE: &str = "sortie-python";

/// What the program may take on disk, and what the wheel.
const MAX_PROGRAM: usize = 30_000_000;
const MAX_WHEEL: usize = 15_000_000;

/// Why a release cannot be packed, or is not good.
#[derive(Debug, ThisError)]
enum Error {
    #[error("{USAGE}")]
    Usage,
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("`{command}`: {problem}")]
    Command { command: String, problem: String },
    #[error("`{0}` is not a number of seconds: set SOURCE_DATE_EPOCH")]
    SourceDate(String),
    #[error("{name} has {bytes} bytes, and may have {max}")]
    TooBig { name: String, bytes: usize, max: usize },
    #[error("{name}: {problem}")]
    Broken { name: String, problem: String },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["pack", programs, wheels, out, url, module, _, ..] => {
            let folders = [programs, wheels, out].map(Path::new);
            load_facts(&words[6..], url).and_then(|targets| pack(&targets, folders, module))
        }
        ["verify", out, module, _, ..] => {
            load_facts(&words[3..], "").and_then(|targets| verify::verify(&targets, module, Path::new(out)))
        }
        _ => Err(Error::Usage),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The facts for each target. An empty address stands for one that is reserved for examples.
fn load_facts(targets: &[&str], url: &str) -> Result<Vec<Facts>, Error> {
    let url = Some(url).filter(|url| !url.is_empty());
    targets.iter().map(|target| Facts::load(Path::new("."), target, url)).collect()
}

/// Writes every artefact, and then their checksums. `wheels` is the folder with the wheel that has the Python module.
fn pack(targets: &[Facts], [programs, wheels, out]: [&Path; 3], module: &str) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    // What an earlier release left would stand beside this one, without a checksum.
    if out.exists() {
        fs::remove_dir_all(out).map_err(failed(out))?;
    }
    let scratch = out.join("man");
    fs::create_dir_all(&scratch).map_err(failed(&scratch))?;
    let texts = Texts::load(&programs.join(&targets[0].target).join(PROGRAM), &scratch)?;
    fs::remove_dir_all(&scratch).map_err(failed(&scratch))?;

    let lock = read_text(Path::new("Cargo.lock"))?;
    let mut artefacts = Vec::new();
    let mut archives = Vec::new();
    for facts in targets {
        let program = Program::load(&programs.join(&facts.target), &texts)?;
        check_size(&format!("sortie for {}", facts.target), program.executable.len(), MAX_PROGRAM)?;
        archives.push(packages::archive(facts, &program));
        artefacts.extend(target_artefacts(facts, &program, &lock));
    }
    artefacts.push(packages::formula(targets, &archives));
    artefacts.push(packages::npm_starter(targets));
    artefacts.push(("Containerfile".into(), include_bytes!("Containerfile").to_vec()));
    artefacts.extend(archives);
    artefacts.extend(python_artefacts(&targets[0], wheels, module)?);
    artefacts.sort();
    for (name, content) in &artefacts {
        println!("    {:>10} {name}", content.len());
        fs::write(out.join(name), content).map_err(failed(&out.join(name)))?;
        if Path::new(name).extension().is_some_and(|end| end == "whl") {
            check_size(name, content.len(), MAX_WHEEL)?;
        }
    }
    let sums = out.join("SHA256SUMS");
    fs::write(&sums, checksums(&artefacts)).map_err(failed(&sums))
}

/// The wheel with the program and the module, which maturin built, and what the module is made of.
fn python_artefacts(facts: &Facts, wheels: &Path, target: &str) -> Result<[Artefact; 2], Error> {
    let folder = Path::new("python");
    let metadata = facts::cargo_metadata(folder, target)?;
    let lock = read_text(&folder.join("Cargo.lock"))?;
    let crates = facts::crates_of_package(folder, MODULE, target)?;
    let bill = pretty(&sbom::bill_of_materials(
        facts,
        &Package { name: MODULE, target, metadata: &metadata, crates: &crates, lock: &lock },
    ));
    let wheel = verify::only(wheels, "", ".whl")?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok([(name, facts::read(&wheel)?), (format!("{MODULE}-{}.cdx.json", facts.version), bill.into_bytes())])
}

/// What is made of the program for one target, but for the archive.
fn target_artefacts(facts: &Facts, program: &Program, lock: &str) -> [Artefact; 6] {
    let package = Package {
        name: PROGRAM,
        target: &facts.target,
        metadata: &facts.metadata,
        crates: &facts.crates,
        lock,
    };
    let bill = pretty(&sbom::bill_of_materials(facts, &package));
    [
        packages::debug_archive(facts, program),
        packages::debian(facts, program),
        packages::program_wheel(facts, program),
        packages::npm_program(facts, program),
        packages::image(facts, program),
        (facts.file(FileKind::Bill), bill.into_bytes()),
    ]
}

fn check_size(name: &str, bytes: usize, max: usize) -> Result<(), Error> {
    println!("    {bytes:>10} {name} (at most {max})");
    if bytes <= max { Ok(()) } else { Err(Error::TooBig { name: name.to_owned(), bytes, max }) }
}
