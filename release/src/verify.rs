//! Installs every package in a clean place, as its users would, and plays the demo there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;
use crate::checks::{check_bills, check_checksums, check_formula, check_same_program};
use crate::facts::{Facts, FileKind, PROGRAM, broken, create_folder, output, read};
use crate::hooks::check_hooks;
use crate::packages::{IMAGE_USER, npm_starter_file, sha256};
use crate::place::{Emulator, Place, search_path};

/// From a package on disk to the first verdict, at most. Installing counts.
const MAX_SECONDS: f64 = 30.0;
/// The place of the unpacked archive.
const ARCHIVE: &str = "archive";

/// Checks everything that `pack` wrote into `out`. The Python module is for the target `module`.
pub(crate) fn verify(targets: &[Facts], module: &str, out: &Path) -> Result<(), Error> {
    let out = &out.canonicalize().map_err(|source| Error::File { path: out.to_owned(), source })?;
    let clean = std::env::temp_dir().join(format!("sortie-release-{}", std::process::id()));
    let verified = verify_all(targets, module, out, &create_folder(&clean)?);
    // Nothing depends on whether it is gone.
    let _ = fs::remove_dir_all(&clean);
    verified
}

/// Installs the artefacts of a place, and gives what starts the program.
type Install = fn(&Place, &[PathBuf]) -> Result<Start, Error>;
/// Makes a command that starts the program where it was installed.
type Start = Box<dyn Fn(&Place) -> Command>;

fn verify_all(targets: &[Facts], module: &str, out: &Path, clean: &Path) -> Result<(), Error> {
    check_checksums(out)?;
    check_bills(targets, module, out, clean)?;
    check_formula(targets, out)?;
    for facts in targets {
        let file = |kind: FileKind| out.join(facts.file(kind));
        let program_wheel = file(FileKind::ProgramWheel);
        let mut ways: Vec<(&'static str, Vec<PathBuf>, Install)> = vec![
            (ARCHIVE, vec![file(FileKind::Archive)], archive),
            ("debian", vec![file(FileKind::Debian)], debian),
            ("image", vec![file(FileKind::Image)], image),
        ];
        if facts.is_foreign() {
            check_same_program(facts, out)?;
        } else {
            let npm_files = vec![out.join(npm_starter_file(facts)), file(FileKind::NpmProgram)];
            ways.push(("wheel", vec![only(out, "-abi3-", ".whl")?, program_wheel.clone()], wheel));
            ways.push(("program wheel", vec![program_wheel], wheel));
            ways.push(("npm", npm_files, npm));
        }
        for (name, artefacts, install) in ways {
            let place = Place::new(name, &clean.join(&facts.target), &artefacts, emulator(facts)?)?;
            let downloads: Vec<PathBuf> = artefacts.iter().map(|path| place.download(path)).collect();
            let start = install(&place, &downloads)?;
            check_program(facts, &place, &start)?;
        }
    }
    check_hooks(&only(out, "-abi3-", ".whl")?, clean)
}

/// What runs the programs of another processor.
fn emulator(facts: &Facts) -> Result<Option<Emulator>, Error> {
    match (facts.is_foreign(), facts.architecture()) {
        (false, _) => Ok(None),
        (true, "aarch64") => Ok(Some(Emulator::aarch64())),
        (true, other) => Err(broken(other, "programs of this processor cannot be run here")),
    }
}

/// Plays one attack and the demo. The first verdict has to come soon, but not from an emulated processor. Emulated, the demo takes minutes
/// and is played once, with the archive; the other packages play an agent that refuses.
fn check_program(facts: &Facts, place: &Place, start: &Start) -> Result<(), Error> {
    run(place, start, &["run", "SRT-001", "--agent", "builtin:gullible"], 1)?;
    let first = place.seconds();
    if first > MAX_SECONDS && !facts.is_foreign() {
        return Err(place.fail(format!("the first verdict took {first:.1} s")));
    }
    let version = run(place, start, &["--version"], 0)?;
    if version.trim() != format!("sortie {}", facts.version) {
        return Err(place.fail(format!("it says that it is `{}`", version.trim())));
    }
    let how = if facts.is_foreign() { " (emulated)" } else { "" };
    let last = if facts.is_foreign() && place.name() != ARCHIVE {
        run(place, start, &["run", "SRT-001", "--agent", "builtin:refuser"], 0)?;
        "second verdict"
    } else {
        run(place, start, &["demo"], 0)?;
        "demo"
    };
    println!(
        "    {} {}{how}: first verdict after {first:.1} s, {last} after {:.1} s",
        facts.architecture(),
        place.name(),
        place.seconds()
    );
    Ok(())
}

