//! The bill of materials, as `CycloneDX` 1.6 in JSON: every crate that the program is made of, with its licence and checksum.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::facts::{Facts, package};

/// How a crate is used. One that is linked and also needed to build counts as linked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Linked,
    Build,
}

/// A package and all that Cargo knows about what it is built from.
pub(crate) struct Package<'a> {
    /// The program, or the Python module.
    pub(crate) name: &'a str,
    pub(crate) target: &'a str,
    pub(crate) metadata: &'a Value,
    /// The crates that it is built from, as `name version`.
    pub(crate) crates: &'a BTreeSet<String>,
    /// The text of its `Cargo.lock`, which has the checksums.
    pub(crate) lock: &'a str,
}

/// What one package is made of.
pub(crate) fn bill_of_materials(facts: &Facts, described: &Package) -> Value {
    let &Package { name, target, metadata, crates, lock } = described;
    let graph = Graph::new(metadata);
    let program = package(metadata, name);
    let root = program["id"].as_str().unwrap_or_default();
    let mut used = graph.reachable(root);
    used.retain(|id, _| *id == root || graph.is_one_of(id, crates));
    let checksums = checksums(lock);
    let components: Vec<Value> = used
        .iter()
        .filter(|(id, _)| **id != root)
        .filter_map(|(id, used)| Some(component(graph.packages.get(id)?, *used, &checksums)))
        .collect();
    let dependencies: Vec<Value> = used.keys().map(|id| graph.dependency(id, &used)).collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(facts.time),
            "component": {
                "type": if name == "sortie" { "application" } else { "library" },
                "bom-ref": purl(program),
                "name": name,
                "version": facts.version,
                "description": program["description"],
                "licenses": [{ "expression": facts.licence }],
                "purl": purl(program),
            },
            "properties": [{ "name": "cdx:rustc:sbom:target:triple", "value": target }],
        },
        "components": components,
        "dependencies": dependencies,
    })
}

/// Packages and what each depends on, by id.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    edges: BTreeMap<&'a str, Vec<(&'a str, Use)>>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Self {
        let list = |value: &'a Value| value.as_array().into_iter().flatten();
        let packages =
            list(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package)));
        let edges = list(&metadata["resolve"]["nodes"]).filter_map(|node| {
            let edges = list(&node["deps"]).filter_map(|dep| {
                let kinds = list(&dep["dep_kinds"]).filter_map(|kind| match kind["kind"].as_str() {
                    None => Some(Use::Linked),
                    Some("build") => Some(Use::Build),
                    Some(_) => None,
                });
                Some((dep["pkg"].as_str()?, kinds.min()?))
            });
            Some((node["id"].as_str()?, edges.collect()))
        });
        Self { packages: packages.collect(), edges: edges.collect() }
    }

    /// Everything that a package needs, itself included, and how.
    fn reachable(&self, root: &'a str) -> BTreeMap<&'a str, Use> {
        let mut found = BTreeMap::new();
        let mut open = vec![(root, Use::Linked)];
        while let Some((id, used)) = open.pop() {
            // A procedural macro runs in the compiler, and nothing of it is linked.
            let used = if self.is_macro(id) { Use::Build } else { used };
            if found.get(id).is_some_and(|known| *known <= used) {
                continue;
            }
            found.insert(id, used);
            let edges = self.edges.get(id).into_iter().flatten();
            open.extend(edges.map(|(next, how)| (*next, used.max(*how))));
        }
        found
    }

    fn is_macro(&self, id: &str) -> bool {
        let targets = self.packages.get(id).and_then(|package| package["targets"].as_array());
        let mut kinds =
            targets.into_iter().flatten().filter_map(|target| target["kind"].as_array()).flatten();
        kinds.any(|kind| kind == "proc-macro")
    }

    /// Whether a package is listed as `name version`.
    fn is_one_of(&self, id: &str, crates: &BTreeSet<String>) -> bool {
        let text = |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
        self.packages.get(id).is_some_and(|package| {
            crates.contains(&format!("{} {}", text(package, "name"), text(package, "version")))
        })
    }

    fn dependency(&self, id: &str, used: &BTreeMap<&str, Use>) -> Value {
        let name = |id: &str| self.packages.get(id).map(|package| purl(package)).unwrap_or_default();
        let edges = self.edges.get(id).into_iter().flatten();
        let edges = edges.filter(|(next, _)| used.contains_key(next));
        let needs: BTreeSet<String> = edges.map(|(next, _)| name(next)).collect();
        json!({ "ref": name(id), "dependsOn": needs })
    }
}

