//! Which file is what, by its place below a root.

use std::collections::HashSet;

use crate::model::TargetClass;

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileKind<'p> {
    /// `<…>/<stem>.yaml`
    Flat {
        stem: &'p str,
    },
    /// `<…>/<name>/evaluator.yaml`; `None` where the folder is the root.
    Folder {
        name: Option<&'p str>,
    },
    /// `<folder>/patterns/<slug>.yaml`
    Pattern {
        folder: &'p str,
        slug: &'p str,
    },
    /// `<folder>/<stem>.test.yaml`
    Fixtures {
        folder: &'p str,
        stem: &'p str,
    },
    /// `suites/<…>/<stem>.yaml`
    Suite {
        stem: &'p str,
    },
    /// YAML where none is looked for, and what to do about it.
    Misplaced(&'static str),
    Other,
}

/// The folder of a path, and the name in it.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folders of a root that hold an `evaluator.yaml`. The root itself is none.
pub(crate) fn folders<'p>(paths: impl Iterator<Item = &'p str>) -> HashSet<&'p str> {
    let folders = paths.filter_map(|path| path.strip_suffix("/evaluator.yaml"));
    let folders: HashSet<_> = folders.collect();
    // A pattern may be called `evaluator`.
    let is_pattern =
        |folder: &&str| folder.strip_suffix("/patterns").is_some_and(|above| folders.contains(above));
    folders.iter().copied().filter(|folder| !is_pattern(folder)).collect()
}

/// What the file at a path is, in a root with these folders of evaluators.
pub(crate) fn kind<'p>(path: &'p str, folders: &HashSet<&str>) -> FileKind<'p> {
    let (folder, name) = split(path);
    let Some(stem) = name.strip_suffix(".yaml") else {
        return match name.rsplit_once('.') {
            Some((_, extension))
                if ["yml", "yaml"].iter().any(|yaml| extension.eq_ignore_ascii_case(yaml)) =>
            {
                FileKind::Misplaced("name it `.yaml`: other names are not looked at")
            }
            _ => FileKind::Other,
        };
    };
    if path.starts_with("suites/") {
        return FileKind::Suite { stem };
    }
    if let Some(above) = folder.strip_suffix("/patterns")
        && folders.contains(above)
    {
        return FileKind::Pattern { folder: above, slug: stem };
    }
    if folders.contains(folder) || name == "evaluator.yaml" {
        return match stem.strip_suffix(".test") {
            Some(stem) => FileKind::Fixtures { folder, stem },
            None if stem == "evaluator" => {
                FileKind::Folder { name: Some(split(folder).1).filter(|name| !name.is_empty()) }
            }
            None => FileKind::Misplaced(
                "the folder of an evaluator holds `evaluator.yaml`, `patterns/<slug>.yaml` and `<id>.test.yaml`",
            ),
        };
    }
    let mut above = folder;
    while !above.is_empty() {
        if folders.contains(above) {
            return FileKind::Misplaced(
                "below the folder of an evaluator, patterns are `patterns/<slug>.yaml` and nothing is deeper",
            );
        }
        above = split(above).0;
    }
    match stem.strip_suffix(".test") {
        Some(stem) => FileKind::Fixtures { folder, stem },
        None => FileKind::Flat { stem },
    }
}

/// The catalogue that the folders on the way to a file say, and the folders below that one: its categories.
///
/// `root` is the name of the root, whose own folder counts too. `path` is that of the evaluator without its own folder.
pub(crate) fn way<'p>(root: &str, folder: &'p str) -> (Option<TargetClass>, Vec<&'p str>) {
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    if let Some(at) = steps.iter().position(|step| step.parse::<TargetClass>().is_ok()) {
        let class = steps[at].parse().ok();
        steps.drain(..=at);
        return (class, steps);
    }
    let own = root.trim_end_matches('/').rsplit('/').next().and_then(|name| name.parse().ok());
    (own, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds<'p>(paths: &[&'p str]) -> Vec<FileKind<'p>> {
        let folders = folders(paths.iter().copied());
        paths.iter().map(|path| kind(path, &folders)).collect()
    }

    #[test]
    fn a_file_is_what_its_place_says_and_nothing_else() {
        use FileKind::{Fixtures, Flat, Folder, Misplaced, Other, Pattern, Suite};
        for (paths, expected) in [
            (
                &["mcp/a.yaml", "mcp/a.test.yaml"][..],
                &[Flat { stem: "a" }, Fixtures { folder: "mcp", stem: "a" }][..],
            ),
            (
                &["b/evaluator.yaml", "b/patterns/evaluator.yaml"],
                &[Folder { name: Some("b") }, Pattern { folder: "b", slug: "evaluator" }],
            ),
            (&["evaluator.yaml", "a.yaml"], &[Folder { name: None }, Flat { stem: "a" }]),
            (&["README.md", "suites/s.yaml"], &[Other, Suite { stem: "s" }]),
            // A category may have any name.
            (&["patterns/a.yaml"], &[Flat { stem: "a" }]),
        ] {
            assert_eq!(kinds(paths), expected);
        }
        let found = kinds(&["b/evaluator.yaml", "b/c.yaml", "b/patterns/deep/c.yaml", "c.yml"]);
        assert!(matches!(found[1..], [Misplaced(_), Misplaced(_), Misplaced(_)]), "{found:?}");
    }

    #[test]
    fn the_first_folder_with_the_name_of_a_catalogue_counts() {
        assert_eq!(
            way("evaluators", "agent/injection/mcp"),
            (Some(TargetClass::Agent), vec!["injection", "mcp"])
        );
        assert_eq!(way("evaluators/mcp", "files"), (Some(TargetClass::Mcp), vec!["files"]));
        assert_eq!(way("mine", "files/deep"), (None, vec!["files", "deep"]));
    }
}
