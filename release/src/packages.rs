//! The packages: each is a function of the facts and the program to files with names.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::facts::{Facts, FileKind};
use crate::program::Program;
use crate::sbom::timestamp;
use crate::tree::{FolderMode, Tree, gzip, to_ar};

/// A file of the release.
pub(crate) type Artefact = (String, Vec<u8>);

/// The user of the image, as distroless images have it.
pub(crate) const IMAGE_USER: u32 = 65_532;
/// Where the program stands in a system.
const PROGRAM_PATH: &str = "usr/bin/sortie";

/// The program with completions and man pages.
pub(crate) fn archive(facts: &Facts, program: &Program) -> Artefact {
    let mut tree = Tree::default();
    tree.add_program("sortie", program.executable.as_slice());
    tree.add("LICENSE", facts.licence_text.as_str());
    for (name, script) in &program.texts.completions {
        tree.add(format!("completions/{name}"), script.as_slice());
    }
    for (name, page) in program.texts.pages.iter() {
        tree.add(format!("man/{name}"), page);
    }
    (facts.file(FileKind::Archive), gzip(&tree.to_tar(&format!("{}/", facts.stem()), facts.time)))
}

/// The names and lines of functions. Unpacked beside the program, backtraces have both.
pub(crate) fn debug_archive(facts: &Facts, program: &Program) -> Artefact {
    let mut tree = Tree::default();
    tree.add("sortie.debug", program.debug.as_slice());
    (facts.file(FileKind::DebugArchive), gzip(&tree.to_tar("", facts.time)))
}

/// A package for Debian and its relatives. It depends on nothing, since the program is static.
pub(crate) fn debian(facts: &Facts, program: &Program) -> Artefact {
    let architecture = facts.debian_architecture();
    let mut data = Tree::default();
    data.add_program(PROGRAM_PATH, program.executable.as_slice());
    data.add("usr/share/doc/sortie/copyright", facts.licence_text.as_str());
    for (name, page) in program.texts.pages.iter() {
        data.add(format!("usr/share/man/man1/{name}.gz"), gzip(page));
    }
    for (name, script) in &program.texts.completions {
        let place = match *name {
            "sortie.bash" => "bash-completion/completions/sortie",
            "_sortie" => "zsh/vendor-completions/_sortie",
            fish => &format!("fish/vendor_completions.d/{fish}"),
        };
        data.add(format!("usr/share/{place}"), script.as_slice());
    }
    let bytes: usize = data.iter().map(|(_, content)| content.len()).sum();
    let control = format!(
        "Package: sortie\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Sortie project\nInstalled-Size: {}\nSection: devel\nPriority: optional\nDescription: {}\n",
        facts.version,
        bytes.div_ceil(1024),
        facts.description
    );
    let mut about = Tree::default();
    about.add("control", control);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&about.to_tar("./", facts.time))),
        ("data.tar.gz", gzip(&data.to_tar("./", facts.time))),
    ];
    (facts.file(FileKind::Debian), to_ar(&members, facts.time))
}

/// A Python wheel that holds the program and no Python. A static program runs with any C library, so it has the tags of both. pip
/// takes it where the one with the module does not fit.
pub(crate) fn program_wheel(facts: &Facts, program: &Program) -> Artefact {
    let machine = facts.architecture();
    let tags = [format!("manylinux2014_{machine}"), format!("musllinux_1_1_{machine}")];
    let info = format!("sortie-{}.dist-info", facts.version);
    let mut tree = Tree::default();
    tree.add_program(format!("sortie-{}.data/scripts/sortie", facts.version), program.executable.as_slice());
    tree.add(format!("{info}/licenses/LICENSE"), facts.licence_text.as_str());
    tree.add(
        format!("{info}/METADATA"),
        format!(
            "Metadata-Version: 2.4\nName: sortie\nVersion: {}\nSummary: {}\nLicense-Expression: {}\nLicense-File: LICENSE\nRequires-Python: >=3.8\n",
            facts.version, facts.description, facts.licence
        ),
    );
    let tag_lines = tags.each_ref().map(|tag| format!("Tag: py3-none-{tag}\n")).concat();
    tree.add(
        format!("{info}/WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: sortie-release\nRoot-Is-Purelib: false\n{tag_lines}"),
    );
    let line = |(path, content): (&str, &[u8])| {
        let hash = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, content));
        format!("{path},sha256={hash},{}\n", content.len())
    };
    let record: String = tree.iter().map(line).collect();
    tree.add(format!("{info}/RECORD"), format!("{record}{info}/RECORD,,\n"));
    (facts.file(FileKind::ProgramWheel), tree.to_zip())
}

/// The package that holds the program for one system and processor, by which npm chooses it.
pub(crate) fn npm_program(facts: &Facts, program: &Program) -> Artefact {
    let mut manifest = npm_manifest(facts, &npm_name(facts));
    manifest["os"] = json!(["linux"]);
    manifest["cpu"] = json!([facts.node_architecture()]);
    let mut tree = npm_tree(facts, &manifest);
    tree.add_program("sortie", program.executable.as_slice());
    (facts.file(FileKind::NpmProgram), gzip(&tree.to_tar("package/", facts.time)))
}

