//! Strategies for random documents that are valid, and random values that are nasty.
//!
//! `mod arbitrary;` in any test. Everything here keeps to what the format allows, so that a test may demand that a
//! document loads; what is inside strings, keys and numbers is as unpleasant as it can be.

#![allow(dead_code, missing_docs, unreachable_pub)] // every test takes what it needs

// Strategies are boxed: unboxed ones of this size overflow the stack of a test in a debug build.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Number, Value};
use sortie_oatf::model::{
    Action, ActionKind, Actor, Attack, Category, Classification, Condition, Correlation, CorrelationLogic,
    Direction, Document, Execution, ExpressionMatch, Extensions, Extractor, ExtractorSource, ExtractorType,
    FrameworkMapping, Impact, Indicator, IndicatorMethod, LogAction, LogLevel, MatchCondition,
    MatchPredicate, PatternMatch, Phase, Reference, Relationship, SemanticExamples, SemanticIntentClass,
    SemanticMatch, SendAction, Severity, SeverityLevel, Status, Tier, Trigger,
};
use sortie_syntax::ExactNumbers;
use sortie_syntax::yaml::Scalar;

/// Characters that YAML, JSON and terminals trip over. No braces: two of them would be a template.
const NASTY: &[&str] = &[
    "a",
    "b",
    "Z",
    "0",
    "1",
    "7",
    " ",
    " ",
    "  ",
    "\n",
    "\n",
    "\t",
    "\r",
    ":",
    ": ",
    " #",
    "#",
    "-",
    "- ",
    "?",
    ",",
    "[",
    "]",
    "&",
    "*",
    "!",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "\\",
    "=",
    "<",
    "~",
    "+",
    ".",
    "_",
    "/",
    "é",
    "攻",
    "⚠\u{fe0f}",
    "\u{fe0f}",
    "🔒",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "\u{0}",
    "\u{7}",
    "\u{1b}",
    "\u{7f}",
    "\u{e0041}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{3000}",
    "x",
    "e",
    "E",
];

/// Texts that some reader takes for something else.
const WORDS: &[&str] = &[
    "",
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "N",
    "true",
    "False",
    "null",
    "Null",
    "~",
    "017",
    "0o17",
    "0x1F",
    "0b1",
    "1_000",
    "1:30",
    "1:30:59.5",
    "2026-11-15",
    "2026-11-15T10:20:30Z",
    "1e3",
    "1.5",
    ".5",
    "5.",
    "-1",
    "+1",
    ".inf",
    "-.Inf",
    ".nan",
    "=",
    "<<",
    "---",
    "...",
    "--- a",
    "- a",
    "? a",
    ": a",
    "a:",
    "a: b",
    "# a",
    "a # b",
    "*a",
    "&a",
    "!a",
    "|",
    "|-",
    ">",
    "%a",
    "@a",
    "`a",
    "[]",
    "[a",
    "\n",
    "\n\n",
    "a\n",
    "a\n\n",
    "\na",
    " a\n b",
    "a\n \nb",
    "a \nb",
    "\ta\n\tb",
    "a\n#b\n",
    "two\nlines",
    "\n  indented\nless",
    "a\u{200b}b\nc",
    "x-a",
    "it's",
    "\"quoted\"",
];

pub fn nasty_string() -> BoxedStrategy<String> {
    prop_oneof![
        3 => vec(select(NASTY), 0..12).prop_map(|parts| parts.concat()),
        2 => select(WORDS).prop_map(str::to_owned),
        1 => "[a-z]{1,8}( [a-z]{1,8}){0,30}",
        1 => any::<String>().prop_map(|text| text.replace('{', "(")),
    ]
    .boxed()
}

/// A string that is one line of ordinary text.
pub fn words() -> BoxedStrategy<String> {
    "[A-Za-z]{1,8}( [a-z]{1,8}){0,5}".boxed()
}

pub fn number() -> BoxedStrategy<Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        (-10_i64..1000).prop_map(Number::from),
        // All finite doubles, the subnormal and the huge among them.
        any::<f64>().prop_filter_map("JSON has no infinity", Number::from_f64),
        select(vec![0.0, -0.0, 0.1, 100.0, 1e16, 1e30, 1.5e-7, f64::MAX, f64::MIN_POSITIVE])
            .prop_filter_map("finite", Number::from_f64),
    ]
    .boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => number().prop_map(Value::Number),
        6 => nasty_string().prop_map(Value::String),
    ]
    .boxed()
}

