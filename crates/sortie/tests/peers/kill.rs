//! A run that is killed leaves a trace of everything that anyone was told.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::harness::{document, start};
use crate::raw::Raw;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

#[test]
fn a_kill_at_any_moment_loses_the_last_line_at_most() {
    let mut dice = Dice(0x5017_1e5e_ed5e_ed01);
    for round in 0..50 {
        let mut running = start(&document("rug-pull.yaml"), ["--max-duration", "1m"]);
        let url = running.url_of("default");
        let (told, heard) = mpsc::channel();
        let asking = std::thread::spawn(move || {
            // Ends when the server is gone.
            let mut raw = Raw::initialized(&url)?;
            for id in 1.. {
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"forecast","arguments":{{"city":"{}"}}}}}}"#,
                    "Bern".repeat(id % 300)
                );
                let answered = raw.post(&call)?;
                if answered.body.contains("\"result\"") && told.send(id).is_err() {
                    break;
                }
            }
            Ok::<_, std::io::Error>(())
        });
        // A moment is so many answers, and a little more.
        let mut last = 0;
        for _ in 0..dice.roll(40) {
            last = heard.recv_timeout(Duration::from_secs(30)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(dice.roll(3000)));
        let (trace, _folder) = running.kill();
        let _ = asking.join().unwrap();
        last = heard.try_iter().last().unwrap_or(last);

        let text = std::fs::read(&trace).unwrap();
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let records: Vec<Value> = text[..whole]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap_or_else(|error| panic!("round {round}: {error}")))
            .collect();
        let answered = |id: usize| {
            records.iter().any(|record| {
                record["sender"] == "actor" && record["id"] == id && record["kind"] == "response"
            })
        };
        for id in 1..=last {
            assert!(answered(id), "round {round}: answer {id} of {last} was given and is not in the trace");
        }
        // What is left can be shown, and is not a pass.
        let shown =
            Command::new(env!("CARGO_BIN_EXE_sortie")).args(["trace", "show"]).arg(&trace).output().unwrap();
        assert!(shown.status.success(), "round {round}: {}", String::from_utf8_lossy(&shown.stderr));
        let eval = Command::new(env!("CARGO_BIN_EXE_sortie"))
            .args(["eval", "--trace"])
            .arg(&trace)
            .arg(document("rug-pull.yaml"))
            .output()
            .unwrap();
        assert_eq!(eval.status.code(), Some(3), "round {round}: {}", String::from_utf8_lossy(&eval.stdout));
    }
}
