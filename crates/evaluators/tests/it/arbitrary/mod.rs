//! Folders of evaluators, made up: valid ones, and such with a mistake somewhere.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use sortie_evaluators::{File, Standard};
use sortie_syntax::yaml::emit;

/// A file as it is before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) value: Value,
}

impl Draft {
    pub(crate) fn file(&self) -> File {
        File::text(self.path.clone(), emit(&self.value))
    }
}

fn text() -> impl Strategy<Value = String> {
    select(vec![
        "Say it.",
        "- one\n- two",
        "Say {{canary}} to {{attacker_host}}, {{user}}",
        "{{tool_list_json}}",
        "{\"path|file\": \"../{{canary}}\", \"n\": [1, {\"a\": null}]}",
        "{not json",
        "naïve: “quoted” #x",
        "7",
        "true",
        "\\{{literal}} {{7*7}}",
    ])
    .prop_map(str::to_owned)
}

fn standards() -> impl Strategy<Value = Value> {
    subsequence(Standard::ALL.to_vec(), 0..=Standard::ALL.len()).prop_map(|standards| {
        let entry = |standard: Standard| match standard {
            Standard::OwaspLlm => "LLM01:2025",
            Standard::OwaspMcp => "MCP-3",
            Standard::OwaspAgentic => "ASI10",
            Standard::OwaspApi => "API4",
            Standard::Atlas => "AML.T0051.001",
            Standard::EuAiAct => "art-5",
            Standard::TrustSafety => "general",
            Standard::Nist => "Fair — Harmful Bias Managed",
        };
        Value::Object(standards.into_iter().map(|own| (own.to_string(), entry(own).into())).collect())
    })
}

fn check(index: usize) -> impl Strategy<Value = Value> {
    let test = select(vec![
        json!({"pattern": {"target": "answers[*]", "contains": "{{canary}}"}}),
        json!({"pattern": {"target": "calls[*].arguments", "condition": {"exists": true, "regex": "a{{user}}"}}}),
        json!({"pattern": {"target": "turns[*].is_error", "any_of": [true]}}),
        json!({"cel": "transcript.answers.exists(a, a.matches('{{canary}}'))"}),
        json!({"cel": "true"}),
    ]);
    (test, select(vec!["pass", "fail"])).prop_map(move |(test, says)| {
        let mut check = json!({"name": format!("Check {index}"), "says": says});
        check.as_object_mut().unwrap().extend(test.as_object().unwrap().clone());
        check
    })
}

fn pattern(index: usize) -> impl Strategy<Value = Value> {
    (text(), any::<bool>()).prop_map(move |(template, hinted)| {
        let mut pattern = json!({"name": format!("Pattern {index}"), "template": template});
        if hinted {
            pattern["judge_hint"] = "Look twice.".into();
        }
        pattern
    })
}

fn several<T: std::fmt::Debug + 'static, S: Strategy<Value = T> + 'static>(
    most: usize,
    one: fn(usize) -> S,
) -> BoxedStrategy<Vec<T>> {
    (0..=most).prop_flat_map(move |count| (0..count).map(one).collect::<Vec<_>>()).boxed()
}

/// The files of one valid evaluator.
fn evaluator(id: String, earlier: &[String]) -> impl Strategy<Value = Vec<Draft>> + use<> {
    let some_earlier = subsequence(earlier.to_vec(), 0..=earlier.len());
    let lists = (several(3, check), several(3, pattern), pattern(9), some_earlier);
    let words = (select(vec!["critical", "high", "medium", "low"]), any::<[bool; 6]>(), 0..4usize);
    (text(), text(), standards(), lists, words).prop_map(
        move |(pass, fail, standards, (checks, mut patterns, last, depends_on), (severity, flags, place))| {
            let [folder, own_files, mcp, fixtures, described, judged] = flags;
            patterns.push(last);
            let mut fields = Map::new();
            fields.insert("id".into(), id.clone().into());
            fields.insert("name".into(), format!("Evaluator {id}").into());
            fields.insert("severity".into(), severity.into());
            fields.insert("standards".into(), standards);
            fields.insert("pass_criteria".into(), pass.into());
            fields.insert("fail_criteria".into(), fail.into());
            fields.insert("depends_on".into(), depends_on.into());
            fields.insert("tags".into(), json!(["tagged"]));
            fields.insert("checks".into(), checks.into());
            fields.insert("judge_needs_llm".into(), judged.into());
            if described {
                fields.insert("description".into(), "What it is about.".into());
                fields.insert("schema_version".into(), 1.into());
                fields.insert("turn_mode".into(), "multi".into());
            }
            if mcp {
                fields.insert("applies_to_all_tools".into(), true.into());
                fields.insert("surfaces".into(), json!(["mcp"]));
            }
            let class = if mcp { "mcp" } else { "agent" };
            let way = [format!("{class}/"), format!("{class}/files/"), String::new(), "mine/deep/".to_owned()];
            let way = &way[place];
            let base = if folder { format!("{way}{id}/") } else { way.clone() };
            let mut drafts = Vec::new();
            if folder && own_files {
                for (index, pattern) in patterns.into_iter().enumerate() {
                    drafts.push(Draft { path: format!("{base}patterns/p{index}.yaml"), value: pattern });
                }
            } else {
                fields.insert("patterns".into(), patterns.into());
            }
            if fixtures {
                let value = json!({"kind": "transcript", "pass_case": "No.", "fail_case": [{"response": "Yes."}, {
                    "turns": [{"role": "attacker", "text": "Do."}, {"role": "target", "calls": [{"name": "x"}]}],
                    "variables": {"user": "Ada"}, "pattern": "Pattern 9", "expect": "undecided",
                }]});
                drafts.push(Draft { path: format!("{base}{id}.test.yaml"), value });
            }
            let path = if folder { format!("{base}evaluator.yaml") } else { format!("{base}{id}.yaml") };
            drafts.push(Draft { path, value: Value::Object(fields) });
            drafts
        },
    )
}

