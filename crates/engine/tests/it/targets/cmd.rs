//! Programs that read a line and write a line.

use std::time::Duration;

use sortie_engine::targets::{CmdProtocol, CmdTarget, Settings, Target, TargetError, TargetKind};
use sortie_wire::Limits;

use crate::targets::room::{Room, path, shell};

fn target(script: &str, protocol: CmdProtocol) -> Target {
    Target::Cmd(CmdTarget { command: shell(script), env: path(), protocol })
}

#[tokio::test]
async fn a_line_is_answered_with_a_line_and_the_process_remembers() {
    let room = Room::new(TargetKind::Cmd);
    let target = target(r#"n=0; while read line; do n=$((n+1)); echo "$n: $line"; done"#, CmdProtocol::Plain);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    assert_eq!(room.say(&mut talk, "hello").await.unwrap().text, "1: hello");
    // A line break would be the end of the message.
    assert_eq!(room.say(&mut talk, "two\nlines").await.unwrap().text, "2: two lines");
    talk.close().await;
    assert_eq!(
        room.story(),
        [
            "attacker enters attack as cmd_client",
            "actor line hello",
            "agent line 1: hello",
            "attacker enters turn-2 as cmd_client",
            "actor line two\nlines",
            "agent line 2: two lines",
        ]
    );
}

#[tokio::test]
async fn an_empty_line_is_an_answer() {
    let room = Room::new(TargetKind::Cmd);
    let target = target("read a; echo; read b; echo done", CmdProtocol::Plain);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    assert_eq!(room.say(&mut talk, "hello").await.unwrap().text, "");
    assert_eq!(room.say(&mut talk, "and now?").await.unwrap().text, "done");
    talk.close().await;
    assert_eq!(
        room.story()[2..],
        ["agent line ", "attacker enters turn-2 as cmd_client", "actor line and now?", "agent line done"]
    );
}

#[tokio::test]
async fn the_json_protocol_carries_line_breaks_calls_and_errors() {
    let script = r#"read a; printf '%s\n' '{"text":"paid","calls":[{"name":"pay","arguments":{"to":"m"},"result":"ok"}]}'; read b; echo '{"error":"no more"}'"#;
    let target = target(script, CmdProtocol::Json);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    let turn = room.say(&mut talk, "one\ntwo").await.unwrap();
    assert_eq!((turn.text.as_str(), turn.calls[0].name.as_str()), ("paid", "pay"));
    assert_eq!(turn.calls[0].result, "ok");
    let turn = room.say(&mut talk, "again").await.unwrap();
    assert!(turn.is_error && turn.text == "no more", "{turn:?}");
    talk.close().await;
    assert_eq!(room.story()[1], r#"actor line {"text":"one\ntwo"}"#);
}

#[tokio::test]
async fn whoever_does_not_answer_ends_or_says_too_much_is_an_error() {
    let settings = Settings {
        limits: Limits { message_bytes: 1000, ..Limits::default() },
        answer_timeout: Duration::from_millis(200),
        ..Settings::default()
    };
    let said = async |script: &str, protocol| {
        let target = target(script, protocol);
        let room = Room::of(&target);
        let mut talk = target.open(&room.channel, &settings).await.unwrap();
        let answer = room.say(&mut talk, "hi").await.unwrap_err();
        talk.close().await;
        answer
    };
    assert!(matches!(said("cat >/dev/null", CmdProtocol::Plain).await, TargetError::TimedOut { .. }));
    let gone = said("echo 'no memory' >&2; exit 3", CmdProtocol::Plain).await.to_string();
    assert!(gone.contains("exit status: 3; the last that it said: no memory"), "{gone}");
    let long = said("read a; head -c 100000 /dev/zero | tr '\\0' x; cat", CmdProtocol::Plain).await;
    assert_eq!(long, TargetError::TooLong(1000));
    assert!(matches!(said("read a; echo hello", CmdProtocol::Json).await, TargetError::Protocol { .. }));
}

#[tokio::test]
async fn whoever_never_stops_talking_is_not_listened_to_for_ever() {
    let room = Room::new(TargetKind::Cmd);
    let mut talk = target("yes", CmdProtocol::Plain).open(&room.channel, &Settings::default()).await.unwrap();
    // How much is there when it is asked is for the machine to decide; before long it is too much.
    let mut error = None;
    for _ in 0..1_000 {
        error = room.say(&mut talk, "hi").await.err();
        if error.is_some() {
            break;
        }
    }
    talk.close().await;
    assert_eq!(error.unwrap().to_string(), "`a line`: more than 10000 are there before anything was asked");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_found_out_before_any_case() {
    let room = Room::new(TargetKind::Cmd);
    let command = vec!["/no/such/program".to_owned()];
    let target = Target::Cmd(CmdTarget { command, env: Vec::new(), protocol: CmdProtocol::Plain });
    let error = target.discover(&room.channel, &Settings::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the target refuses: cannot find `/no/such/program`");
}

#[tokio::test]
async fn secrets_reach_neither_the_trace_nor_the_turn() {
    let room = Room::hiding(TargetKind::Cmd, &["hunter2-token"]);
    let target = target("while read line; do echo \"you said $line\"; done", CmdProtocol::Plain);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    let turn = room.say(&mut talk, "it is hunter2-token").await.unwrap();
    talk.close().await;
    assert_eq!(turn.text, "you said it is [redacted]");
    assert!(!room.text().contains("hunter2"), "{}", room.text());
}
