//! Parts: 0.3 says of which kind one is, 1.0 shows it by its members.

use super::A2aVersion;
use crate::Members;

/// Members of a file: in the `file` of 0.3, and beside each other in 1.0.
const FILE: [(&str, &str); 4] =
    [("bytes", "raw"), ("uri", "url"), ("name", "filename"), ("mimeType", "mediaType")];

pub(super) fn rewrite(json: &str, to: A2aVersion) -> Option<String> {
    let part = Members::read(json)?;
    let part = match to {
        A2aVersion::V1_0 => to_1_0(&part)?,
        A2aVersion::V0_3 => to_0_3(&part)?,
    };
    Some(part.to_string())
}

fn to_1_0(part: &Members) -> Option<Members> {
    // Before 0.2 it was called `type`, and some agents still send that.
    let (key, kind) = ["kind", "type"].iter().find_map(|key| Some((*key, part.string(key)?)))?;
    let mut written = Members::default();
    match kind.as_str() {
        "text" | "data" => part.get(&kind)?,
        "file" => part.object("file").and_then(|_| part.get("file"))?,
        _ => return None,
    };
    for (name, json) in part.iter().filter(|(name, _)| *name != key) {
        if kind == "file" && name == "file" {
            let file = Members::read(json)?;
            for (name, json) in file.iter() {
                let new = FILE.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
                written.push(new, json);
            }
        } else {
            written.push(name, json);
        }
    }
    Some(written)
}

fn to_0_3(part: &Members) -> Option<Members> {
    let mut contents = ["text", "raw", "url", "data"].into_iter().filter(|name| part.get(name).is_some());
    let (Some(content), None) = (contents.next(), contents.next()) else { return None };
    if part.get("kind").is_some() {
        return None;
    }
    let mut written = Members::default();
    let kind = if matches!(content, "raw" | "url") { "file" } else { content };
    written.push("kind", &format!("\"{kind}\""));
    if kind != "file" {
        part.iter().for_each(|(name, json)| written.push(name, json));
        return Some(written);
    }
    let mut file = Members::default();
    for (name, json) in part.iter() {
        match FILE.iter().find(|(_, new)| *new == name) {
            Some((old, _)) => file.push(old, json),
            None => written.push(name, json),
        }
    }
    written.push("file", &file.to_string());
    Some(written)
}