fn object<V: Strategy<Value = Value> + 'static>(value: V) -> BoxedStrategy<Value> {
    vec((nasty_string(), value), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())).boxed()
}

/// Any JSON value, nested a little.
pub fn value() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::Array), object(inner)]
        })
        .boxed()
}

/// A value that is an object.
pub fn object_value() -> BoxedStrategy<Value> {
    object(value()).boxed()
}

/// Numbers as authors write them and JSON libraries do not print them.
const LITERALS: &[&str] = &[
    "1.10",
    "100.00",
    "1e3",
    "1E+3",
    "1.0e-5",
    "18446744073709551616",
    "-123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "1e400",
    "-0",
];

/// A state: an object, and the numbers in it that are to be kept digit by digit.
pub fn state() -> BoxedStrategy<(Value, ExactNumbers)> {
    let literals = vec((nasty_string(), select(LITERALS)), 0..3);
    (object_value(), literals, select(vec!["numbers", "a/b", "~"]))
        .prop_map(|(state, literals, under)| {
            let Value::Object(mut state) = state else { unreachable!("an object was asked for") };
            let mut exact = BTreeMap::new();
            let mut inner = Map::new();
            let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
            for (key, literal) in literals {
                inner.insert(key.clone(), Scalar::resolve(literal).to_value(literal));
                exact.insert(format!("/{}/{}", escape(under), escape(&key)), literal.to_owned());
            }
            state.insert(under.to_owned(), Value::Object(inner));
            (Value::Object(state), ExactNumbers(exact))
        })
        .boxed()
}

