//! A mutant differs from the document in exactly the way it says.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sortie_oatf::evaluate::evaluate_condition;
use sortie_oatf::model::{Condition, Direction, Indicator, IndicatorResult};
use sortie_oatf::{Compiled, Validated};
use sortie_prove::{Mutant, Operator, Recording, Said, mutants};

use crate::naive::{Seen, of_said, result};
use crate::story::compiled;

const CONDITIONS: &[&str] = &[
    "{contains: canary-77}",
    "{contains: '77'}",
    "{starts_with: Read}",
    "{ends_with: .pub}",
    "{condition: make_payment}",
    "{condition: 5}",
    "{condition: true}",
    "{condition: {a: 1}}",
    "{condition: {exists: true}}",
    "{condition: {exists: false}}",
    "{condition: {exists: true, contains: key}}",
    "{condition: {contains: ary, starts_with: can, ends_with: '7'}}",
    "{condition: {gt: 1, lte: 9}}",
    "{condition: {any_of: [rm, mv, 3]}}",
    "{regex: '(?i)api[_-]key:\\s*(a|bc|def)'}",
    "{regex: '^rm -rf /|mkfs'}",
    "{regex: '\\.ssh/id_[a-z0-9]+'}",
    "{condition: {regex: 'k+ey', contains: e}}",
];

const EXPRESSIONS: &[&str] = &[
    "has(message.arguments) && has(message.arguments.path) && message.arguments.path.contains('id_rsa')",
    "message.name == 'note' || message.name.startsWith('shred')",
    "message.arguments.exists(k, k == 'path') && !(message.name != 'read')",
    "has(message.name) && size(message.name) > 3 && message.name.matches('^[a-z]+(_x|_y)?$')",
    "message.name.endsWith('!')",
];

const TEXTS: &[&str] = &[
    "",
    "canary-77",
    "a canary-77!",
    "Canary-77",
    "canary",
    "y-77",
    "Read me",
    "key.pub",
    "make_payment",
    "Make_Payment",
    "make_payments",
    "rm -rf /",
    "  rm -rf /",
    "mkfs",
    "api-key: a",
    "API_KEY:bc",
    "~/.ssh/id_rsa",
    ".ssh/id_",
    "ssh/id_1",
    "kkey",
    "ky",
    "eey",
    "ey",
    "rm",
    "mv",
    "id_rsa",
    "note",
    "shredder",
    "read_x",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![select(TEXTS).prop_map(str::to_owned), "[a-z~/._ 7!-]{0,12}"]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => texts().prop_map(Value::String),
        1 => (0..12).prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(json!({"a": 1})),
    ]
}

/// Messages that keep to the protocol, of a server that has tools and nothing else.
fn messages() -> impl Strategy<Value = Said> {
    let arguments = proptest::collection::btree_map(select(vec!["path", "text", "a"]), values(), 0..3);
    let called = (texts(), arguments).prop_map(|(name, arguments)| {
        ("tools/call", Direction::Request, json!({"name": name, "arguments": arguments}))
    });
    let answered = texts().prop_map(|text| {
        ("tools/call", Direction::Response, json!({"content": [{"type": "text", "text": text}]}))
    });
    let listed = (texts(), texts()).prop_map(|(name, description)| {
        let tools = json!({"tools": [{"name": name, "description": description}]});
        ("tools/list", Direction::Response, tools)
    });
    let greeted = texts().prop_map(|text| {
        let result = json!({"serverInfo": {"name": text, "version": "1"}, "instructions": text});
        ("initialize", Direction::Response, result)
    });
    let plain = select(vec!["ping", "tools/list", "notifications/initialized"])
        .prop_map(|surface| (surface, Direction::Request, json!({})));
    prop_oneof![4 => called, 2 => answered, 1 => listed, 1 => greeted, 1 => plain].prop_map(
        |(surface, direction, message)| Said {
            actor: "default".to_owned(),
            mode: "mcp_server".to_owned(),
            surface: surface.to_owned(),
            direction,
            message,
        },
    )
}

