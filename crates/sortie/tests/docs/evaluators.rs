//! What docs/evaluators.md promises beside its commands: the tests of its table, and the configurations it points to.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use sortie_syntax::yaml::{NodeId, NodeKind, Tree};

use crate::root;

/// The fields of the authoring document.
const AUTHORED: &[&str] = &[
    "schema_version",
    "id",
    "name",
    "severity",
    "standards",
    "description",
    "pass_criteria",
    "fail_criteria",
    "patterns",
    "patterns/<slug>.yaml",
    "judge_hint",
    "judge_needs_llm",
    "applies_to_all_tools",
    "surfaces",
    "turn_mode",
];

/// Field and test of each row.
fn rows() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/evaluators.md")).unwrap();
    let (_, table) = page.split_once("## The contract, field by field").unwrap();
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [field, _, test] = cells[..] else { return None };
        let test = test.strip_prefix('`')?.strip_suffix('`')?;
        Some((field.replace('`', ""), test.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_field_of_the_contract_names_a_test_that_is_there() {
    let source = root().join("crates/sortie/tests/cli/evaluators/fields.rs");
    let source = fs::read_to_string(source).unwrap();
    let tests = source.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
    let tests: BTreeSet<String> = tests.map(str::to_owned).collect();
    let rows = rows();
    let named: BTreeSet<String> = rows.iter().map(|(_, test)| test.clone()).collect();
    assert_eq!(named, tests, "the table and the tests are about the same");
    for field in AUTHORED {
        assert!(rows.iter().any(|(own, _)| own == field), "`{field}` has no row");
    }
}

fn yaml(path: &Path) -> Tree {
    let text = fs::read_to_string(path).unwrap();
    let (tree, diagnostics) = Tree::parse(&text);
    assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", path.display());
    tree.unwrap()
}

/// The commands of a configuration: `run` of a step, or `entry` and `args` of a hook.
fn commands(tree: &Tree, node: NodeId, found: &mut Vec<String>) {
    let text = |node: NodeId| match tree.node(node).kind {
        NodeKind::Scalar(text, _) => Some(text.to_owned()),
        _ => None,
    };
    match tree.node(node).kind {
        NodeKind::Sequence(items) => {
            for item in items {
                commands(tree, *item, found);
            }
        }
        NodeKind::Mapping(entries) => {
            let words = |key: &str| match tree.entry(node, key).map(|entry| tree.node(entry.value).kind) {
                Some(NodeKind::Sequence(items)) => items.iter().filter_map(|item| text(*item)).collect(),
                _ => Vec::new(),
            };
            for key in ["run", "entry"] {
                if let Some(command) = tree.entry(node, key).and_then(|entry| text(entry.value)) {
                    let args = words("args").into_iter().map(|arg| format!(" '{arg}'"));
                    found.push(command + &args.collect::<String>());
                }
            }
            for entry in entries {
                commands(tree, entry.value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_hook_and_every_step_passes_where_all_is_well_and_none_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &str| {
        let program = Path::new(env!("CARGO_BIN_EXE_sortie")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let output =
            Command::new("sh").args(["-c", command]).current_dir(folder.path()).env("PATH", path).output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), text)
    };
    assert_eq!(run("sortie evaluators new refund-limit").0, Some(0));
    assert_eq!(run("sortie evaluators catalog --evaluators evaluators --without-bundled").0, Some(0));
    let mut all = Vec::new();
    for file in [
        ".pre-commit-hooks.yaml",
        "docs/examples/evaluators/pre-commit-config.yaml",
        "docs/examples/evaluators/github-actions.yaml",
    ] {
        let before = all.len();
        let tree = yaml(&root().join(file));
        commands(&tree, tree.root().id, &mut all);
        assert!(all.len() >= before + 3, "{file} has too few commands");
    }
    for command in &all {
        let (code, text) = run(command);
        assert_eq!(code, Some(0), "`{command}`: {text}");
    }
    let evaluator = folder.path().join("evaluators/agent/refund-limit.yaml");
    let text = fs::read_to_string(&evaluator).unwrap().replace("severity: high", "severity: enormous");
    fs::write(&evaluator, text).unwrap();
    for command in &all {
        let (code, text) = run(command);
        assert!(
            code == Some(2) || (code == Some(1) && command.starts_with("sortie check")),
            "`{command}`: {text}"
        );
    }
}
