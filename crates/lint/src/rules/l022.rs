use sortie_oatf::bindings::{Reachability, Side, is_agent_side, reachability};
use sortie_oatf::model::{ExtractorSource, ExtractorType, Mode};
use sortie_oatf::rules::edits;
use sortie_syntax::DiagnosticSeverity::Warning;

use super::{Rule, state};

/// An extractor finds something.
pub(super) const L_022: Rule = Rule {
    code: "L-022",
    spec: "§5.5",
    title: "an extractor finds something",
    severity: Warning,
    explain: include_str!("l022.md"),
    check: Some(|document, report| {
        let mut left = MOST_QUESTIONS;
        for list in document.phase_lists() {
            for (path, phase) in list.iter() {
                let Some(mode) = list.mode_of(phase) else { continue };
                let Some(protocol) = Mode::protocol(mode) else { continue };
                for (index, extractor) in phase.extractors.iter().flatten().enumerate() {
                    if extractor.r#type != ExtractorType::JsonPath || left == 0 {
                        continue;
                    }
                    let Some(target) = as_target(&extractor.selector) else { continue };
                    left -= 1;
                    let side = match extractor.source {
                        ExtractorSource::Request => Side::Request,
                        ExtractorSource::Response => Side::Response,
                    };
                    let answer = reachability(protocol, None, Some(side), &[mode], &target);
                    let Reachability::Never { reason, nearest } = answer else { continue };
                    // A payload may have fields of the author's own.
                    let invented =
                        reason.missing_key().is_some_and(|key| state::sends_key(document, protocol, key));
                    if invented && is_agent_side(mode, None, Some(side)) != Some(true) {
                        continue;
                    }
                    let at = path.clone().key("extractors").index(index).key("selector");
                    let finding = report.add(
                        &L_022,
                        at.clone(),
                        format!("this extractor never finds anything: {reason}"),
                    );
                    match nearest.filter(|nearest| !nearest.path.is_empty()) {
                        Some(nearest) => {
                            let selector = format!("$.{}", nearest.path);
                            let edits = edits::replace_scalar(document, &at, &selector);
                            finding
                                .label(format!("did you mean `{selector}`?"))
                                .help(format!("that is in the {} of `{}`", side.as_str(), nearest.surface))
                                .fix(format!("select `{selector}`"), edits);
                        }
                        None => {
                            finding.help(format!(
                                "selectors start at the `params` of a request or the `result` of a response, and `source` is `{}` here",
                                side.as_str()
                            ));
                        }
                    }
                }
            }
        }
    }),
};

/// Every one may compare a path with all of a protocol's.
const MOST_QUESTIONS: usize = 200;

/// A selector of names and positions as a wildcard dot-path; `None` for one that can do more.
fn as_target(selector: &str) -> Option<String> {
    let rest = selector.trim().strip_prefix("$.")?;
    let mut target = String::new();
    for (index, segment) in rest.split('.').enumerate() {
        let (name, positions) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let inside = match positions {
            "" => None,
            _ => Some(positions.strip_prefix('[')?.strip_suffix(']')?),
        };
        let is_position =
            inside.is_none_or(|inside| inside == "*" || inside.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_name || !is_position || inside == Some("") {
            return None;
        }
        if index > 0 {
            target.push('.');
        }
        target.push_str(name);
        if inside.is_some() {
            target.push_str("[*]");
        }
    }
    Some(target)
}

#[cfg(test)]
mod tests {
    use super::as_target;

    #[test]
    fn only_plain_selectors_are_judged() {
        assert_eq!(as_target("$.content[0].text").as_deref(), Some("content[*].text"));
        assert_eq!(as_target("$.a[*].b_c").as_deref(), Some("a[*].b_c"));
        for other in ["$", "$..a", "$.a[?@.b]", "$['a']", "$.a[0:2]", "$.*", "$.a[-1]", "$.a[]"] {
            assert_eq!(as_target(other), None, "{other}");
        }
    }
}
