use sortie_syntax::DiagnosticSeverity::Error;

use crate::duration::parse_duration;
use crate::rules::Rule;
use crate::rules::report::NewFinding;

/// `trigger.after` is a duration.
pub(crate) const V_036: Rule = Rule {
    code: "V-036",
    spec: "§5.2",
    title: "`after` is a duration",
    severity: Error,
    explain: include_str!("v036.md"),
    check: Some(|document, report| {
        document.each_phase(|phase| {
            let after = phase.phase.trigger.as_ref().and_then(|trigger| trigger.after.as_deref());
            if let Some(after) = after
                && let Err(error) = parse_duration(after)
            {
                let at = phase.at.key("trigger");
                suggest(report.add(&V_036, at.key("after"), error.to_string()), after);
            }
        });
    }),
};

/// Says how durations are written, and offers the one that was probably meant.
pub(super) fn suggest(finding: NewFinding<'_, '_>, written: &str) {
    let finding = finding
        .help("write `30s`, `5m`, `1h` or `2d`, or ISO 8601 such as `PT1M30S`")
        .help("numbers are whole and have no sign");
    if let Some(meant) = meant(written) {
        finding.label(format!("did you mean `{meant}`?")).replace_value(format!("write `{meant}`"), meant);
    }
}

/// `5 minutes`, `30 sec` and `pt5m` are clear enough.
fn meant(written: &str) -> Option<String> {
    let upper = written.to_ascii_uppercase();
    if parse_duration(&upper).is_ok() {
        return Some(upper);
    }
    let digits = written.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = written.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    };
    Some(format!("{number}{unit}")).filter(|meant| parse_duration(meant).is_ok())
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn words_are_understood_and_guesses_are_not_made() {
        assert_eq!(meant("5 minutes").as_deref(), Some("5m"));
        assert_eq!(meant("30sec").as_deref(), Some("30s"));
        assert_eq!(meant("pt5m").as_deref(), Some("PT5M"));
        assert_eq!(meant("30"), None);
        assert_eq!(meant("-5s"), None);
        assert_eq!(meant("1.5h"), None);
        assert_eq!(meant("seconds"), None);
    }
}