fn component(package: &Value, used: Use, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    let key = (text("name").to_owned(), text("version").to_owned());
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": text("name"),
        "version": text("version"),
        "scope": if used == Use::Linked { "required" } else { "excluded" },
        "licenses": [{ "expression": licence_expression(text("license")) }],
        "purl": purl(package),
    });
    if let Some(checksum) = checksums.get(&key) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    // A purl has `+` as `%2B`.
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

/// Older crates write `MIT/Apache-2.0`, which is no SPDX expression.
fn licence_expression(written: &str) -> String {
    written.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// Name and version to checksum, of a `Cargo.lock`.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let field = |name: &str| {
            let mut lines = package.lines();
            lines.find_map(|line| {
                Some(line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
            })
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    packages.collect()
}

/// Seconds since 1970 as RFC 3339.
pub(crate) fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of the year 0, so that a leap day is the last of a year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(timestamp(seconds), shown);
        }
    }

    #[test]
    fn old_licence_expressions_become_spdx() {
        assert_eq!(licence_expression("MIT/Apache-2.0"), "MIT OR Apache-2.0");
        assert_eq!(licence_expression("Unlicense / MIT"), "Unlicense OR MIT");
        assert_eq!(
            licence_expression("(MIT OR Apache-2.0) AND Unicode-3.0"),
            "(MIT OR Apache-2.0) AND Unicode-3.0"
        );
    }

    fn metadata() -> Value {
        let package = |id: &str, licence: &str, kind: &str| json!({ "id": id, "name": id, "version": "1.0.0", "license": licence, "targets": [{ "kind": [kind] }] });
        let dep = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("sortie", "Apache-2.0", "bin"), package("linked", "MIT/Apache-2.0", "lib"),
                package("derive", "MIT", "proc-macro"), package("parser", "MIT", "lib"), package("tests", "MIT", "lib"),
                package("feature", "MIT", "lib"),
            ],
            "resolve": { "nodes": [
                { "id": "sortie", "deps": [dep("linked", Value::Null), dep("tests", json!("dev"))] },
                { "id": "linked", "deps": [dep("derive", Value::Null), dep("feature", Value::Null)] },
                { "id": "derive", "deps": [dep("parser", Value::Null)] },
                { "id": "parser", "deps": [] }, { "id": "tests", "deps": [] }, { "id": "feature", "deps": [] },
            ] },
        })
    }

    fn bill() -> Value {
        let facts = Facts {
            version: "1.0.0".into(),
            description: "what it is".into(),
            licence: "Apache-2.0".into(),
            licence_text: String::new(),
            target: "x86_64-unknown-linux-gnu".into(),
            time: 0,
            url: String::new(),
            metadata: metadata(),
            crates: ["linked 1.0.0", "derive 1.0.0", "parser 1.0.0"].map(str::to_owned).into(),
        };
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let (metadata, crates, target) = (&facts.metadata, &facts.crates, facts.target.as_str());
        bill_of_materials(&facts, &Package { name: "sortie", target, metadata, crates, lock })
    }

    #[test]
    fn a_bill_has_what_is_linked_and_what_only_builds_and_no_tests() {
        let bill = bill();
        let components = bill["components"].as_array().unwrap();
        let shown: Vec<_> = components
            .iter()
            .map(|part| (part["name"].as_str().unwrap(), part["scope"].as_str().unwrap()))
            .collect();
        assert_eq!(shown, [("derive", "excluded"), ("linked", "required"), ("parser", "excluded")]);
        assert_eq!(components[1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[1]["hashes"][0]["content"], "abc");
        assert_eq!(components[1]["purl"], "pkg:cargo/linked@1.0.0");
    }

    #[test]
    fn the_graph_names_only_components() {
        let bill = bill();
        let dependencies = bill["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), 4);
        assert_eq!(dependencies[2], json!({ "ref": "pkg:cargo/parser@1.0.0", "dependsOn": [] }));
    }
}