/// Runs the program, which has to end with `code`, and gives what it printed.
fn run(place: &Place, start: &Start, arguments: &[&str], code: i32) -> Result<String, Error> {
    let ran = start(place).args(arguments).output();
    let ran = ran.map_err(|error| place.fail(format!("`bwrap` cannot be started: {error}")))?;
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.code() == Some(code) {
        return Ok(printed);
    }
    let said = printed + &String::from_utf8_lossy(&ran.stderr);
    Err(place.fail(format!("`sortie {}` ended with {}, not {code}\n{said}", arguments.join(" "), ran.status)))
}

/// The unpacked archive, in a system that has nothing else: no C library, no certificates, no users.
fn archive(place: &Place, downloads: &[PathBuf]) -> Result<Start, Error> {
    let root = empty_root(place)?;
    output(Command::new("tar").arg("-xzf").arg(&downloads[0]).arg("-C").arg(&root))?;
    let listed = fs::read_dir(&root).map_err(|source| Error::File { path: root.clone(), source })?;
    let mut names = listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let folder = names.find(|name| name.starts_with("sortie-"));
    let folder = folder.ok_or_else(|| place.fail("the archive has no folder"))?;
    for file in ["completions/_sortie", "completions/sortie.bash", "completions/sortie.fish", "man/sortie.1"]
    {
        read(&root.join(&folder).join(file))?;
    }
    Ok(Box::new(move |place| place.in_root(&root, "/home", &format!("/{folder}/sortie"))))
}

/// What dpkg installs into a root of its own, which needs no rights. The program runs in that root.
fn debian(place: &Place, downloads: &[PathBuf]) -> Result<Start, Error> {
    let root = empty_root(place)?;
    let state = create_folder(&root.join("var/lib/dpkg/info"))?.with_file_name("status");
    fs::write(&state, "").map_err(|source| Error::File { path: state, source })?;
    create_folder(&root.join("var/lib/dpkg/updates"))?;
    let mut install = place.on_system("dpkg", search_path());
    install.arg(format!("--root={}", root.display()));
    // A package for another processor runs emulated.
    install.args(["--force-not-root", "--force-bad-path", "--force-architecture", "--log=/dev/null"]);
    install.arg("--install").arg(&downloads[0]);
    output(&mut install)?;
    Ok(Box::new(move |place| place.in_root(&root, "/home", "/usr/bin/sortie")))
}

/// Evaluates a message with the module.
const EVALUATE: &str = "import sortie\nassert sortie.load('SRT-001').evaluate({'arguments': {'path': '.ssh/id_ed25519'}}).verdict == 'exploited'";

/// A virtual environment, made offline. Only it is on the search path. Of the wheels that are there pip takes the one with the
/// module, which needs Python 3.11; the other one has the program alone, for other Pythons and C libraries.
fn wheel(place: &Place, downloads: &[PathBuf]) -> Result<Start, Error> {
    place.check_no_rust()?;
    // `python3` may be a script that reads its settings from a home, which is another one in the place.
    let python = output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
    let venv = place.folder().join("venv");
    let python = String::from_utf8_lossy(&python).trim().to_owned();
    output(place.on_system(python, search_path()).args(["-m", "venv"]).arg(&venv))?;
    let mut install = place.on_system(venv.join("bin/pip"), search_path());
    install.args(["install", "--quiet", "--no-index", "--find-links"]);
    output(install.arg(downloads[0].parent().unwrap_or(place.folder())).arg(PROGRAM))?;
    let has_module = downloads.iter().any(|wheel| wheel.to_string_lossy().contains("-abi3-"));
    if has_module {
        output(place.on_system(venv.join("bin/python"), search_path()).args(["-c", EVALUATE]))?;
    }
    Ok(Box::new(move |place| place.on_system(venv.join("bin/sortie"), venv.join("bin"))))
}

