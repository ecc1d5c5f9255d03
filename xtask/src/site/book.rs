//! The source of the site: pages, files that they link to, and the summary that mdBook asks for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::reference;
use crate::step::root;

/// Pages of the site that are not in `docs/`, and where they are there.
const ELSEWHERE: &[(&str, &str)] =
    &[("README.md", "index.md"), ("CONTRIBUTING.md", "contributing.md"), ("peers/README.md", "peers.md")];

/// Writes the book into a folder, which is emptied first.
pub(super) fn write(folder: &Path) -> Result<(), String> {
    if folder.is_dir() {
        fs::remove_dir_all(folder).map_err(|error| describe(folder, &error))?;
    }
    let source = folder.join("src");
    copy(&root().join("docs/book.toml"), &folder.join("book.toml"))?;
    let mut book = Book { source, copied: BTreeSet::new(), pages: Vec::new() };
    book.add_folder(Path::new("docs"))?;
    for page in ["CONTRIBUTING.md", "peers/README.md"] {
        book.add_page(Path::new(page))?;
    }
    reference::write(&book.source.join("reference"))?;
    book.write_summary()
}

struct Book {
    /// What mdBook reads.
    source: PathBuf,
    /// Files of the repository that are in the site.
    copied: BTreeSet<PathBuf>,
    /// Pages of the site, each with its title.
    pages: Vec<(PathBuf, String)>,
}

impl Book {
    /// Adds everything below a folder of the repository.
    fn add_folder(&mut self, folder: &Path) -> Result<(), String> {
        for path in listed(&root().join(folder))? {
            let name = path.file_name().unwrap_or_default();
            let own = folder.join(name);
            let is_of_mdbook = name == "SUMMARY.md" || name == "book.toml";
            if path.is_dir() {
                self.add_folder(&own)?;
            } else if !is_of_mdbook && own.extension().is_some_and(|extension| extension == "md") {
                self.add_page(&own)?;
            } else if !is_of_mdbook {
                self.add_file(&own)?;
            }
        }
        Ok(())
    }

    fn add_page(&mut self, page: &Path) -> Result<(), String> {
        let text = read(&root().join(page))?;
        let place = place(page).ok_or_else(|| format!("`{}` is not a file", page.display()))?;
        let (text, files) = with_links(&text, page, &place);
        for file in files {
            self.add_file(&file)?;
        }
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Page").to_owned();
        write_file(&self.source.join(&place), &text)?;
        self.pages.push((place, title));
        Ok(())
    }

    fn add_file(&mut self, file: &Path) -> Result<(), String> {
        let Some(place) = place(file) else { return Ok(()) };
        if self.copied.insert(file.to_owned()) {
            copy(&root().join(file), &self.source.join(place))?;
        }
        Ok(())
    }

    /// `docs/SUMMARY.md` with its lists filled in. A page that it does not name is listed at the end.
    fn write_summary(&mut self) -> Result<(), String> {
        self.pages.sort();
        let summary = Path::new("docs/SUMMARY.md");
        let (text, _) = with_links(&read(&root().join(summary))?, summary, Path::new("SUMMARY.md"));
        let mut full = String::new();
        for line in text.lines() {
            match line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) {
                None => full.extend([line, "\n"]),
                Some("commands") => full.push_str("- [Commands](reference/commands.md)\n"),
                Some("lists") => full.push_str(reference::LISTS),
                Some("schemas") => full.push_str("- [JSON schemas](reference/schemas.md)\n"),
                Some(folder) => full.extend(self.below(folder)),
            }
        }
        let missing =
            self.pages.iter().filter(|(place, _)| !full.contains(&format!("({})", place.display())));
        let missing: Vec<String> =
            missing.map(|(place, title)| format!("- [{title}]({})\n", place.display())).collect();
        if !missing.is_empty() {
            full.extend(["\n# More\n\n", &missing.concat()]);
        }
        write_file(&self.source.join("SUMMARY.md"), &full)
    }

    /// The pages of a folder but for its first, as items below the item before them.
    fn below(&self, folder: &str) -> impl Iterator<Item = String> {
        let pages = self.pages.iter().filter(move |(place, _)| place.starts_with(folder));
        let pages = pages.filter(|(place, _)| !place.ends_with("index.md"));
        pages.map(|(place, title)| format!("  - [{}]({})\n", title.replace('`', ""), place.display()))
    }
}

