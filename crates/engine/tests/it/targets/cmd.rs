//! Programs that are told something, and answer.

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
    let target = target(r#"n=0; while read line; do n=$((n+1)); echo "$n: $line"; done"#, CmdProtocol::Lines);
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
    let target = target("read a; echo; read b; echo done", CmdProtocol::Lines);
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
    assert!(matches!(said("cat >/dev/null", CmdProtocol::Lines).await, TargetError::TimedOut { .. }));
    let gone = said("echo 'no memory' >&2; exit 3", CmdProtocol::Lines).await.to_string();
    assert!(gone.contains("exit status: 3; the last that it said: no memory"), "{gone}");
    let long = said("read a; head -c 100000 /dev/zero | tr '\\0' x; cat", CmdProtocol::Lines).await;
    assert_eq!(long, TargetError::TooLong(1000));
    assert!(matches!(said("read a; echo hello", CmdProtocol::Json).await, TargetError::Protocol { .. }));
}

#[tokio::test]
async fn whoever_never_stops_talking_is_not_listened_to_for_ever() {
    let limits = Limits { message_bytes: 100_000, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let said = async |protocol| {
        let room = Room::new(TargetKind::Cmd);
        let mut talk = target("yes", protocol).open(&room.channel, &settings).await.unwrap();
        // How much is there when it is asked is for the machine to decide.
        let error = match room.say(&mut talk, "hi").await {
            Ok(_) => talk.finish().await.unwrap_err(),
            Err(error) => error,
        };
        talk.close().await;
        error
    };
    let lines = said(CmdProtocol::Lines).await.to_string();
    assert!(lines.contains("more than one line") || lines.contains("before anything was asked"), "{lines}");
    assert_eq!(said(CmdProtocol::Text).await, TargetError::TooLong(100_000));
}

/// Long enough that no machine is too busy for a line, and short enough to wait for.
fn soon() -> Settings {
    Settings { quiet: Duration::from_millis(300), ..Settings::default() }
}

#[tokio::test]
async fn an_answer_in_text_has_all_its_lines() {
    let script = r"echo Welcome.; read a; echo 'Let me check that for you.'; echo; echo 'Your coupon is SAVE90.'; read b; printf 'No more.\n> '; read c";
    let target = target(script, CmdProtocol::Text);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &soon()).await.unwrap();
    let turn = room.say(&mut talk, "A coupon?").await.unwrap();
    assert!(turn.text.ends_with("Let me check that for you.\n\nYour coupon is SAVE90."), "{turn:?}");
    assert_eq!(room.say(&mut talk, "Another?").await.unwrap().text, "No more.\n> ");
    talk.finish().await.unwrap();
    talk.close().await;
}

#[tokio::test]
async fn what_a_program_says_after_a_pause_belongs_to_its_answer() {
    // It goes on once its input is closed, which is after the answer was taken for whole.
    let script = "read a; echo 'Let me check that for you.'; read b; echo 'Your coupon is SAVE90.'";
    let target = target(script, CmdProtocol::Text);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &soon()).await.unwrap();
    assert_eq!(room.say(&mut talk, "A coupon?").await.unwrap().text, "Let me check that for you.");
    talk.finish().await.unwrap();
    talk.close().await;
    let turns = room.channel.recorder().transcriber().unwrap().turns().to_vec();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1].text, "Let me check that for you.\nYour coupon is SAVE90.");
}

#[tokio::test]
async fn a_prompt_is_no_answer() {
    let settings = Settings { answer_timeout: Duration::from_millis(600), ..soon() };
    let target = target("printf '> '; cat >/dev/null", CmdProtocol::Text);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &settings).await.unwrap();
    let error = room.say(&mut talk, "hi").await.unwrap_err();
    talk.close().await;
    assert!(matches!(error, TargetError::TimedOut { .. }), "{error}");
    assert!(room.story().contains(&"agent line > ".to_owned()), "{:?}", room.story());
}

