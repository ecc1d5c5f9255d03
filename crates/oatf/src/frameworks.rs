//! Security frameworks that attacks are mapped to, the form of their identifiers, and what their entries are called.

mod names;

pub use names::{entries, entry_name};

/// The frameworks whose identifiers we can check, as documents name them.
pub const FRAMEWORKS: &[&str] = &[
    "atlas",
    "mitre_attack",
    "owasp_llm",
    "owasp_mcp",
    "owasp_agentic",
    "owasp_api",
    "cwe",
    "eu_ai_act",
    "trust_safety",
    "nist_ai_rmf",
];

/// What is wrong with an identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It does not look like one of the framework's.
    #[error("identifiers look like {expected}")]
    Form {
        /// What they look like.
        expected: &'static str,
    },
    /// It looks like one, and the framework has no such entry.
    #[error("entries are `{first}` to `{last}`")]
    NoEntry {
        /// The first entry of the framework.
        first: String,
        /// The last one.
        last: String,
    },
}

/// The canonical form of an identifier: `LLM01` for `llm-1`, `CWE-74` for `cwe74`.
///
/// A framework we do not know has any identifiers it likes, and they are returned as they are.
///
/// ```
/// use sortie_oatf::frameworks::normalise;
///
/// assert_eq!(normalise("owasp_mcp", "MCP-3").unwrap(), "MCP03");
/// assert_eq!(normalise("atlas", "aml.t0051.001").unwrap(), "AML.T0051.001");
/// assert_eq!(normalise("house_rules", "7b").unwrap(), "7b");
/// assert!(normalise("owasp_llm", "LLM11").is_err());
/// ```
pub fn normalise(framework: &str, id: &str) -> Result<String, Problem> {
    let id = id.trim();
    match framework {
        "owasp_llm" => top_ten("LLM", "`LLM01`", id),
        "owasp_mcp" => top_ten("MCP", "`MCP-01` or `MCP01`", id),
        "owasp_agentic" => top_ten("ASI", "`ASI01` or `ASI-01`", id),
        "owasp_api" => owasp_api(id),
        "eu_ai_act" => eu_ai_act(id),
        "nist_ai_rmf" => nist_ai_rmf(id),
        "trust_safety" => general(id).ok_or(Problem::Form { expected: "`general`" }),
        "cwe" => cwe(id),
        "atlas" => {
            let expected = "`AML.T0051`, `AML.T0051.001` or `AML.TA0001`";
            let upper = id.to_ascii_uppercase();
            let rest = upper.strip_prefix("AML.").ok_or(Problem::Form { expected })?;
            let entry = mitre(rest, &["TA", "T", "CS", "M"]).ok_or(Problem::Form { expected })?;
            Ok(format!("AML.{entry}"))
        }
        "mitre_attack" => {
            let expected = "`T1195`, `T1195.002` or `TA0001`";
            mitre(&id.to_ascii_uppercase(), &["TA", "T", "S", "G", "M", "C"])
                .ok_or(Problem::Form { expected })
        }
        _ => Ok(id.to_owned()),
    }
}

/// Whether a document may write the identifier like this: in its canonical form, or, where the specification
/// of OATF writes a hyphen and the framework does not, with one.
pub fn is_well_formed(framework: &str, id: &str) -> bool {
    normalise(framework, id).is_ok_and(|canonical| {
        let hyphenated = matches!(framework, "owasp_mcp" | "owasp_agentic")
            && id.split_once('-').is_some_and(|(prefix, rest)| format!("{prefix}{rest}") == canonical);
        canonical == id || hyphenated
    })
}