/// Documents with one indicator of any sort.
fn documents() -> impl Strategy<Value = String> {
    let targets =
        vec!["arguments.path", "arguments", "name", "'content[*].text'", "'tools[*].description'", "''"];
    let pattern = (select(targets), select(CONDITIONS))
        .prop_map(|(target, condition)| format!("target: {target}, pattern: {condition}"));
    let expression =
        select(EXPRESSIONS).prop_map(|cel| format!("target: '', expression: {{cel: {}}}", json!(cel)));
    let surfaces = vec!["", "surface: tools/call,", "surface: tools/list,"];
    let directions = vec!["", "direction: request,", "direction: response,"];
    let method = prop_oneof![3 => pattern, 1 => expression];
    (select(surfaces), select(directions), method).prop_map(|(surface, direction, method)| {
        format!(
            "{{oatf: '0.1', attack: {{execution: {{mode: mcp_server, state: {{tools: []}}}}, \
             indicators: [{{id: A, {surface} {direction} {method}}}]}}}}"
        )
    })
}

fn original(document: &Compiled) -> &Indicator {
    &document.document().attack.indicators.as_ref().unwrap()[0]
}

/// The indicator with the parts that an operator may touch taken from the mutant.
fn touched(original: &Indicator, mutant: &Indicator, operator: Operator) -> Indicator {
    let mut touched = original.clone();
    match operator {
        Operator::SwapDirection | Operator::DropDirection => touched.direction = mutant.direction,
        Operator::DropSurface | Operator::SwapSurface => touched.surface.clone_from(&mutant.surface),
        Operator::DropActor | Operator::SwapActor => touched.actor.clone_from(&mutant.actor),
        Operator::ShiftTarget | Operator::TruncateTarget => {
            touched.target.clone_from(&mutant.target);
            if let (Some(own), Some(other)) = (&mut touched.pattern, &mutant.pattern) {
                own.target.clone_from(&other.target);
            }
            touched.expression.clone_from(&mutant.expression);
        }
        _ => {
            if let (Some(own), Some(other)) = (&mut touched.pattern, &mutant.pattern) {
                own.condition.clone_from(&other.condition);
            }
            if let (Some(own), Some(other)) = (&mut touched.expression, &mutant.expression) {
                own.cel.clone_from(&other.cel);
            }
        }
    }
    touched
}

/// What must hold between the two, beyond that nothing else was touched.
fn keeps_its_word(original: &Indicator, mutant: &Mutant) -> Result<(), TestCaseError> {
    let wrong = mutant.mutated().expect("there is one indicator, so nothing is combined");
    match mutant.operator {
        Operator::DropDirection => prop_assert!(original.direction.is_some() && wrong.direction.is_none()),
        Operator::SwapDirection => {
            prop_assert!(wrong.direction.is_some() && wrong.direction != original.direction);
        }
        Operator::DropSurface => prop_assert!(original.surface.is_some() && wrong.surface.is_none()),
        Operator::SwapSurface => prop_assert!(wrong.surface.is_some() && wrong.surface != original.surface),
        Operator::TruncateTarget if wrong.pattern.is_some() => {
            prop_assert!(original.target.starts_with(&wrong.target), "{} {}", original.target, wrong.target);
        }
        Operator::ShiftTarget if wrong.pattern.is_some() => {
            let above =
                |path: &str| path.rsplit_once('.').map_or(String::new(), |(above, _)| above.to_owned());
            prop_assert_eq!(above(&original.target), above(&wrong.target));
        }
        _ => {}
    }
    Ok(())
}

fn conditions<'i>(original: &'i Indicator, wrong: &'i Indicator) -> Option<(&'i Condition, &'i Condition)> {
    let condition = |indicator: &'i Indicator| indicator.pattern.as_ref()?.condition.as_ref();
    Some((condition(original)?, condition(wrong)?))
}

fn is_presence(condition: &Condition) -> bool {
    matches!(condition, Condition::Match(condition) if condition.exists.is_some() && condition.operator_count() == 1)
}

