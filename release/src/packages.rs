//! The packages: each is a function of the facts and the program to files with names.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::facts::Facts;
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
    for (name, script) in &program.completions {
        tree.add(format!("completions/{name}"), script.as_slice());
    }
    for (name, page) in program.pages.iter() {
        tree.add(format!("man/{name}"), page);
    }
    (format!("{}.tar.gz", facts.stem()), gzip(&tree.to_tar(&format!("{}/", facts.stem()), facts.time)))
}

/// The names and lines of functions. Unpacked beside the program, backtraces have both.
pub(crate) fn debug_archive(facts: &Facts, program: &Program) -> Artefact {
    let mut tree = Tree::default();
    tree.add("sortie.debug", program.debug.as_slice());
    (format!("{}-debug.tar.gz", facts.stem()), gzip(&tree.to_tar("", facts.time)))
}

/// A package for Debian and its relatives. It depends on nothing, since the program is static.
pub(crate) fn debian(facts: &Facts, program: &Program) -> Artefact {
    let architecture = match facts.architecture() {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let mut data = Tree::default();
    data.add_program(PROGRAM_PATH, program.executable.as_slice());
    data.add("usr/share/doc/sortie/copyright", facts.licence_text.as_str());
    for (name, page) in program.pages.iter() {
        data.add(format!("usr/share/man/man1/{name}.gz"), gzip(page));
    }
    for (name, script) in &program.completions {
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
    (format!("sortie_{}_{architecture}.deb", facts.version), to_ar(&members, facts.time))
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
    (format!("sortie-{}-py3-none-{}.whl", facts.version, tags.join(".")), tree.to_zip())
}

/// Two packages: one that npm chooses by system and processor and that holds the program, and one that starts it.
pub(crate) fn npm(facts: &Facts, program: &Program) -> [Artefact; 2] {
    let processor = match facts.architecture() {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let platform = format!("@sortie/linux-{processor}");
    let shared = |name: &str| json!({ "name": name, "version": facts.version, "description": facts.description, "license": facts.licence });
    let mut holder = shared(&platform);
    holder["os"] = json!(["linux"]);
    holder["cpu"] = json!([processor]);
    let mut starter = shared("sortie");
    starter["bin"] = json!({ "sortie": "sortie.js" });
    starter["optionalDependencies"] = json!({ platform: facts.version });
    starter["engines"] = json!({ "node": ">=18" });
    let package = |manifest: &Value| {
        let mut tree = Tree::default();
        tree.add("package.json", pretty(manifest));
        tree.add("LICENSE", facts.licence_text.as_str());
        tree
    };
    let mut holding = package(&holder);
    holding.add_program("sortie", program.executable.as_slice());
    let mut starting = package(&starter);
    starting.add_program("sortie.js", include_str!("sortie.js"));
    let pack = |name: String, tree: &Tree| (name, gzip(&tree.to_tar("package/", facts.time)));
    [
        pack(format!("sortie-linux-{processor}-{}.tgz", facts.version), &holding),
        pack(format!("sortie-{}.tgz", facts.version), &starting),
    ]
}

/// An image without a base, as the layout that the Open Container Initiative describes.
pub(crate) fn image(facts: &Facts, program: &Program) -> Artefact {
    let architecture = match facts.architecture() {
        "aarch64" => "arm64",
        _ => "amd64",
    };
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
    (format!("sortie-{}-oci.tar", facts.version), layout.to_tar("", facts.time))
}

/// A Homebrew formula that installs the archive.
pub(crate) fn formula(facts: &Facts, archive: &Artefact) -> Artefact {
    let (name, content) = archive;
    let text = include_str!("sortie.rb.in")
        .replace("@DESCRIPTION@", facts.description.split(',').next().unwrap_or_default())
        .replace("@HOME@", &facts.url)
        .replace("@URL@", &format!("{}/{name}", facts.url))
        .replace("@SHA256@", &sha256(content))
        .replace("@VERSION@", &facts.version)
        .replace("@LICENSE@", &facts.licence)
        .replace("@ARCH@", if facts.architecture() == "aarch64" { "arm64" } else { "x86_64" });
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