/// An entry of an OWASP top ten, with the year of its edition where one is given (`LLM01:2025`).
fn top_ten(prefix: &str, expected: &'static str, id: &str) -> Result<String, Problem> {
    let form = || Problem::Form { expected };
    let upper = id.to_ascii_uppercase();
    let rest = upper.strip_prefix(prefix).ok_or_else(form)?;
    let (number, year) = rest.split_once(':').map_or((rest, None), |(number, year)| (number, Some(year)));
    let number = number.strip_prefix(['-', '_', ' ']).unwrap_or(number);
    if year.is_some_and(|year| !is_digits(year, 4)) || number.len() > 2 || !is_digits(number, number.len()) {
        return Err(form());
    }
    let number: u8 = number.parse().map_err(|_| form())?;
    if !(1..=10).contains(&number) {
        return Err(Problem::NoEntry { first: format!("{prefix}01"), last: format!("{prefix}10") });
    }
    let year = year.map(|year| format!(":{year}")).unwrap_or_default();
    Ok(format!("{prefix}{number:02}{year}"))
}

/// The top ten of APIs is the one whose numbers have no zero in front.
fn owasp_api(id: &str) -> Result<String, Problem> {
    let bare = |entry: &str| entry.replacen("API0", "API", 1);
    top_ten("API", "`API1`", id).map(|entry| bare(&entry)).map_err(|problem| match problem {
        Problem::NoEntry { first, last } => Problem::NoEntry { first: bare(&first), last },
        form @ Problem::Form { .. } => form,
    })
}

/// The regulation as a whole, or one of its articles (`art-5` for `Article 5`).
fn eu_ai_act(id: &str) -> Result<String, Problem> {
    const LAST_ARTICLE: u8 = 113;
    let form = Problem::Form { expected: "`general` or `art-5`" };
    if let Some(general) = general(id) {
        return Ok(general);
    }
    let lower = id.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("article").or(lower.strip_prefix("art")) else { return Err(form) };
    let number = rest.trim_start_matches(['.', '-', '_', ' ']).trim_start_matches('0');
    if number.len() > 3 || !is_digits(number, number.len()) {
        return Err(form);
    }
    match number.parse::<u8>() {
        Ok(number) if number <= LAST_ARTICLE => Ok(format!("art-{number}")),
        _ => Err(Problem::NoEntry { first: "art-1".to_owned(), last: format!("art-{LAST_ARTICLE}") }),
    }
}

/// A characteristic of trustworthy systems (`secure-resilient` for `Secure & Resilient`), or a category of one of the four
/// functions (`MEASURE 2.7`).
fn nist_ai_rmf(id: &str) -> Result<String, Problem> {
    const FUNCTIONS: [&str; 4] = ["GOVERN", "MAP", "MEASURE", "MANAGE"];
    let form = Problem::Form { expected: "`safe`, `secure-resilient` or `MEASURE 2.7`" };
    let words = |text: &str| -> Vec<String> {
        let words = text.split(is_separator).map(str::to_lowercase);
        words.filter(|word| !["", "and", "with"].contains(&word.as_str())).collect()
    };
    let written = words(id);
    let characteristic =
        names::NIST_AI_RMF.iter().find(|(entry, name)| words(entry) == written || words(name) == written);
    if let Some((entry, _)) = characteristic {
        return Ok((*entry).to_owned());
    }
    let upper = id.to_ascii_uppercase();
    let function = FUNCTIONS.iter().find_map(|function| Some((function, upper.strip_prefix(function)?)));
    let (function, rest) = function.ok_or_else(|| form.clone())?;
    let number = rest.strip_prefix(['-', '_', ' ']).unwrap_or(rest);
    let (category, part) =
        number.split_once('.').map_or((number, None), |(category, part)| (category, Some(part)));
    let is_part =
        |part: &str| matches!(part.len(), 1 | 2) && is_digits(part, part.len()) && !part.starts_with('0');
    if !matches!(category.as_bytes(), [b'1'..=b'6']) || part.is_some_and(|part| !is_part(part)) {
        return Err(form);
    }
    Ok(format!("{function} {number}"))
}

/// What may stand between the words of a characteristic.
fn is_separator(letter: char) -> bool {
    matches!(letter, ' ' | '-' | '_' | '&' | ',' | '/' | '–' | '—')
}

/// What is about a framework as a whole.
fn general(id: &str) -> Option<String> {
    id.eq_ignore_ascii_case("general").then(|| "general".to_owned())
}

