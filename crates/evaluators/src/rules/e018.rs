use super::{Diagnostic, Rule, about_file, error};

pub(crate) const E_018: Rule = error("E-018", "a file can be read", include_str!("e018.md"));

pub(crate) fn unreadable(why: &str) -> Diagnostic {
    about_file(&E_018, format!("this file could not be read: {why}"))
        .help("make it readable, or move it out of the folder")
}
