//! The hostile inputs: those the project promises to withstand, and floods of what else is counted or compared.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One input, made when it is needed: together they would not fit the limit.
pub(super) struct Input {
    pub(super) name: &'static str,
    pub(super) make: fn() -> Work,
}

/// What there is to do.
pub(super) enum Work {
    /// Analyse and load; the dearer of the two counts.
    Document(String),
    /// Load, compile, and evaluate every indicator on a message.
    Evaluation { document: String, message: Value },
}

const DEEP: usize = 100_000;

pub(super) const INPUTS: &[Input] = &[
    Input { name: "YAML nested 100,000 deep", make: || document(&["- ".repeat(DEEP)]) },
    Input {
        name: "flow YAML nested 100,000 deep",
        make: || document(&[HEAD.into(), "[".repeat(DEEP), "]".repeat(DEEP)]),
    },
    Input {
        name: "JSON nested 100,000 deep",
        make: || document(&["{\"a\":".into(), "[".repeat(DEEP), "]".repeat(DEEP), "}".into()]),
    },
    Input {
        name: "a scalar of 10 MB",
        make: || document(&[HEAD.into(), "{a: \"".into(), "x".repeat(10_000_000), "\"}\n".into()]),
    },
    Input {
        name: "a scalar of 2 MB, escaped",
        make: || document(&[HEAD.into(), "{a: \"".into(), "\\t".repeat(1_000_000), "\"}\n".into()]),
    },
    Input {
        name: "a scalar of 2 MB, many lines",
        make: || document(&[HEAD.into(), "\n      a: |\n".into(), "        x\n".repeat(200_000)]),
    },
    Input {
        name: "100,000 keys",
        make: || {
            document(&[HEAD.into(), "{".into(), numbered(100_000, |n| format!("k{n}: 1, ")), "}\n".into()])
        },
    },
    Input {
        name: "10,000 phases",
        make: || {
            let phase = "      - {state: {tools: []}, trigger: {event: tools/call}}\n";
            document(&[PHASES.into(), phase.repeat(10_000), "      - {}\n".into()])
        },
    },
    Input { name: "(a{1000}){1000}", make: || pattern("(a{1000}){1000}") },
    Input {
        name: "patterns just below the limit of size",
        make: || evaluation(numbered(3, |n| format!("{n}[a-q][^u-z]{{990}}x|")).trim_end_matches('|'), 4_000),
    },
    Input {
        name: "a pattern that repeats much",
        make: || evaluation("(?:a{0,1000}){1}b{0,1000}c{0,1000}x", 4_000),
    },
    Input {
        name: "the slowest pattern, on 4 kB",
        make: || Work::Evaluation {
            document: indicator(&format!("pattern: {{regex: \"{}x\"}}", "a{0,1000}".repeat(8))),
            message: Value::String("a".repeat(4_000)),
        },
    },
    Input { name: "a pattern of 60 kB", make: || evaluation(&numbered(8_000, |n| format!("a{n}|")), 4_000) },
    Input { name: "CEL of 20,000 terms", make: || cel(&format!("{}1 == 1", "1+".repeat(20_000))) },
    Input { name: "CEL of 20,000 alternatives", make: || cel(&format!("{}true", "a||".repeat(20_000))) },
    Input {
        name: "60³ nested comprehensions",
        make: || Work::Evaluation {
            document: indicator(
                "expression: {cel: \"message.l.all(a, message.l.all(b, message.l.all(c, a + b + c >= 0)))\"}",
            ),
            message: json!({"l": (0..60).collect::<Vec<_>>()}),
        },
    },
    Input { name: "a CEL error past column 65,535", make: || cel(&format!("'{}' == ", "x".repeat(70_000))) },
    Input {
        name: "5,000 nested JSONPath parentheses",
        make: || extractor("json_path", &format!("$[?{}@.a{}]", "(".repeat(5_000), ")".repeat(5_000))),
    },
    Input {
        name: "50,000 unknown keys",
        make: || {
            document(&["oatf: \"0.1\"\nattack:\n".into(), numbered(50_000, |n| format!("  idd{n}: 1\n"))])
        },
    },
    Input {
        name: "20,000 duplicate keys",
        make: || document(&[HEAD.into(), "{".into(), "a: 1, ".repeat(20_000), "}\n".into()]),
    },
    Input {
        name: "60,000 strings of a 2 MiB document",
        make: || {
            let strings = numbered(60_000, |n| format!("        - a string of bytes {n}\n"));
            document(&[HEAD.into(), "\n      tools:\n".into(), strings])
        },
    },
    Input {
        name: "49,000 keys, each with a text",
        make: || document(&[HEAD.into(), "\n".into(), numbered(49_000, |n| format!("      k{n}: text\n"))]),
    },
    Input {
        name: "5,000 tools, of objects",
        make: || {
            let tool = |n| {
                format!(
                    "        - {{name: t{n}, description: d, inputSchema: {{type: object, properties: {{a: {{}}}}}}}}\n"
                )
            };
            document(&[HEAD.into(), "\n      tools:\n".into(), numbered(5_000, tool)])
        },
    },
    Input {
        name: "60,000 templates that name nothing",
        make: || {
            let strings = numbered(60_000, |n| format!("        - \"{{{{name{n}}}}}\"\n"));
            document(&[HEAD.into(), "\n      tools:\n".into(), strings])
        },
    },
    Input {
        name: "300,000 templates in one string",
        make: || document(&[HEAD.into(), "{a: \"".into(), "{{a}} ".repeat(300_000), "\"}\n".into()]),
    },
    Input {
        name: "9,000 extractors and as many templates",
        make: || {
            let extractors = numbered(9_000, |n| {
                format!("          - {{name: e{n}, source: request, type: json_path, selector: $.a}}\n")
            });
            let templates = numbered(9_000, |n| format!("            - \"{{{{f{n}}}}} {{{{e{n}}}}}\"\n"));
            let parts =
                ["      - extractors:\n", &extractors, "        state:\n          tools:\n", &templates];
            document(&[PHASES.into(), parts.concat()])
        },
    },
    Input {
        name: "4,000 actors, indicators and mistakes",
        make: || {
            let actors = numbered(4_000, |n| {
                format!("      - {{name: a{n}, mode: mcp_server, phases: [{{state: {{tools: []}}}}]}}\n")
            });
            let indicators = numbered(4_000, |n| {
                format!("    - {{actor: b{n}, protocol: mcpp, target: a, pattern: {{}}}}\n")
            });
            let head = "oatf: \"0.1\"\nattack:\n  execution:\n    actors:\n";
            document(&[head.into(), actors, "  indicators:\n".into(), indicators])
        },
    },
    Input {
        name: "45,000 strings of a 2 MiB document",
        make: || {
            let strings = numbered(45_000, |n| format!("        - a string of thirty bytes {n}\n"));
            document(&[HEAD.into(), "\n      tools:\n".into(), strings])
        },
    },
    Input {
        name: "900 tools, as much as is linted",
        make: || {
            let tools = numbered(900, |n| {
                format!("        - {{name: t{n}, description: \"{{{{e{n}}}}} {}\"}}\n", "x".repeat(200))
            });
            document(&[HEAD.into(), "\n      tools:\n".into(), tools])
        },
    },
    Input {
        name: "patterns of 1 MB in all",
        make: || {
            let extractors = numbered(20, |n| {
                let pattern = numbered(5_000, |n| format!("abcdef{n}|"));
                format!("          - {{name: e{n}, source: request, type: regex, selector: \"{pattern}\"}}\n")
            });
            document(&[PHASES.into(), "      - state: {tools: []}\n        extractors:\n".into(), extractors])
        },
    },
    Input {
        name: "500 patterns, each as large as can be",
        make: || indicators(500, |n| format!("pattern: {{regex: \"{n}[^u-z]{{600}}\"}}")),
    },
    Input {
        name: "CEL of 2 MB in all",
        make: || indicators(30, |_| format!("expression: {{cel: \"{}true\"}}", "a||".repeat(20_000))),
    },
    Input {
        name: "CEL with 500 patterns, each as large as can be",
        make: || indicators(500, |n| format!("expression: {{cel: \"message.matches('{n}[^u-z]{{600}}')\"}}")),
    },
    Input {
        name: "CEL with 250 patterns, evaluated",
        make: || {
            let Work::Document(document) =
                indicators(250, |n| format!("expression: {{cel: \"message.matches('{n}[^u-z]{{2}}')\"}}"))
            else {
                unreachable!("indicators make a document")
            };
            Work::Evaluation { document, message: Value::String("abcabc".repeat(600)) }
        },
    },
    Input {
        name: "a dear pattern and a payload of 200 kB",
        make: || {
            let payload = "a".repeat(200_000);
            let pattern = "a{0,1000}".repeat(8);
            document(&[
                HEAD.into(),
                format!("\n      tools: [{{name: {payload}, description: {payload}}}]\n  indicators:\n"),
                format!("    - {{target: \"tools[*].name\", pattern: {{regex: \"{pattern}x\"}}}}\n"),
            ])
        },
    },
    Input {
        name: "600 patterns and a payload of 100 kB",
        make: || {
            payload_and_indicators(600, |n| {
                format!("    - {{target: \"tools[*].description\", pattern: {{regex: \"(a|b)+c{n}\"}}}}\n")
            })
        },
    },
    Input {
        name: "2,000 CEL programs and a payload of 1 MB",
        make: || {
            payload_and_indicators(2_000, |n| {
                format!(
                    "    - {{target: \"\", expression: {{cel: \"message.tools.exists(t, t.name == 'x{n}')\"}}}}\n"
                )
            })
        },
    },
];