fn cwe(id: &str) -> Result<String, Problem> {
    let form = Problem::Form { expected: "`CWE-74`" };
    let upper = id.to_ascii_uppercase();
    let number = upper.strip_prefix("CWE").unwrap_or(&upper);
    let number = number.strip_prefix(['-', '_', ' ']).unwrap_or(number).trim_start_matches('0');
    if number.is_empty() || number.len() > 5 || !is_digits(number, number.len()) {
        return Err(form);
    }
    Ok(format!("CWE-{number}"))
}

/// A prefix and four digits; a technique may have a part of three more.
fn mitre(id: &str, prefixes: &[&str]) -> Option<String> {
    prefixes.iter().find_map(|prefix| {
        let rest = id.strip_prefix(prefix)?;
        let (number, part) = rest.split_once('.').map_or((rest, None), |(number, part)| (number, Some(part)));
        let fits = is_digits(number, 4) && part.is_none_or(|part| *prefix == "T" && is_digits(part, 3));
        fits.then(|| id.to_owned())
    })
}

fn is_digits(text: &str, count: usize) -> bool {
    text.len() == count && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_documents_write_is_understood() {
        for (framework, cases) in [
            ("owasp_llm", "LLM01=LLM01 LLM01:2025=LLM01:2025 llm-7=LLM07"),
            ("owasp_mcp", "MCP-03=MCP03 MCP3=MCP03"),
            ("owasp_agentic", "ASI-10=ASI10"),
            ("atlas", "AML.T0051.002=AML.T0051.002 AML.TA0001=AML.TA0001"),
            ("mitre_attack", "t1059.007=T1059.007 TA0043=TA0043"),
            ("cwe", "cwe_079=CWE-79 918=CWE-918"),
            ("owasp_api", "API01:2023=API1:2023 api-10=API10"),
            ("eu_ai_act", "General=general Article_15=art-15 art._5=art-5"),
            ("trust_safety", "general=general"),
            (
                "nist_ai_rmf",
                "Safe=safe Secure_&_Resilient=secure-resilient Fair_—_Harmful_Bias_Managed=fair fair=fair",
            ),
            ("nist_ai_rmf", "Privacy-Enhanced=privacy-enhanced measure-2.7=MEASURE_2.7 GOVERN_1=GOVERN_1"),
            ("other", "anything=anything"),
        ] {
            for (written, canonical) in cases.split(' ').filter_map(|case| case.split_once('=')) {
                // A space separates cases.
                let spaced = |text: &str| match framework {
                    "eu_ai_act" | "nist_ai_rmf" => text.replace('_', " "),
                    _ => text.to_owned(),
                };
                assert_eq!(
                    normalise(framework, &spaced(written)),
                    Ok(spaced(canonical)),
                    "{framework} {written}"
                );
            }
        }
    }

    #[test]
    fn what_no_framework_has_is_refused() {
        for (framework, cases) in [
            ("owasp_llm", "LLM11 LLM00 LLM LLM01:25"),
            ("owasp_mcp", "MCP-123"),
            ("owasp_agentic", "ASI"),
            ("atlas", "T0051 AML.T51 AML.TA0001.001"),
            ("mitre_attack", "T1059.7"),
            ("owasp_api", "API11"),
            ("eu_ai_act", "art-114 art-999 bias"),
            ("trust_safety", "harm"),
            ("nist_ai_rmf", "Secure harmful GOVERN MAP-7 MEASURE-2. MANAGE-1.123 and"),
            ("cwe", "CWE- CWE-7x"),
        ] {
            for written in cases.split(' ') {
                assert!(normalise(framework, written).is_err(), "{framework} {written}");
            }
        }
    }

    #[test]
    fn the_specifications_hyphens_are_no_mistake() {
        assert!(is_well_formed("owasp_mcp", "MCP-03") && is_well_formed("owasp_mcp", "MCP03"));
        assert!(is_well_formed("owasp_agentic", "ASI-01"));
        assert!(!is_well_formed("owasp_mcp", "MCP3") && !is_well_formed("owasp_llm", "LLM-01"));
    }
}
