//! Wildcard dot-paths, as far as this module has to read them.

use std::fmt;

/// One step of a wildcard dot-path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// `name`
    Field(&'a str),
    /// `[*]`
    Elements,
}

/// Reads a target into steps; `None` when it is not a wildcard dot-path, which is for V-021 to report.
pub(super) fn parse_target(target: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    if target.is_empty() {
        return Some(steps);
    }
    for (index, segment) in target.split('.').enumerate() {
        let mut name = segment;
        let mut wildcards = 0;
        while let Some(rest) = name.strip_suffix("[*]") {
            name = rest;
            wildcards += 1;
        }
        if !name.is_empty() {
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !name.chars().all(legal) {
                return None;
            }
            steps.push(Step::Field(name));
        } else if index > 0 || wildcards == 0 {
            return None;
        }
        steps.extend(std::iter::repeat_n(Step::Elements, wildcards));
    }
    Some(steps)
}

/// Steps, written as a path again.
pub(super) struct Path<'a, 'b>(pub(super) &'b [Step<'a>]);

impl fmt::Display for Path<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if index == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Elements => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_reading_and_writing() {
        for path in ["", "name", "tools[*].name", "a.b-c[*][*].d_e", "[*].url"] {
            let steps = parse_target(path).expect(path);
            assert_eq!(Path(&steps).to_string(), path);
        }
    }

    #[test]
    fn what_v021_rejects_is_not_read() {
        for path in ["tools..name", "tools[0].name", "tools[*.x", ".a", "a.", "a.[*]", "$.a", "a[*]b"] {
            assert_eq!(parse_target(path), None, "{path}");
        }
    }
}