#[tokio::test]
async fn a_second_line_is_an_error_where_an_answer_is_one() {
    let finished = async |script: &str, protocol| {
        let target = target(script, protocol);
        let room = Room::of(&target);
        let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
        let said = room.say(&mut talk, "hi").await;
        let finished = talk.finish().await;
        talk.close().await;
        (said.map(|turn| turn.text), finished.map_err(|error| error.to_string()), room.story())
    };
    let (said, finished_with, story) = finished("read a; echo one; echo two", CmdProtocol::Lines).await;
    assert_eq!(said.unwrap(), "one");
    let error = finished_with.unwrap_err();
    assert!(error.contains("more than one line") && error.contains("`two`"), "{error}");
    assert_eq!(story.last().unwrap(), "agent line two");
    let (_, finished_with, _) =
        finished(r#"read a; echo '{"text":"a"}'; echo '{"text":"b"}'"#, CmdProtocol::Json).await;
    assert!(finished_with.unwrap_err().contains("protocol `json`"));
    // Nothing is lost with a line that says nothing.
    let (_, finished_with, _) = finished("read a; echo one; echo", CmdProtocol::Lines).await;
    assert_eq!(finished_with, Ok(()));
}

#[tokio::test]
async fn a_program_that_is_started_for_each_message_answers_with_its_output() {
    let mut command = shell("printf '%s\\n' \"$0\"; echo and more");
    command.push("<{message}>".to_owned());
    let target = Target::Cmd(CmdTarget { command, env: path(), protocol: CmdProtocol::Once });
    let room = Room::of(&target);
    target.discover(&room.channel, &Settings::default()).await.unwrap();
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    assert_eq!(room.say(&mut talk, "two\nlines").await.unwrap().text, "<two\nlines>\nand more");
    assert_eq!(room.say(&mut talk, "$(id)").await.unwrap().text, "<$(id)>\nand more");
    talk.finish().await.unwrap();
    talk.close().await;
    assert_eq!(room.story()[1], "actor line two\nlines");
}

#[tokio::test]
async fn a_message_that_the_command_does_not_take_is_the_input() {
    let target = target("wc -c", CmdProtocol::Once);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    let long = "x".repeat(300_000);
    assert_eq!(room.say(&mut talk, &long).await.unwrap().text.trim(), "300000");
    talk.close().await;
}

#[tokio::test]
async fn a_program_that_ends_badly_has_not_answered() {
    let target = target("echo half an answer; echo 'no such model' >&2; exit 4", CmdProtocol::Once);
    let room = Room::of(&target);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    let error = room.say(&mut talk, "hi").await.unwrap_err().to_string();
    assert!(error.contains("exit status: 4; the last that it said: no such model"), "{error}");
    assert_eq!(room.story().last().unwrap(), "agent line half an answer");
    assert_eq!(room.channel.recorder().transcriber().unwrap().turns().len(), 1);
    let settings = Settings { answer_timeout: Duration::from_millis(200), ..Settings::default() };
    let target = self::target("sleep 1000", CmdProtocol::Once);
    let mut talk = target.open(&room.channel, &settings).await.unwrap();
    assert!(matches!(talk.say("hi").await.unwrap_err(), TargetError::TimedOut { .. }));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_found_out_before_any_case() {
    let room = Room::new(TargetKind::Cmd);
    let command = vec!["/no/such/program".to_owned()];
    let target = Target::Cmd(CmdTarget { command, env: Vec::new(), protocol: CmdProtocol::Lines });
    let error = target.discover(&room.channel, &Settings::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the target refuses: cannot find `/no/such/program`");
    let command = ["no-such-program", "{message}"].map(str::to_owned).to_vec();
    let target = Target::Cmd(CmdTarget { command, env: path(), protocol: CmdProtocol::Once });
    let error = target.discover(&room.channel, &Settings::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the target refuses: cannot find `no-such-program`");
}

#[tokio::test]
async fn secrets_reach_neither_the_trace_nor_the_turn() {
    let room = Room::hiding(TargetKind::Cmd, &["hunter2-token"]);
    let target = target("while read line; do echo \"you said $line\"; done", CmdProtocol::Lines);
    let mut talk = target.open(&room.channel, &Settings::default()).await.unwrap();
    let turn = room.say(&mut talk, "it is hunter2-token").await.unwrap();
    talk.close().await;
    assert_eq!(turn.text, "you said it is [redacted]");
    assert!(!room.text().contains("hunter2"), "{}", room.text());
}