fn extensions(fields: &'static [&'static str]) -> BoxedStrategy<Extensions> {
    let after = of(select(fields));
    prop_oneof![
        3 => Just(Vec::new()).boxed(),
        1 => btree_map("x-[a-z]{1,6}", (value(), after), 0..3)
            .prop_map(|fields| fields.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
            .boxed(),
    ]
    .prop_map(|fields| {
        let mut extensions = Extensions::default();
        for (name, (value, after)) in fields {
            extensions.push(name, value, after);
        }
        extensions
    })
    .boxed()
}

fn member<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> BoxedStrategy<T> {
    select(all).boxed()
}

pub fn mode() -> BoxedStrategy<String> {
    select(vec!["mcp_server", "mcp_client", "a2a_server", "a2a_client", "ag_ui_client"])
        .prop_map(str::to_owned)
        .boxed()
}

fn duration() -> BoxedStrategy<String> {
    select(vec!["30s", "5m", "1h", "2d", "PT30S", "P1DT12H"]).prop_map(str::to_owned).boxed()
}

fn target() -> BoxedStrategy<String> {
    select(vec!["", "arguments", "tools[*].description", "content[*].text", "a.b-c.d_e[*]"])
        .prop_map(str::to_owned)
        .boxed()
}

fn simple_path() -> BoxedStrategy<String> {
    select(vec!["arguments", "arguments.command", "params.name", "a-b.c_d"]).prop_map(str::to_owned).boxed()
}

fn regex() -> BoxedStrategy<String> {
    select(vec![
        "(passwd|shadow)",
        "\\d+",
        "^[a-z]{2,4}$",
        "\"quoted\": '\\w+'",
        "(?i)ignore (all|previous)",
        "#\\s",
    ])
    .prop_map(str::to_owned)
    .boxed()
}

pub fn match_condition() -> BoxedStrategy<MatchCondition> {
    let texts = (of(nasty_string()), of(nasty_string()), of(nasty_string()), of(regex()));
    let rest =
        (of(vec(value(), 1..4)), of(number()), of(number()), of(number()), of(number()), of(any::<bool>()));
    (texts, rest)
        .prop_filter_map("a condition has an operator", |(texts, rest)| {
            let (contains, starts_with, ends_with, regex) = texts;
            let (any_of, gt, lt, gte, lte, exists) = rest;
            let condition =
                MatchCondition { contains, starts_with, ends_with, regex, any_of, gt, lt, gte, lte, exists };
            (!condition.is_empty()).then_some(condition)
        })
        .boxed()
}

pub fn condition() -> BoxedStrategy<Condition> {
    let plain = value().prop_filter("operators and empty objects are no plain value", |value| {
        value.as_object().is_none_or(|fields| {
            !fields.is_empty()
                && !fields.keys().any(|key| sortie_oatf::model::OPERATORS.contains(&key.as_str()))
        })
    });
    prop_oneof![match_condition().prop_map(Condition::Match), plain.prop_map(Condition::Value)].boxed()
}

fn predicate() -> BoxedStrategy<MatchPredicate> {
    vec((simple_path(), condition()), 1..3).prop_map(|entries| entries.into_iter().collect()).boxed()
}

/// The shorthand form of a pattern: one operator, not `exists`.
fn shorthand() -> BoxedStrategy<MatchCondition> {
    let text = |set: fn(&mut MatchCondition, String)| {
        move |text: String| {
            let mut condition = MatchCondition::default();
            set(&mut condition, text);
            condition
        }
    };
    prop_oneof![
        nasty_string().prop_map(text(|condition, text| condition.contains = Some(text))),
        nasty_string().prop_map(text(|condition, text| condition.starts_with = Some(text))),
        nasty_string().prop_map(text(|condition, text| condition.ends_with = Some(text))),
        regex().prop_map(text(|condition, text| condition.regex = Some(text))),
        vec(value(), 1..4)
            .prop_map(|values| MatchCondition { any_of: Some(values), ..MatchCondition::default() }),
        number().prop_map(|number| MatchCondition { gt: Some(number), ..MatchCondition::default() }),
    ]
    .boxed()
}

fn pattern() -> BoxedStrategy<PatternMatch> {
    prop_oneof![
        shorthand().prop_map(|shorthand| PatternMatch {
            target: None,
            condition: None,
            shorthand: Some(shorthand)
        }),
        (of(target()), condition()).prop_map(|(target, condition)| PatternMatch {
            target,
            condition: Some(condition),
            shorthand: None
        }),
    ]
    .boxed()
}

fn expression() -> BoxedStrategy<ExpressionMatch> {
    let cel =
        select(vec!["true", "message.name == \"send\"", "has(message.a) && message.a > 1", "x == null || y"]);
    let variables = of(vec(("v_[a-z0-9_]{0,5}", simple_path()), 1..3));
    (cel, variables)
        .prop_map(|(cel, variables)| ExpressionMatch {
            cel: cel.to_owned(),
            variables: variables.map(|variables| variables.into_iter().collect()),
        })
        .boxed()
}

fn semantic() -> BoxedStrategy<SemanticMatch> {
    let texts = || of(vec(nasty_string(), 1..3));
    let examples = (texts(), texts()).prop_filter_map("examples hold something", |(positive, negative)| {
        (positive.is_some() || negative.is_some()).then_some(SemanticExamples { positive, negative })
    });
    (of(target()), words(), of(member(SemanticIntentClass::ALL)), of(0.0..=1.0_f64), of(examples))
        .prop_map(|(target, intent, intent_class, threshold, examples)| SemanticMatch {
            target,
            intent,
            intent_class,
            threshold,
            examples,
        })
        .boxed()
}

const INDICATOR: &[&str] =
    &["id", "protocol", "surface", "target", "description", "pattern", "tier", "false_positives"];

/// An indicator with an id of its own or none; `protocol` is always given.
pub fn indicator() -> BoxedStrategy<Indicator> {
    let method = prop_oneof![
        pattern().prop_map(|pattern| Indicator { pattern: Some(pattern), ..Indicator::default() }),
        expression()
            .prop_map(|expression| Indicator { expression: Some(expression), ..Indicator::default() }),
        semantic().prop_map(|semantic| Indicator { semantic: Some(semantic), ..Indicator::default() }),
    ];
    let scope = (
        select(vec!["mcp", "a2a", "ag_ui"]),
        of(select(vec!["tools/call", "tools/list", "message/send"])),
        target(),
        of(member(Direction::ALL)),
        any::<bool>(),
    );
    let about = (
        of(nasty_string()),
        of(0..=100_i64),
        of(member(Tier::ALL)),
        of(member(SeverityLevel::ALL)),
        of(vec(nasty_string(), 0..3)),
        extensions(INDICATOR),
    );
    (method, scope, about)
        .prop_map(|(indicator, scope, about)| {
            let (protocol, surface, target, direction, says_method) = scope;
            let (description, confidence, tier, severity, false_positives, extensions) = about;
            let method = match &indicator {
                Indicator { pattern: Some(_), .. } => IndicatorMethod::Pattern,
                Indicator { expression: Some(_), .. } => IndicatorMethod::Expression,
                _ => IndicatorMethod::Semantic,
            };
            Indicator {
                protocol: Some(protocol.to_owned()),
                surface: surface.map(str::to_owned),
                target,
                direction,
                method: says_method.then_some(method),
                description,
                confidence,
                tier,
                severity,
                false_positives,
                extensions,
                ..indicator
            }
        })
        .boxed()
}

fn action() -> BoxedStrategy<Action> {
    let send = (select(vec!["notifications/tools/list_changed", "ping"]), of(object_value())).prop_map(
        |(method, params)| (ActionKind::Send(SendAction { method: method.to_owned(), params }), "send"),
    );
    let log = (nasty_string(), of(member(LogLevel::ALL)))
        .prop_map(|(message, level)| (ActionKind::Log(LogAction { message, level }), "log"));
    let other = value().prop_map(|value| {
        (ActionKind::Other([("delay_ms".to_owned(), value)].into_iter().collect()), "delay_ms")
    });
    (prop_oneof![send, log, other], of((value(), any::<bool>())))
        .prop_map(|((kind, key), extension)| {
            let mut extensions = Extensions::default();
            if let Some((value, first)) = extension {
                extensions.push("x-note", value, (!first).then_some(key));
            }
            Action { kind, extensions, numbers: ExactNumbers::default() }
        })
        .boxed()
}

fn extractors() -> BoxedStrategy<Vec<Extractor>> {
    let selector = prop_oneof![
        select(vec!["$.arguments.path", "$..name", "$['a b'][0]"])
            .prop_map(|selector| (ExtractorType::JsonPath, selector.to_owned())),
        select(vec!["key=(\\w+)", "(a|b): '([^']*)'"])
            .prop_map(|selector| (ExtractorType::Regex, selector.to_owned())),
    ];
    vec((member(ExtractorSource::ALL), selector), 1..3)
        .prop_map(|extractors| {
            let numbered = extractors.into_iter().enumerate();
            numbered
                .map(|(index, (source, (r#type, selector)))| Extractor {
                    name: format!("value_{index}"),
                    source,
                    r#type,
                    selector,
                })
                .collect()
        })
        .boxed()
}

fn trigger() -> BoxedStrategy<Trigger> {
    prop_oneof![
        (select(vec!["tools/call", "tools/list"]), of(1..5_i64), of(predicate()), of(duration())).prop_map(
            |(event, count, r#match, after)| Trigger { event: Some(event.to_owned()), count, r#match, after }
        ),
        duration().prop_map(|after| Trigger { after: Some(after), ..Trigger::default() }),
    ]
    .boxed()
}

const PHASE: &[&str] = &["name", "description", "mode", "state", "extractors", "on_enter", "trigger"];

/// Phases of one actor. Explicit names are words that no generated name can be.
pub fn phases() -> BoxedStrategy<Vec<Phase>> {
    let phase = (
        of("[a-z]{3,8}"),
        of(nasty_string()),
        state(),
        any::<bool>(),
        of(extractors()),
        of(vec(action(), 1..3)),
        trigger(),
        extensions(PHASE),
    );
    (vec(phase, 1..4), any::<bool>())
        .prop_map(|(phases, terminal)| {
            let last = phases.len() - 1;
            let numbered = phases.into_iter().enumerate();
            numbered
                .map(
                    |(
                        index,
                        (name, description, state, has_state, extractors, on_enter, trigger, extensions),
                    )| {
                        let (state, state_numbers) = if index == 0 || has_state {
                            (Some(state.0), state.1)
                        } else {
                            (None, ExactNumbers::default())
                        };
                        Phase {
                            name: name.map(|name| format!("{name}_{index}")),
                            description,
                            mode: None,
                            state,
                            extractors,
                            on_enter,
                            trigger: (index < last || !terminal).then_some(trigger),
                            extensions,
                            state_numbers,
                        }
                    },
                )
                .collect()
        })
        .boxed()
}

const EXECUTION: &[&str] = &["mode", "state", "phases"];

/// An execution in any of its forms.
pub fn execution() -> BoxedStrategy<Execution> {
    let single = (mode(), state()).prop_map(|(mode, (state, state_numbers))| Execution {
        mode: Some(mode),
        state: Some(state),
        state_numbers,
        ..Execution::default()
    });
    let multi = (mode(), phases(), any::<bool>()).prop_map(|(mode, mut phases, modeless)| {
        if modeless {
            for phase in &mut phases {
                phase.mode = Some(mode.clone());
            }
        }
        Execution { mode: (!modeless).then_some(mode), phases: Some(phases), ..Execution::default() }
    });
    let actor = (mode(), phases(), extensions(&["name", "mode", "phases"]));
    let actors = vec(actor, 1..3).prop_map(|actors| {
        let numbered = actors.into_iter().enumerate().map(|(index, (mode, phases, extensions))| Actor {
            name: format!("actor_{index}"),
            mode,
            phases,
            extensions,
        });
        Execution { actors: Some(numbered.collect()), ..Execution::default() }
    });
    (prop_oneof![single, multi, actors], extensions(EXECUTION))
        .prop_map(|(execution, extensions)| Execution { extensions, ..execution })
        .boxed()
}

fn classification() -> BoxedStrategy<Classification> {
    let mapping = (words(), words(), of(nasty_string()), of(nasty_string()), of(member(Relationship::ALL)));
    let mapping = mapping.prop_map(|(framework, id, name, url, relationship)| FrameworkMapping {
        framework,
        id,
        name,
        url,
        relationship,
    });
    (of(member(Category::ALL)), of(vec(mapping, 0..3)), of(vec(nasty_string(), 0..4)))
        .prop_map(|(category, mappings, tags)| Classification { category, mappings, tags })
        .boxed()
}

const ATTACK: &[&str] =
    &["id", "name", "version", "description", "severity", "execution", "indicators", "correlation"];

pub fn attack() -> BoxedStrategy<Attack> {
    let identity = (
        of("[A-Z]{2,5}-[0-9]{3,5}"),
        of(nasty_string()),
        of(1..100_i64),
        of(member(Status::ALL)),
        of(select(vec!["2026-11-15", "2026-11-15T10:20:30Z"]).prop_map(str::to_owned)),
        of(nasty_string()),
        of(nasty_string()),
        of(duration()),
    );
    let severity = (member(SeverityLevel::ALL), of(0..=100_i64))
        .prop_map(|(level, confidence)| Severity { level, confidence });
    let reference = (words(), of(nasty_string()), of(nasty_string()))
        .prop_map(|(url, title, description)| Reference { url, title, description });
    let about = (
        of(severity),
        of(proptest::sample::subsequence(Impact::ALL, 1..4)),
        of(classification()),
        of(vec(reference, 0..3)),
    );
    let indicators = of(vec((indicator(), any::<bool>(), any::<bool>()), 1..4));
    let correlation = of(of(member(CorrelationLogic::ALL)).prop_map(|logic| Correlation { logic }));
    (identity, about, execution(), indicators, correlation, extensions(ATTACK))
        .prop_map(|(identity, about, execution, indicators, correlation, extensions)| {
            let (id, name, version, status, created, author, description, grace_period) = identity;
            let (severity, impact, classification, references) = about;
            let indicators =
                indicators.map(|indicators| number_indicators(indicators, id.as_deref(), &execution));
            Attack {
                name,
                version,
                status,
                modified: created.clone(),
                created,
                author,
                description,
                grace_period,
                severity,
                impact,
                classification,
                references,
                execution,
                correlation: indicators.is_some().then_some(correlation).flatten(),
                indicators,
                extensions,
                id,
            }
        })
        .boxed()
}

/// Gives some indicators the id that their place would give them, and takes `protocol` from some where the mode
/// says it.
fn number_indicators(
    indicators: Vec<(Indicator, bool, bool)>,
    attack: Option<&str>,
    execution: &Execution,
) -> Vec<Indicator> {
    let numbered = indicators.into_iter().enumerate();
    numbered
        .map(|(index, (mut indicator, identified, inherits))| {
            if identified {
                indicator.id = Some(format!("{}-{:02}", attack.unwrap_or("indicator"), index + 1));
            }
            if inherits && execution.mode.is_some() {
                indicator.protocol = None;
            }
            indicator
        })
        .collect()
}

/// A document that a strict reader accepts.
pub fn document() -> BoxedStrategy<Document> {
    (attack(), of("https://example\\.com/[a-z]{1,8}\\.json"))
        .prop_map(|(attack, schema)| {
            let mut document = Document::default();
            document.oatf = "0.1".into();
            document.schema = schema;
            document.attack = attack;
            document
        })
        .boxed()
}
