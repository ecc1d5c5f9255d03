//! The table of crates in docs/architecture.md says what the manifests say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Rooms = BTreeMap<String, BTreeSet<String>>;

/// The rows `| crates/NAME | what | uses |`.
fn of_page(page: &str) -> Rooms {
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split_once('`'));
    rows.map(|(name, rest)| {
        let uses = rest.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        (name.to_owned(), names(uses))
    })
    .collect()
}

/// What the crates depend on, but for their tests.
fn of_manifests(crates: &Path) -> Rooms {
    let folders = std::fs::read_dir(crates).unwrap().flatten();
    let rooms = folders.filter_map(|folder| {
        let manifest = std::fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n")?;
        let dependencies = dependencies.split("\n[").next().unwrap_or_default().lines();
        let uses = dependencies.filter_map(|line| line.strip_prefix("sortie-")?.split(['.', ' ']).next());
        Some((folder.file_name().into_string().unwrap(), uses.map(str::to_owned).collect()))
    });
    rooms.collect()
}

#[test]
fn the_table_of_crates_says_what_the_manifests_say() {
    let root = crate::root();
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    assert_eq!(
        of_page(&page),
        of_manifests(&root.join("crates")),
        "docs/architecture.md, then the manifests"
    );
}
