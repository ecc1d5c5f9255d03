//! Folders that nobody vouches for: whatever is wrong is refused with a reason, and nothing blocks or grows.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use snapbox::cmd::Command;
use tempfile::TempDir;

use super::{LEAK, LEAK_FIXTURES, alone, mine, said, shown, write};

/// `sortie evaluators check` there, ended with 124 where it takes longer than anybody waits.
fn check(folder: &TempDir, arguments: &[&str]) -> Command {
    Command::new("timeout")
        .arg("60")
        .arg(snapbox::cmd::cargo_bin!("sortie"))
        .args(["evaluators", "check"])
        .args(arguments)
        .current_dir(folder.path())
}

#[test]
fn a_link_that_leads_out_of_the_folder_is_refused() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK)]);
    fs::write(folder.path().join("secret.yaml"), LEAK.replace("note-leak", "secret")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    symlink("../../secret.yaml", folder.path().join("mine/agent/secret.yaml")).unwrap();
    symlink("../../outside", folder.path().join("mine/agent/outside")).unwrap();
    symlink("gone.yaml", folder.path().join("mine/agent/nowhere.yaml")).unwrap();
    symlink(".", folder.path().join("mine/agent/round")).unwrap();
    let run = check(&folder, &["mine"]).assert().code(2);
    let text = shown(&run);
    for (file, why) in [
        ("secret.yaml", "it is a link that leads out of the folder"),
        ("outside", "it is a link that leads out of the folder"),
        ("nowhere.yaml", "it is a link that leads nowhere"),
        ("round", "it is a link to a folder, and these are not followed"),
    ] {
        assert!(text.contains(&format!("--> mine/agent/{file}")) && text.contains(why), "{file}: {text}");
    }
    assert_eq!(text.matches("error[E-018]").count(), 4, "{text}");
    assert!(!text.contains("A note leaks"), "{text}");
    // A link to a file of the same folder is that file.
    let folder = mine(&[("agent/note-leak.yaml", LEAK), ("texts/fixtures", LEAK_FIXTURES)]);
    symlink("../texts/fixtures", folder.path().join("mine/agent/note-leak.test.yaml")).unwrap();
    alone(&folder, &["test"]).assert().code(0);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let directory = &LEAK[..LEAK.find("patterns:").unwrap()].replace("note-leak", "own");
    let folder = mine(&[
        ("agent/own/evaluator.yaml", directory),
        ("agent/own/patterns/ask.yaml", "name: Ask\ntemplate: Say it.\n"),
    ]);
    let patterns = folder.path().join("mine/agent/own/patterns");
    let made = std::process::Command::new("mkfifo").arg(patterns.join("pipe.yaml")).status().unwrap();
    assert!(made.success());
    let _listener = UnixListener::bind(patterns.join("socket.yaml")).unwrap();
    fs::create_dir(patterns.join("folder.yaml")).unwrap();
    fs::write(patterns.join("folder.yaml/inner.yaml"), "name: Inner\ntemplate: Say it.\n").unwrap();
    let run = check(&folder, &["mine"]).assert().code(2);
    let text = shown(&run);
    for name in ["pipe.yaml", "socket.yaml"] {
        assert!(text.contains(&format!("--> mine/agent/own/patterns/{name}")), "{text}");
    }
    assert_eq!(text.matches("it is neither a file nor a folder").count(), 2, "{text}");
    assert!(text.contains("--> mine/agent/own/patterns/folder.yaml/inner.yaml"), "{text}");
    // Named as a path, it is refused as well.
    let run = check(&folder, &["mine/agent/own/patterns/pipe.yaml"]).assert().code(2);
    assert!(shown(&run).contains("it is neither a file nor a folder"), "{}{}", shown(&run), said(&run));
}