/// Where a file of the repository is in the site; `None` for a folder, or for what is not there.
fn place(file: &Path) -> Option<PathBuf> {
    if let Some((_, place)) = ELSEWHERE.iter().find(|(page, _)| Path::new(page) == file) {
        return Some(PathBuf::from(place));
    }
    if !root().join(file).is_file() {
        return None;
    }
    match file.strip_prefix("docs") {
        Ok(own) if own.ends_with("README.md") => Some(own.with_file_name("index.md")),
        Ok(own) => Some(own.to_owned()),
        Err(_) => Some(Path::new("files").join(file)),
    }
}

/// A page whose links lead to places of the site, and the files that have to be there for it. A link to a folder of the
/// repository becomes plain text.
fn with_links(text: &str, page: &Path, place_of_page: &Path) -> (String, Vec<PathBuf>) {
    let up = "../".repeat(place_of_page.components().count().saturating_sub(1));
    let (mut full, mut files) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(at) = next_link(rest) {
        let (before, link) = rest.split_at(at);
        // `next_link` found both ends.
        let end = link.find(')').unwrap_or(link.len());
        let target = &link[2..end];
        let (path, anchor) =
            target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        full.push_str(before);
        rest = &link[end..];
        if path.is_empty() || path.contains("://") {
            full.push_str(&link[..end]);
            continue;
        }
        let file = resolve(page.parent().unwrap_or(Path::new("")), path);
        if let Some(place) = place(&file) {
            let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
            full.extend(["](", &up, &place.display().to_string(), &anchor]);
            if place.extension().is_none_or(|extension| extension != "md") {
                files.push(file);
            }
        } else {
            if let Some(open) = full.rfind('[') {
                full.remove(open);
            }
            rest = &link[(end + 1).min(link.len())..];
        }
    }
    full.push_str(rest);
    (full, files)
}

/// Where the next `](TARGET)` begins, outside of code.
fn next_link(text: &str) -> Option<usize> {
    let (mut fenced, mut start) = (false, 0);
    for line in text.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        let links = line.match_indices("](").map(|(at, _)| at);
        // An odd number of backticks before it: it is in code.
        let mut links =
            links.filter(|at| line[..*at].matches('`').count() % 2 == 0 && line[*at..].contains(')'));
        if !fenced && let Some(at) = links.next() {
            return Some(start + at);
        }
        start += line.len();
    }
    None
}

/// A path as seen from a folder, without `..`.
fn resolve(folder: &Path, path: &str) -> PathBuf {
    let mut resolved = folder.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => _ = resolved.pop(),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

pub(super) fn listed(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| describe(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

pub(super) fn write_file(path: &Path, text: &str) -> Result<(), String> {
    make_folder(path)?;
    fs::write(path, text).map_err(|error| describe(path, &error))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    make_folder(to)?;
    fs::copy(from, to).map(|_| ()).map_err(|error| describe(from, &error))
}

fn make_folder(path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| describe(folder, &error))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| describe(path, &error))
}

fn describe(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_within_the_site() {
        let text = "[a](run.md#x) [b](../README.md) [c](../CONTRIBUTING.md) [d](../examples) `[e](f)` [g](#h)\n```text\n[i](j)\n```\n";
        let (text, files) = with_links(text, Path::new("docs/eval.md"), Path::new("eval.md"));
        let expected =
            "[a](run.md#x) [b](index.md) [c](contributing.md) d `[e](f)` [g](#h)\n```text\n[i](j)\n```\n";
        assert_eq!(text, expected);
        assert!(files.is_empty());
    }

    #[test]
    fn a_file_of_the_repository_comes_along() {
        let text = "[a](../../Cargo.toml) [b](../run.md)";
        let (text, files) = with_links(text, Path::new("docs/start/agents.md"), Path::new("start/agents.md"));
        assert_eq!(text, "[a](../files/Cargo.toml) [b](../run.md)");
        assert_eq!(files, [Path::new("Cargo.toml")]);
    }
}
