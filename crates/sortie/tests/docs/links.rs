//! Links from one file of the repository to another lead somewhere.

use std::path::Path;

/// The relative targets of Markdown links in a text that do not exist, seen from the folder of the page.
pub(crate) fn broken(text: &str, folder: &Path) -> Vec<String> {
    let mut fenced = false;
    let mut broken = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                broken.push(target.to_owned());
            }
        }
    }
    broken
}

#[test]
fn only_links_that_lead_nowhere_are_broken() {
    let text = "[a](main.rs) [b](gone.md#x) [c](https://example.org) [d](#here)\n```yaml\n[e](no)\n```\n";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs");
    assert_eq!(broken(text, &folder), ["gone.md"]);
}
