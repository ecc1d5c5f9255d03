use sortie_syntax::DiagnosticSeverity::Error;

use crate::model::IndicatorMethod;
use crate::rules::Rule;
use crate::rules::walk::INDICATORS;

/// `indicator.method` agrees with the key that is present.
pub(crate) const V_049: Rule = Rule {
    code: "V-049",
    spec: "§6.1",
    title: "`method` says what the indicator does",
    severity: Error,
    explain: include_str!("v049.md"),
    check: Some(|document, report| {
        for (index, indicator) in document.attack.indicators.iter().flatten().enumerate() {
            let Some(method) = indicator.method else { continue };
            let keys = [
                (IndicatorMethod::Pattern, indicator.pattern.is_some()),
                (IndicatorMethod::Expression, indicator.expression.is_some()),
                (IndicatorMethod::Semantic, indicator.semantic.is_some()),
            ];
            let mut present = keys.iter().filter(|(_, present)| *present).map(|(key, _)| *key);
            // None or several of them is V-012's to report.
            let (Some(key), None) = (present.next(), present.next()) else { continue };
            if key != method {
                let at = INDICATORS.index(index);
                report
                    .add(
                        &V_049,
                        at.key("method"),
                        format!("`method` says `{method}`, and the indicator has `{key}`"),
                    )
                    .also(&at.key(key.as_str()).path(), "this decides")
                    .help("`method` may be left out: the key says the same")
                    .replace_value(format!("write `{key}`"), key.as_str());
            }
        }
    }),
};
