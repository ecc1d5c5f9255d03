//! Every link of the site leads to a file of it, and to a place in that file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::book::listed;

/// Pages of mdBook that are only shown for an address that does not exist: their links are relative to the root of a server.
const SERVED: &str = "404.html";

pub(super) fn check(site: &Path) -> Result<(), String> {
    let mut files = BTreeSet::new();
    collect(site, &mut files)?;
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "html")) {
        let text = std::fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        pages.insert(path.clone(), Page::parse(&text));
    }
    let mut dead = Vec::new();
    for (path, page) in pages.iter().filter(|(path, _)| !path.ends_with(SERVED)) {
        for link in page.links.iter().filter(|link| !leads_somewhere(link, path, &files, &pages)) {
            dead.push(format!("{}: `{link}`", path.strip_prefix(site).unwrap_or(path).display()));
        }
    }
    match dead.is_empty() {
        true if pages.len() > 1 => Ok(()),
        true => Err("there are no pages".to_owned()),
        false => Err(format!("{} dead links:\n  {}", dead.len(), dead.join("\n  "))),
    }
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    for path in listed(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

/// What a page links to, and the places in it.
struct Page {
    links: BTreeSet<String>,
    ids: BTreeSet<String>,
}

impl Page {
    fn parse(html: &str) -> Self {
        let values = |attribute: &str| -> BTreeSet<String> {
            let values = html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            values.map(|value| value.replace("&amp;", "&")).collect()
        };
        let mut links = values(" href=\"");
        links.extend(values(" src=\""));
        Self { links, ids: values(" id=\"") }
    }
}

fn leads_somewhere(
    link: &str,
    page: &Path,
    files: &BTreeSet<PathBuf>,
    pages: &BTreeMap<PathBuf, Page>,
) -> bool {
    let is_elsewhere = ["http://", "https://", "data:", "javascript:", "mailto:"];
    if is_elsewhere.iter().any(|scheme| link.starts_with(scheme)) {
        return true;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or_default();
    let target = if path.is_empty() { page.to_owned() } else { join(page, path) };
    if !files.contains(&target) {
        return false;
    }
    anchor.is_empty() || pages.get(&target).is_none_or(|page| page.ids.contains(anchor))
}

/// A relative address as seen from a page.
fn join(page: &Path, link: &str) -> PathBuf {
    let mut target = page.parent().unwrap_or(page).to_owned();
    for part in link.split('/') {
        match part {
            ".." => _ = target.pop(),
            "" | "." => {}
            part => target.push(part),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_and_a_dead_anchor_are_noticed() {
        let page = PathBuf::from("site/start/a.html");
        let other = PathBuf::from("site/b.html");
        let text = "<h1 id=\"here\"></h1><a href=\"../b.html#there\"></a><a href=\"../b.html#gone\"></a>\
                    <img src=\"../none.png\"><a href=\"#here\"></a><a href=\"https://example.org/x\"></a>";
        let pages = BTreeMap::from([
            (page.clone(), Page::parse(text)),
            (other.clone(), Page::parse("<p id=\"there\">")),
        ]);
        let files = BTreeSet::from([page.clone(), other]);
        let links = pages[&page].links.iter();
        let dead: Vec<&String> = links.filter(|link| !leads_somewhere(link, &page, &files, &pages)).collect();
        assert_eq!(dead, ["../b.html#gone", "../none.png"]);
    }
}