/// A prefix of npm, made offline. Only it and `node` are on the search path.
fn npm(place: &Place, downloads: &[PathBuf]) -> Result<Start, Error> {
    place.check_no_rust()?;
    let prefix = create_folder(&place.folder().join("prefix"))?;
    let mut install = place.on_system("npm", search_path());
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix);
    output(install.args(downloads))?;
    let programs = create_folder(&place.folder().join("programs"))?;
    let node = output(Command::new("node").args(["-p", "process.execPath"]))?;
    let link = programs.join("node");
    symlink(String::from_utf8_lossy(&node).trim(), &link)
        .map_err(|source| Error::File { path: link, source })?;
    Ok(Box::new(move |place| place.on_system(prefix.join("node_modules/.bin/sortie"), &programs)))
}

/// The image, unpacked with its digests checked. The program runs with the root, the user and the entry point of the image.
fn image(place: &Place, downloads: &[PathBuf]) -> Result<Start, Error> {
    let layout = create_folder(&place.folder().join("layout"))?;
    output(Command::new("tar").arg("-xf").arg(&downloads[0]).arg("-C").arg(&layout))?;
    let blob = |described: &Value| -> Result<(PathBuf, Vec<u8>), Error> {
        let hash = described["digest"].as_str().unwrap_or_default().trim_start_matches("sha256:").to_owned();
        let path = layout.join("blobs/sha256").join(&hash);
        let content = read(&path)?;
        if sha256(&content) == hash && described["size"] == content.len() {
            return Ok((path, content));
        }
        Err(place.fail(format!("blob {hash} is not what its name says")))
    };
    let parse =
        |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).map_err(|error| place.fail(error.to_string()));
    let index = parse(&read(&layout.join("index.json"))?)?;
    let manifest = parse(&blob(&index["manifests"][0])?.1)?;
    let settings = parse(&blob(&manifest["config"])?.1)?["config"].take();
    if settings["User"] != format!("{IMAGE_USER}:{IMAGE_USER}") {
        return Err(place.fail("it runs as another user than it should"));
    }
    let root = create_folder(&place.folder().join("root"))?;
    for described in manifest["layers"].as_array().into_iter().flatten() {
        let (layer, _) = blob(described)?;
        // The one who runs this owns what is unpacked, so the owner is looked up in the archive.
        let listed = output(Command::new("tar").args(["--numeric-owner", "-tvzf"]).arg(&layer))?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let own = format!("drwxr-xr-x {IMAGE_USER}/{IMAGE_USER} ");
        if !listed.lines().any(|line| line.starts_with(&own) && line.ends_with(" work/")) {
            return Err(place.fail(format!("its user cannot write into its folder\n{listed}")));
        }
        output(Command::new("tar").args(["--no-same-owner", "-xzpf"]).arg(layer).arg("-C").arg(&root))?;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (entry, folder) = (text(&settings["Entrypoint"][0]), text(&settings["WorkingDir"]));
    Ok(Box::new(move |place| place.in_root(&root, &folder, &entry)))
}

/// A root with a home and a folder for what is temporary, and nothing else.
fn empty_root(place: &Place) -> Result<PathBuf, Error> {
    let root = create_folder(&place.folder().join("root"))?;
    create_folder(&root.join("home"))?;
    create_folder(&root.join("tmp"))?;
    Ok(root)
}

/// The one artefact whose name has this part and this ending.
pub(crate) fn only(out: &Path, part: &str, ending: &str) -> Result<PathBuf, Error> {
    let listed = fs::read_dir(out).map_err(|source| Error::File { path: out.to_owned(), source })?;
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(part) && name.ends_with(ending)
    };
    let mut found: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).filter(is_wanted).collect();
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (_, more) => Err(broken(ending, format!("there are {} such artefacts", more + 1))),
    }
}