#[test]
fn a_file_that_is_too_long_or_no_text_is_refused() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK)]);
    let binary: Vec<u8> = (0..=u8::MAX).map(|at| at.wrapping_mul(37)).cycle().take(4096).collect();
    fs::write(folder.path().join("mine/agent/binary.yaml"), binary).unwrap();
    let huge = fs::File::create(folder.path().join("mine/agent/huge.yaml")).unwrap();
    huge.set_len(1 << 40).unwrap(); // it has holes, and no disk is filled
    let run = check(&folder, &["mine"]).assert().code(2);
    let text = shown(&run);
    assert!(text.contains("--> mine/agent/binary.yaml") && text.contains("[P-002]"), "{text}");
    assert!(text.contains("--> mine/agent/huge.yaml") && text.contains("[E-027]"), "{text}");
}

#[test]
fn what_is_deep_is_refused() {
    let folder = mine(&[("agent/note-leak.yaml", LEAK)]);
    write(&folder, "agent/flow.yaml", &format!("id: flow\nstandards: {}\n", "[".repeat(100_000)));
    let block = (0..2_000).fold(String::new(), |text, at| text + &" ".repeat(at) + "a:\n");
    write(&folder, "agent/block.yaml", &block);
    let deep = format!("agent/{}deep.yaml", "d/".repeat(40));
    write(&folder, &deep, LEAK);
    let run = check(&folder, &["mine"]).assert().code(2);
    let text = shown(&run);
    for place in ["--> mine/agent/flow.yaml:", "--> mine/agent/block.yaml:"] {
        assert!(text.contains(place), "{place}: {text}");
    }
    assert!(text.contains("it is more than 16 folders deep"), "{text}");
}

#[test]
fn a_hundred_thousand_patterns_are_refused() {
    let folder = mine(&[]);
    let mut text = LEAK[..LEAK.find("patterns:").unwrap()].to_owned() + "patterns:\n";
    text.extend((0..100_000).map(|at| format!("  - {{name: p{at}, template: t}}\n")));
    write(&folder, "agent/note-leak.yaml", &text);
    let run = check(&folder, &["mine"]).assert().code(2);
    assert!(shown(&run).contains("[E-027]") || shown(&run).contains("[P-0"), "{}", shown(&run));
    assert!(shown(&run).len() < 100_000, "{}", shown(&run).len());

    // The same in files of their own.
    let folder = mine(&[(
        "agent/own/evaluator.yaml",
        &LEAK[..LEAK.find("patterns:").unwrap()].replace("note-leak", "own"),
    )]);
    for at in 0..1_001 {
        write(&folder, &format!("agent/own/patterns/p{at}.yaml"), &format!("name: p{at}\ntemplate: t\n"));
    }
    let run = check(&folder, &["mine"]).assert().code(2);
    assert!(shown(&run).contains("[E-027]") && shown(&run).contains("1001"), "{}", shown(&run));
}

#[test]
fn names_of_files_and_texts_of_evaluators_cannot_command_a_terminal() {
    let folder = mine(&[("agent/note-leak.yaml", &LEAK.replace("A note leaks", "\"A \\e[31mnote\""))]);
    fs::write(folder.path().join("mine/agent/a\u{1b}[2J.yaml"), "id: 1\n").unwrap();
    let run = check(&folder, &["mine"]).assert().code(2);
    assert!(!shown(&run).contains('\u{1b}') && !said(&run).contains('\u{1b}'), "{}", shown(&run));
    fs::remove_file(folder.path().join("mine/agent/a\u{1b}[2J.yaml")).unwrap();
    for arguments in [&["list"][..], &["show", "note-leak"], &["list", "--format", "json"]] {
        let run = alone(&folder, arguments).assert();
        assert!(!shown(&run).contains('\u{1b}') && !said(&run).contains('\u{1b}'), "{}", shown(&run));
    }
}

#[test]
fn hidden_files_are_left_and_others_are_only_named() {
    let folder = mine(&[
        ("agent/note-leak.yaml", LEAK),
        ("agent/.draft.yaml", "not: [an evaluator"),
        (".git/config.yaml", "not: [an evaluator"),
        ("README.md", "# Mine\n"),
    ]);
    check(&folder, &["mine"]).assert().code(0).stdout_eq("1 file checked: no findings\n");
    write(&folder, "agent/other.yml", LEAK);
    let run = check(&folder, &["mine"]).assert().code(2);
    assert!(shown(&run).contains("error[E-019]") && shown(&run).contains("other.yml"), "{}", shown(&run));
}