/// Whether a value that is there satisfies a condition; `exists` is a matter of resolution.
fn holds(condition: &Condition, value: &Value) -> bool {
    match condition {
        Condition::Match(operators) if is_presence(condition) => operators.exists == Some(true),
        _ => evaluate_condition(condition, value),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_mutant_differs_in_exactly_the_way_it_says(text in documents(), said in proptest::collection::vec(messages(), 0..6)) {
        let document = compiled(&text);
        let original = original(&document);
        let mut known: Vec<Mutant> = Vec::new();
        for mutant in mutants(&document, &[Recording::of_messages(&said)]) {
            let wrong = mutant.mutated().unwrap();
            let again = |other: &Mutant| other.id == mutant.id || other.mutated() == Some(wrong);
            prop_assert!(!known.iter().any(again), "{} is there twice", mutant.id);
            known.push(mutant.clone());
            prop_assert_ne!(wrong, original);
            prop_assert_eq!(wrong, &touched(original, wrong, mutant.operator), "{}: {}", mutant.id, mutant.change);
            keeps_its_word(original, &mutant)?;
            prop_assert!(Validated::new(mutant.document(document.document())).is_ok(), "{}", mutant.id);
        }
    }

    #[test]
    fn what_is_wider_matches_more_and_what_is_narrower_less(text in documents(), value in values()) {
        let document = compiled(&text);
        let original = original(&document);
        for mutant in mutants(&document, &[]) {
            let Some((right, wrong)) = conditions(original, mutant.mutated().unwrap()) else { continue };
            let (right, wrong) = (holds(right, &value), holds(wrong, &value));
            match mutant.operator {
                Operator::Widen | Operator::DropConjunct => prop_assert!(wrong || !right, "{} {value}", mutant.change),
                Operator::Narrow | Operator::DropAlternative => {
                    prop_assert!(right || !wrong, "{} {value}", mutant.change);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_called_equivalent_is_told_apart_by_no_messages_of_the_protocol(
        text in documents(),
        said in proptest::collection::vec(messages(), 1..8),
    ) {
        let document = compiled(&text.replace("tools: []", "tools: [{name: note}]"));
        let seen: Vec<Seen> = said.iter().map(of_said).collect();
        let before = result(original(&document), &seen);
        for mutant in mutants(&document, &[]).iter().filter(|mutant| mutant.equivalent.is_some()) {
            let after = result(mutant.mutated().unwrap(), &seen);
            prop_assert_eq!(before, after, "{}: {} ({:?})", mutant.id, mutant.change, mutant.equivalent);
        }
    }
}

#[test]
fn the_property_of_equivalence_is_about_something() {
    let one = "{oatf: '0.1', attack: {execution: {mode: mcp_server, state: {tools: []}}, indicators: \
               [{id: A, surface: tools/call, direction: request, target: arguments.path, pattern: {contains: x}}]}}";
    let document = compiled(one);
    let equivalent: Vec<_> = mutants(&document, &[])
        .into_iter()
        .filter_map(|mutant| Some((mutant.operator, mutant.equivalent?)))
        .collect();
    assert_eq!(
        equivalent,
        [
            (Operator::DropDirection, "only the request of `tools/call` has it".to_owned()),
            (
                Operator::DropSurface,
                "of the other operations `prompts/get` has `arguments.path`, and the document does not offer it".to_owned()
            ),
        ]
    );
    // A server that has prompts is asked for them.
    let document = compiled(&one.replace("tools: []", "tools: [], prompts: []"));
    let drop_surface =
        mutants(&document, &[]).into_iter().find(|mutant| mutant.operator == Operator::DropSurface);
    assert_eq!(drop_surface.unwrap().equivalent, None);
    // What a run shows is possible, whatever anybody thought.
    let said = Said {
        actor: "default".to_owned(),
        mode: "mcp_server".to_owned(),
        surface: "prompts/get".to_owned(),
        direction: Direction::Request,
        message: json!({"name": "p", "arguments": {"path": "x"}}),
    };
    let shown = |said: &Said, operator: Operator| {
        let mutants = mutants(&compiled(one), &[Recording::of_messages(std::slice::from_ref(said))]);
        mutants.into_iter().find(|mutant| mutant.operator == operator).unwrap().equivalent
    };
    assert_eq!(shown(&said, Operator::DropSurface), None);
    let answer = Said { surface: "tools/call".to_owned(), direction: Direction::Response, ..said };
    assert_eq!(shown(&answer, Operator::DropDirection), None);
    assert!(shown(&answer, Operator::DropSurface).is_some());
}

/// The mutants of an indicator, without those of what it looks at.
fn changes(method: &str) -> Vec<String> {
    let document = compiled(&format!(
        "{{oatf: '0.1', attack: {{execution: {{mode: mcp_server, state: {{tools: []}}}}, indicators: \
         [{{id: A, surface: tools/call, direction: request, target: name, {method}}}]}}}}"
    ));
    let about_selection = |mutant: &Mutant| {
        let of = mutant.operator;
        of >= Operator::ShiftTarget && of < Operator::AnyAll
    };
    let mutants = mutants(&document, &[]).into_iter().filter(|mutant| !about_selection(mutant));
    mutants.map(|mutant| format!("{}: {}", mutant.operator, mutant.change)).collect()
}

#[test]
fn every_part_of_a_condition_is_wrong_once() {
    assert_eq!(
        changes("pattern: {condition: {contains: ary, gt: 3, exists: true}}"),
        [
            "drop_conjunct: does not ask for `contains: ary`",
            "drop_conjunct: does not ask for `gt: 3`",
            "drop_conjunct: does not ask for `exists: true`",
            "widen: asks for something that contains `ar` instead of `ary`",
            "widen: asks for something that contains `ry` instead of `ary`",
            "widen: asks for something that contains `ary` in upper or lower case",
            "other_operator: asks for exactly `ary` instead of containing it",
            "other_operator: asks for something that starts with `ary` instead of containing it",
            "other_operator: asks for something that ends with `ary` instead of containing it",
            "negate_conjunct: asks for the opposite of `gt: 3`",
            "other_operator: counts 3 itself otherwise than `gt: 3`",
            "widen: is content with whatever is there",
        ]
    );
    assert_eq!(
        changes("pattern: {condition: {any_of: [rm, 3]}}"),
        [
            "drop_alternative: does not look for `rm`",
            "drop_alternative: does not look for `3`",
            "widen: is content with whatever is there",
        ]
    );
    assert_eq!(changes("pattern: {condition: {exists: true}}"), ["negate_conjunct: asks for its absence"]);
    assert_eq!(changes("pattern: {condition: {exists: false}}"), ["negate_conjunct: asks for its presence"]);
    assert_eq!(
        changes("pattern: {condition: true}"),
        ["negate_conjunct: asks for false instead of true", "widen: is content with whatever is there"]
    );
    assert_eq!(
        changes("pattern: {condition: 5}"),
        [
            "other_operator: asks for at least 5 instead of exactly that",
            "other_operator: asks for at most 5 instead of exactly that",
            "widen: is content with whatever is there",
        ]
    );
}

#[test]
fn every_part_of_an_expression_is_wrong_once() {
    assert_eq!(
        changes(
            r#"expression: {cel: "has(message.name) && (message.name == 'x' || !message.name.startsWith('ab'))"}"#
        ),
        [
            "drop_conjunct: does not ask for `has(message.name)`",
            "drop_conjunct: does not ask for `(message.name == 'x' || !message.name.startsWith('ab'))`",
            "negate_conjunct: asks for the opposite of `has(message.name)`",
            "negate_conjunct: asks for the opposite of `(message.name == 'x' || !message.name.startsWith('ab'))`",
            "any_all: has `||` for `&&` in `has(message.name) && (message.name == 'x' || !message.name.s…`",
            "drop_alternative: does not ask for `message.name == 'x'`",
            "drop_alternative: does not ask for `!message.name.startsWith('ab')`",
            "negate_conjunct: asks for the opposite of `message.name == 'x'`",
            "negate_conjunct: asks for the opposite of `!message.name.startsWith('ab')`",
            "any_all: has `&&` for `||` in `(message.name == 'x' || !message.name.startsWith('ab'))`",
            "other_operator: has `message.name.contains('x')` for `message.name == 'x'`",
            "other_operator: has `message.name.startsWith('x')` for `message.name == 'x'`",
            "other_operator: has `message.name.endsWith('x')` for `message.name == 'x'`",
            "widen: looks for `a` in `message.name.startsWith('ab')`",
            "other_operator: has `message.name.contains('ab')` for `message.name.startsWith('ab')`",
            "other_operator: has `message.name.endsWith('ab')` for `message.name.startsWith('ab')`",
            "other_operator: has `(message.name == 'ab')` for `message.name.startsWith('ab')`",
        ]
    );
    assert_eq!(
        changes(r#"expression: {cel: "message.tools.all(t, size(t.name) > 3)"}"#),
        [
            "negate_conjunct: asks for the opposite of `message.tools.all(t, size(t.name) > 3)`",
            "any_all: has `exists` for `all` in `message.tools.all(t, size(t.name) > 3)`",
            "other_operator: has `size(t.name) >= 3` for `size(t.name) > 3`",
        ]
    );
}

#[test]
fn an_expression_that_asks_before_it_reads_is_equivalent_where_nothing_answers() {
    let cel = |cel: &str| {
        let document = compiled(&format!(
            "{{oatf: '0.1', attack: {{execution: {{mode: mcp_server, state: {{tools: []}}}}, indicators: \
             [{{id: A, surface: tools/call, direction: request, target: '', expression: {{cel: {}}}}}]}}}}",
            json!(cel)
        ));
        let drop =
            mutants(&document, &[]).into_iter().find(|mutant| mutant.operator == Operator::DropDirection);
        drop.unwrap().equivalent.is_some()
    };
    assert!(cel("has(message.arguments) && message.arguments.path == 'x'"));
    assert!(cel("message.arguments.path == 'x' && has(message.arguments)"));
    assert!(!cel("has(message.content) && message.content.size() > 1"), "a response has it");
    // `has(message.a.b)` fails where there is no `a`, or where it is a list, and a failure is seen.
    assert!(!cel("has(message.content) && has(message.content.x)"));
    assert!(!cel("has(message.arguments.path) && message.arguments.path == 'x'"));
    assert!(!cel("has(message.arguments) || message.name == 'x'"));
    assert!(!cel("!(has(message.arguments) && message.name == 'x')"));
}

#[test]
fn another_actor_is_another_mutant() {
    let document = compiled(
        "
oatf: '0.1'
attack:
  execution:
    actors:
      - {name: one, mode: mcp_server, phases: [{name: a, state: {tools: []}}]}
      - {name: two, mode: mcp_server, phases: [{name: a, state: {tools: []}}]}
      - {name: three, mode: a2a_server, phases: [{name: a, state: {}}]}
  indicators:
    - {id: A, protocol: mcp, actor: one, surface: tools/call, target: name, pattern: {contains: x}}
    - {id: B, protocol: a2a, actor: three, surface: message/send, target: message, pattern: {contains: x}}
",
    );
    let actors: Vec<_> = mutants(&document, &[])
        .into_iter()
        .filter(|mutant| matches!(mutant.operator, Operator::DropActor | Operator::SwapActor))
        .map(|mutant| {
            let actor = mutant.mutated().unwrap().actor.clone();
            (mutant.indicator, mutant.operator, actor, mutant.equivalent.is_some())
        })
        .collect();
    assert_eq!(
        actors,
        [
            (Some(0), Operator::DropActor, None, false),
            (Some(0), Operator::SwapActor, Some("two".to_owned()), false),
            (Some(1), Operator::DropActor, None, true),
        ]
    );
    let _: IndicatorResult = result(original(&document), &[]);
}
