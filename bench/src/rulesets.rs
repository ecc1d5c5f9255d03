//! What documents cost of which nothing matches: messages that are looked at with 10, 100 and 1,000 documents.
//!
//! Documents look for texts, patterns, values and fields of their own in calls and their results, want something served, and know a task.
//! No message has any of it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};

use serde::de::IgnoredAny;

use crate::clock;
use crate::flows::Traffic;
use crate::ours;
use crate::table::Table;

const MESSAGES: usize = 200_000;
const COUNTS: [usize; 3] = [10, 100, 1000];
const BAR: f64 = 2.0;

/// The rows of the table.
pub(crate) fn measure(quick: bool, table: &mut Table) -> Result<(), String> {
    let count = if quick { MESSAGES / 10 } else { MESSAGES };
    let rounds = if quick { 2 } else { 3 };
    let rulesets = COUNTS.map(|count| ours::ruleset((0..count).map(document)));
    let mut best = [f64::INFINITY; COUNTS.len()];
    let (mut bare, mut parsed) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        bare = bare.min(clock::once(|| std::io::copy(&mut Traffic::new(count), &mut std::io::sink())));
        parsed = parsed.min(clock::once(|| parse(Traffic::new(count))));
        for (ruleset, best) in rulesets.iter().zip(&mut best) {
            let ruleset = ruleset.as_ref().map_err(Clone::clone)?;
            let mut found = Ok(0);
            *best =
                best.min(clock::once(|| found = ours::found(ruleset, BufReader::new(Traffic::new(count)))));
            if found? != 0 {
                table.fail("rulesets: something matched");
            }
        }
    }
    // Writing the messages is not what is measured.
    let [few, some, many] = best.map(|took| took - bare);
    table.at_most(&format!("{count} messages with 1000 documents, over with 10"), many / few, BAR);
    table.limit("with 100 documents, over with 10", some / few);
    table.limit("with 1000 documents, over a bare parse", many / (parsed - bare));
    Ok(())
}

fn parse(trace: impl Read) -> usize {
    let lines = BufReader::new(trace).split(b'\n').map_while(Result::ok);
    lines.filter(|line| serde_json::from_slice::<IgnoredAny>(line).is_ok()).count()
}

/// A document like no other.
fn document(number: usize) -> String {
    let indicators = [
        format!("target: arguments.path, pattern: {{contains: 'CANARY-{number:04}-KEY'}}"),
        format!("target: arguments.field_{number}, pattern: {{regex: '(?i)secret-{number}-(one|two)'}}"),
        format!("target: arguments.to, pattern: {{condition: 'guest-{number}@attacker.example'}}"),
        format!("target: arguments.count_{number}, pattern: {{condition: {{gte: 1000}}}}"),
        format!(
            "target: '', expression: {{cel: \"has(message.arguments) && has(message.arguments.trace_{number}) && message.arguments.trace_{number}.contains('x')\"}}"
        ),
    ];
    let mut text = format!(
        "
oatf: '0.1'
attack:
  id: MANY-{number:04}
  x-sortie:
    delivered: [{{actor: default, surface: tools/call, contains: 'payload number {number} of many'}}]
    task: {{actor: default, surface: tools/call, name: do_task_{number}}}
  execution: {{mode: mcp_server, state: {{tools: []}}}}
  indicators:
    - {{surface: tools/call, direction: response, target: 'content[*].text', pattern: {{regex: 'LEAK-{number:04}-[0-9a-f]+'}}}}
"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "    - {{surface: tools/call, direction: request, {}}}",
        indicators[number % indicators.len()]
    );
    text
}
