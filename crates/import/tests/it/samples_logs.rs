//! Logs of others, which are not ours to keep: read, counted, and nothing in them is unknown.

use std::path::PathBuf;

use sortie_import::{Formats, Input, InputLimits};

/// Sessions, messages, and what nobody knows.
fn counted(format: &str, file: &str) -> (usize, usize, Vec<String>) {
    let root = std::env::var_os("SORTIE_FIXTURES").expect("SORTIE_FIXTURES names the folder of the samples");
    let path = PathBuf::from(root).join("traces").join(file);
    let input = Input::file(&path, file, InputLimits::default()).unwrap();
    let (mut sessions, mut messages, mut unknown) = (0, 0, Vec::new());
    let read = Formats::named(format).unwrap().read(input, &mut |session| {
        sessions += 1;
        messages += session.messages().len();
        unknown.extend(session.loss.unknown.into_keys());
        Ok(())
    });
    read.unwrap_or_else(|error| panic!("{file}: {error}"));
    (sessions, messages, unknown)
}

#[test]
#[ignore = "needs the samples of others: SORTIE_FIXTURES=… cargo xtask test"]
fn logs_of_inspect_are_read_and_nothing_is_unknown() {
    for (file, sessions, messages) in [
        ("inspect/log_formats.eval", 1, 3),
        ("inspect/log_streaming.eval", 4, 12),
        ("inspect/log_read_sample.json", 1, 3),
        // Results without calls: the one thing that is known of them is that they are odd.
        ("inspect/log_tool_call_error.json", 1, 0),
        ("inspect/security-guide.json", 3, 9),
    ] {
        assert_eq!(counted("inspect", file), (sessions, messages, Vec::new()), "{file}");
    }
}
