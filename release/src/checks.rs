//! What is checked without installing anything: checksums, the bill of materials, the formula.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::facts::{Facts, FileKind, PROGRAM, broken, crates_of_package, output, read, read_text};
use crate::packages::sha256;
use crate::{Error, MODULE};

/// Every artefact is listed, with the checksum that it has. `sha256sum` looks, as a user would.
pub(crate) fn check_checksums(out: &Path) -> Result<(), Error> {
    output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(out))?;
    let sums = read_text(&out.join("SHA256SUMS"))?;
    let listed: BTreeSet<&str> = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    let files = fs::read_dir(out).map_err(|source| Error::File { path: out.to_owned(), source })?;
    let names = files.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let unlisted: Vec<String> =
        names.filter(|name| name != "SHA256SUMS" && !listed.contains(name.as_str())).collect();
    if !unlisted.is_empty() {
        return Err(broken("checksums", format!("none for {}", unlisted.join(", "))));
    }
    println!("    checksums: right for {} files, and there are no others", listed.len());
    Ok(())
}

/// Every crate that Cargo builds the program and the Python module from is listed, with a licence; and the bills are what the
/// schema of `CycloneDX` says, as its own library for Python has it.
pub(crate) fn check_bills(targets: &[Facts], module: &str, out: &Path, clean: &Path) -> Result<(), Error> {
    let venv = clean.join("schema");
    output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut install = Command::new(venv.join("bin/pip"));
    output(install.args(["install", "--quiet", "cyclonedx-python-lib[json-validation]>=11,<12"]))?;
    let script = "import sys\nfrom cyclonedx.schema import SchemaVersion\nfrom cyclonedx.validation.json import JsonStrictValidator\n\
                  wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())\nsys.exit(str(wrong) if wrong else 0)";
    let version = &targets[0].version;
    let programs =
        targets.iter().map(|facts| (facts.file(FileKind::Bill), PROGRAM, ".", facts.target.as_str()));
    let bill_of_module = (format!("{MODULE}-{version}.cdx.json"), MODULE, "python", module);
    for (name, package, folder, target) in programs.chain([bill_of_module]) {
        let file = out.join(&name);
        let bill: Value =
            serde_json::from_str(&read_text(&file)?).map_err(|error| broken("bill", error.to_string()))?;
        let components = bill["components"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_unlicensed =
            |part: &&Value| part["licenses"][0]["expression"].as_str().is_none_or(str::is_empty);
        if let Some(part) = components.iter().find(is_unlicensed) {
            return Err(broken("bill", format!("{} has no licence", part["name"])));
        }
        compare_crates(&crates_of_bill(components), &crates_of_package(Path::new(folder), package, target)?)?;
        output(Command::new(venv.join("bin/python")).args(["-c", script]).arg(&file))?;
        println!("    {name}: {} crates, each with a licence; valid by the schema", components.len());
    }
    Ok(())
}

/// `name version` of every component.
fn crates_of_bill(components: &[Value]) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    components.iter().map(|part| format!("{} {}", text(&part["name"]), text(&part["version"]))).collect()
}

fn compare_crates(listed: &BTreeSet<String>, used: &BTreeSet<String>) -> Result<(), Error> {
    let names = |left: &BTreeSet<String>, right: &BTreeSet<String>| {
        left.difference(right).cloned().collect::<Vec<_>>().join(", ")
    };
    let (missing, extra) = (names(used, listed), names(listed, used));
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(broken("bill", format!("it lacks [{missing}], and lists [{extra}], which is not used")))
}

/// The formula names the archives that are here.
pub(crate) fn check_formula(targets: &[Facts], out: &Path) -> Result<(), Error> {
    let formula = read_text(&out.join("sortie.rb"))?;
    for facts in targets {
        let name = facts.file(FileKind::Archive);
        let sum = sha256(&read(&out.join(&name))?);
        // Homebrew takes the checksum that follows an address.
        if !formula.contains(&format!("/{name}\"\n    sha256 \"{sum}\"")) || formula.contains('@') {
            return Err(broken("formula", format!("it does not name {name} with its checksum")));
        }
    }
    println!("    formula: names {} archives and their checksums", targets.len());
    Ok(())
}

/// Every package for another processor has the program of the archive, whichever cannot be installed here.
pub(crate) fn check_same_program(facts: &Facts, out: &Path) -> Result<(), Error> {
    let unpack = |tool: &str, arguments: &[&str], file: &str, member: &str| {
        output(Command::new(tool).args(arguments).arg(out.join(file)).arg(member))
    };
    let archive = facts.file(FileKind::Archive);
    let program = unpack("tar", &["-xzOf"], &archive, &format!("{}/sortie", facts.stem()))?;
    let wheel = facts.file(FileKind::ProgramWheel);
    let script =
        "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";
    let scripts = format!("sortie-{}.data/scripts/sortie", facts.version);
    let npm = facts.file(FileKind::NpmProgram);
    for (name, packed) in [
        (&wheel, unpack("python3", &["-c", script], &wheel, &scripts)?),
        (&npm, unpack("tar", &["-xzOf"], &npm, "package/sortie")?),
    ] {
        if packed != program {
            return Err(broken(name, format!("it has another program than {archive}")));
        }
        println!("    {name}: has the program of the archive");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_that_lacks_a_crate_or_has_one_too_many_is_refused() {
        let used = BTreeSet::from(["ring 0.17.14".to_owned(), "serde 1.0.1".to_owned()]);
        assert!(compare_crates(&used, &used).is_ok());
        let mut fewer = used.clone();
        fewer.remove("serde 1.0.1");
        assert!(compare_crates(&fewer, &used).unwrap_err().to_string().contains("lacks [serde 1.0.1]"));
        assert!(compare_crates(&used, &fewer).unwrap_err().to_string().contains("lists [serde 1.0.1]"));
    }

    #[test]
    fn an_artefact_without_a_checksum_or_with_a_wrong_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "words").unwrap();
        let sums = folder.path().join("SHA256SUMS");
        fs::write(&sums, format!("{}  a\n", sha256(b"words"))).unwrap();
        check_checksums(folder.path()).unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        assert!(check_checksums(folder.path()).unwrap_err().to_string().contains("none for b"));
        fs::write(&sums, format!("{}  a\n{}  b\n", sha256(b"other words"), sha256(b""))).unwrap();
        assert!(check_checksums(folder.path()).is_err());
    }
}
