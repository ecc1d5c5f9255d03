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

use facts::{Facts, PROGRAM, read_text};
use packages::{Artefact, checksums, pretty};
use program::Program;
use thiserror::Error as ThisError;

const USAGE: &str = "\
Usage: sortie-release pack TARGET PROGRAM DEBUG WHEELS OUT [URL]
       sortie-release verify TARGET OUT";

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
    #[error("`{0}` is no number of seconds: set SOURCE_DATE_EPOCH")]
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
        ["pack", target, program, debug, wheels, out, ref url @ ..] if url.len() <= 1 => {
            let inputs = [program, debug, wheels].map(Path::new);
            pack(target, inputs, Path::new(out), url.first().copied())
        }
        ["verify", target, out] => {
            Facts::load(Path::new("."), target, None).and_then(|facts| verify::verify(&facts, Path::new(out)))
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

/// Writes every artefact, and then their checksums. `wheels` is the folder with the wheel that has the Python module.
fn pack(
    target: &str,
    [program, debug, wheels]: [&Path; 3],
    out: &Path,
    url: Option<&str>,
) -> Result<(), Error> {
    let facts = Facts::load(Path::new("."), target, url)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    // What an earlier release left would stand beside this one, without a checksum.
    if out.exists() {
        fs::remove_dir_all(out).map_err(failed(out))?;
    }
    let pages = out.join("man");
    fs::create_dir_all(&pages).map_err(failed(&pages))?;
    let program = Program::load(program, debug, &pages)?;
    fs::remove_dir_all(&pages).map_err(failed(&pages))?;
    check_size("sortie", program.executable.len(), MAX_PROGRAM)?;

    let mut artefacts = artefacts(&facts, &program, &read_text(Path::new("Cargo.lock"))?);
    artefacts.extend(python_artefacts(&facts, wheels)?);
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
fn python_artefacts(facts: &Facts, wheels: &Path) -> Result<[Artefact; 2], Error> {
    let folder = Path::new("python");
    let metadata = facts::cargo_metadata(folder, &facts.target)?;
    let lock = read_text(&folder.join("Cargo.lock"))?;
    let crates = facts::crates_of_package(folder, MODULE, &facts.target)?;
    let bill = pretty(&sbom::bill_of_materials(facts, MODULE, &metadata, &crates, &lock));
    let wheel = verify::only(wheels, "", ".whl")?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok([(name, facts::read(&wheel)?), (format!("{MODULE}-{}.cdx.json", facts.version), bill.into_bytes())])
}

/// All that is made of the program alone.
fn artefacts(facts: &Facts, program: &Program, lock: &str) -> Vec<Artefact> {
    let archive = packages::archive(facts, program);
    let bill = pretty(&sbom::bill_of_materials(facts, PROGRAM, &facts.metadata, &facts.crates, lock));
    let mut artefacts = vec![
        packages::formula(facts, &archive),
        archive,
        packages::debug_archive(facts, program),
        packages::debian(facts, program),
        packages::program_wheel(facts, program),
        packages::image(facts, program),
        ("Containerfile".into(), include_bytes!("Containerfile").to_vec()),
        (format!("sortie-{}.cdx.json", facts.version), bill.into_bytes()),
    ];
    artefacts.extend(packages::npm(facts, program));
    artefacts
}

fn check_size(name: &str, bytes: usize, max: usize) -> Result<(), Error> {
    println!("    {bytes:>10} {name} (at most {max})");
    if bytes <= max { Ok(()) } else { Err(Error::TooBig { name: name.to_owned(), bytes, max }) }
}