/// The package that people name: it starts the program of the one for their system.
pub(crate) fn npm_starter(targets: &[Facts]) -> Artefact {
    let facts = &targets[0];
    let mut manifest = npm_manifest(facts, "sortie");
    manifest["bin"] = json!({ "sortie": "sortie.js" });
    manifest["engines"] = json!({ "node": ">=18" });
    for target in targets {
        manifest["optionalDependencies"][npm_name(target)] = json!(target.version);
    }
    let mut tree = npm_tree(facts, &manifest);
    tree.add_program("sortie.js", include_str!("sortie.js"));
    (npm_starter_file(facts), gzip(&tree.to_tar("package/", facts.time)))
}

pub(crate) fn npm_starter_file(facts: &Facts) -> String {
    format!("sortie-{}.tgz", facts.version)
}

fn npm_name(facts: &Facts) -> String {
    format!("@sortie/linux-{}", facts.node_architecture())
}

fn npm_manifest(facts: &Facts, name: &str) -> Value {
    json!({ "name": name, "version": facts.version, "description": facts.description, "license": facts.licence })
}

fn npm_tree(facts: &Facts, manifest: &Value) -> Tree {
    let mut tree = Tree::default();
    tree.add("package.json", pretty(manifest));
    tree.add("LICENSE", facts.licence_text.as_str());
    tree
}

/// An image without a base, as the layout that the Open Container Initiative describes.
pub(crate) fn image(facts: &Facts, program: &Program) -> Artefact {
    let architecture = facts.debian_architecture();
    let mut files = Tree::default();
    files.add_program(PROGRAM_PATH, program.executable.as_slice());
    files.add("usr/share/doc/sortie/copyright", facts.licence_text.as_str());
    files.add("etc/passwd", format!("nonroot:x:{IMAGE_USER}:{IMAGE_USER}:nonroot:/work:/sbin/nologin\n"));
    files.add("etc/group", format!("nonroot:x:{IMAGE_USER}:\n"));
    files.add_folder("work", FolderMode { mode: 0o755, owner: IMAGE_USER });
    files.add_folder("tmp", FolderMode { mode: 0o1777, owner: 0 });
    let tar = files.to_tar("", facts.time);
    let layer = gzip(&tar);
    let config = pretty(&json!({
        "architecture": architecture,
        "os": "linux",
        "created": timestamp(facts.time),
        "config": {
            "User": format!("{IMAGE_USER}:{IMAGE_USER}"),
            "Entrypoint": [format!("/{PROGRAM_PATH}")],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin"],
            "Labels": {
                "org.opencontainers.image.title": "sortie",
                "org.opencontainers.image.version": facts.version,
                "org.opencontainers.image.description": facts.description,
                "org.opencontainers.image.licenses": facts.licence,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&tar))] },
    }));
    let mut layout = Tree::default();
    let mut blob = |kind: &str, content: &[u8]| {
        let hash = sha256(content);
        layout.add(format!("blobs/sha256/{hash}"), content);
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": format!("sha256:{hash}"),
            "size": content.len(),
        })
    };
    let manifest = pretty(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", config.as_bytes()),
        "layers": [blob("layer.v1.tar+gzip", &layer)],
    }));
    let mut listed = blob("manifest.v1+json", manifest.as_bytes());
    listed["annotations"] =
        json!({ "org.opencontainers.image.ref.name": format!("sortie:{}", facts.version) });
    layout.add("index.json", pretty(&json!({ "schemaVersion": 2, "manifests": [listed] })));
    layout.add("oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}\n");
    (facts.file(FileKind::Image), layout.to_tar("", facts.time))
}

/// A Homebrew formula that installs the archive for the processor of its user.
pub(crate) fn formula(targets: &[Facts], archives: &[Artefact]) -> Artefact {
    let facts = &targets[0];
    let downloads = targets.iter().zip(archives).map(|(target, (name, content))| {
        let processor = if target.architecture() == "aarch64" { "arm" } else { "intel" };
        let (url, sum) = (&facts.url, sha256(content));
        format!("  on_{processor} do\n    url \"{url}/{name}\"\n    sha256 \"{sum}\"\n  end\n")
    });
    let text = include_str!("sortie.rb.in")
        .replace("@DESCRIPTION@", facts.description.split(',').next().unwrap_or_default())
        .replace("@HOME@", &facts.url)
        .replace("@DOWNLOADS@", &downloads.collect::<Vec<_>>().join("\n"))
        .replace("@VERSION@", &facts.version)
        .replace("@LICENSE@", &facts.licence);
    ("sortie.rb".into(), text.into_bytes())
}

/// A line for each artefact, as `sha256sum --check` reads it.
pub(crate) fn checksums(artefacts: &[Artefact]) -> String {
    let lines: Vec<String> =
        artefacts.iter().map(|(name, content)| format!("{}  {name}\n", sha256(content))).collect();
    lines.concat()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digits: Vec<String> =
        digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