/// The files of a valid folder.
pub(crate) fn folder() -> impl Strategy<Value = Vec<Draft>> {
    (1..5usize, any::<bool>()).prop_flat_map(|(count, suite)| {
        let ids: Vec<String> = (0..count).map(|index| format!("evaluator-{index}")).collect();
        let evaluators: Vec<_> =
            (0..count).map(|index| evaluator(ids[index].clone(), &ids[..index])).collect();
        evaluators.prop_map(move |drafts| {
            let mut drafts: Vec<Draft> = drafts.into_iter().flatten().collect();
            if suite {
                let include =
                    json!([{"evaluator": "evaluator-0"}, {"tag": "tagged"}, {"suite": "mitre-atlas"}]);
                let value = json!({"id": "gate", "name": "Gate", "include": include});
                drafts.push(Draft { path: "suites/gate.yaml".to_owned(), value });
            }
            drafts
        })
    })
}

/// A mistake: which file, which place of it, and what is done there.
pub(crate) fn mistake() -> impl Strategy<Value = (usize, usize, Mistake)> {
    let values = select(vec![
        json!(null),
        json!(true),
        json!(3),
        json!(""),
        json!("word"),
        json!("evaluator-0"),
        json!([]),
        json!({}),
        json!(["a", "a"]),
        json!("LLM11"),
        json!("{{canery}}"),
        json!("{\"a\": }"),
        json!("transcript.x"),
        json!("(?!a)"),
        json!("pass"),
        json!("mcp"),
        json!(["mcp"]),
        json!({"name": "x"}),
    ]);
    let mistake = prop_oneof![
        4 => values.prop_map(Mistake::Put),
        2 => Just(Mistake::Remove),
        1 => select(vec!["ref", "x-mine", "id", "patterns", "template"]).prop_map(Mistake::Rename),
        1 => Just(Mistake::Twice),
        1 => select(vec!["agent/lost.yaml", "evaluator.yaml", "agent/a.yml", "README.md", "suites/x.yaml"]).prop_map(Mistake::Move),
    ];
    (any::<usize>(), any::<usize>(), mistake)
}

/// What is done by mistake.
#[derive(Clone, Debug)]
pub(crate) enum Mistake {
    /// Something else is written.
    Put(Value),
    /// Something is left out.
    Remove,
    /// A field gets another name.
    Rename(&'static str),
    /// A file is there twice.
    Twice,
    /// A file lies elsewhere.
    Move(&'static str),
}

/// Makes a mistake.
pub(crate) fn make(drafts: &mut Vec<Draft>, (file, place, mistake): (usize, usize, Mistake)) {
    let file = file % drafts.len();
    let mut pointers = Vec::new();
    pointers_of(&drafts[file].value, String::new(), &mut pointers);
    let pointer = pointers[place % pointers.len()].clone();
    let (above, last) = pointer.rsplit_once('/').unwrap_or_default();
    let value = &mut drafts[file].value;
    match mistake {
        Mistake::Put(new) => *value.pointer_mut(&pointer).unwrap() = new,
        Mistake::Remove | Mistake::Rename(_) if pointer.is_empty() => *value = Value::Null,
        Mistake::Remove => match value.pointer_mut(above).unwrap() {
            Value::Array(items) => _ = items.remove(last.parse().unwrap()),
            Value::Object(map) => _ = map.shift_remove(last),
            _ => {}
        },
        Mistake::Rename(name) => {
            if let Value::Object(map) = value.pointer_mut(above).unwrap() {
                let moved = map.shift_remove(last).unwrap();
                map.insert(name.to_owned(), moved);
            }
        }
        Mistake::Twice => {
            let mut second = drafts[file].clone();
            second.path = format!("agent/again-{}/{}", drafts.len(), second.path.replace('/', "-"));
            drafts.push(second);
        }
        // A file system has one file of a name.
        Mistake::Move(path) if drafts.iter().any(|draft| draft.path == path) => {}
        Mistake::Move(path) => path.clone_into(&mut drafts[file].path),
    }
}

fn pointers_of(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers_of(item, format!("{at}/{index}"), into);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                pointers_of(value, format!("{at}/{key}"), into);
            }
        }
        _ => {}
    }
    into.push(at);
}