fn payload_and_indicators(count: usize, each: fn(usize) -> String) -> Work {
    let tool = |n| format!("        - {{name: t{n}, description: {}}}\n", "some words ".repeat(count / 2));
    let tools = numbered(40, tool);
    document(&[
        HEAD.into(),
        "\n      tools:\n".into(),
        tools,
        "  indicators:\n".into(),
        numbered(count, each),
    ])
}

fn indicators(count: usize, method: impl Fn(usize) -> String) -> Work {
    let each = |n| format!("    - {{surface: tools/call, target: \"\", {}}}\n", method(n));
    document(&[HEAD.into(), "{tools: []}\n  indicators:\n".into(), numbered(count, each)])
}

/// A document up to the value of its state.
const HEAD: &str = "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    state: ";

/// A document up to its phases.
const PHASES: &str = "oatf: \"0.1\"\nattack:\n  execution:\n    mode: mcp_server\n    phases:\n";

fn document(parts: &[String]) -> Work {
    Work::Document(parts.concat())
}

fn numbered(count: usize, each: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for n in 0..count {
        all.push_str(&each(n));
    }
    all
}

fn indicator(method: &str) -> String {
    let mut text = String::from(HEAD);
    // A string takes whatever is written.
    _ = write!(text, "{{tools: []}}\n  indicators: [{{surface: tools/call, target: \"\", {method}}}]\n");
    text
}

fn pattern(regex: &str) -> Work {
    Work::Document(indicator(&format!("pattern: {{regex: \"{regex}\"}}")))
}

fn cel(expression: &str) -> Work {
    Work::Document(indicator(&format!("expression: {{cel: \"{expression}\"}}")))
}

fn extractor(kind: &str, selector: &str) -> Work {
    let extractor = format!("{{name: x, source: request, type: {kind}, selector: \"{selector}\"}}");
    Work::Document(format!("{PHASES}      - state: {{tools: []}}\n        extractors: [{extractor}]\n"))
}

/// A pattern on a text of some thousand letters in which it almost matches.
fn evaluation(regex: &str, letters: usize) -> Work {
    Work::Evaluation {
        document: indicator(&format!("pattern: {{regex: \"{regex}\"}}")),
        message: Value::String("abcabc".repeat(letters / 6)),
    }
}
