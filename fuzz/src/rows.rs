//! The body of the target `rows`, without libFuzzer: `crates/scan/tests/it/main.rs` includes this file.

use std::sync::{Arc, LazyLock};

use sortie_oatf::{Compiled, load};
use sortie_scan::{FindingRow, MessageScanner, Rules, Scanned, SessionScanner};

/// One of each: a text, an expression, a pattern and a flow.
const INDICATORS: [&str; 4] = [
    "{surface: tools/call, direction: request, target: arguments.path, pattern: {contains: id_rsa}}",
    "{surface: tools/call, target: arguments, expression: {cel: 'message.arguments.path.size() > 3'}}",
    "{surface: tools/call, direction: response, target: 'content[*].text', pattern: {regex: 'root:x:0|a+b'}}",
    "{surface: tools/call, direction: request, target: arguments, pattern: {condition: {exists: true}}, x-sortie: {flow: {from: {protocol: mcp, surface: tools/call, direction: response}, to: {}, min_length: 8}}}",
];

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let documents = INDICATORS.iter().zip(1..).map(|(indicator, number)| {
        let text = format!(
            "oatf: '0.1'\nattack:\n  id: ROW-{number:03}\n  execution: {{mode: mcp_server, state: {{tools: []}}}}\n  indicators: [{indicator}]\n"
        );
        Arc::new(Compiled::new(load(&text).expect("a document").document).expect("its indicators"))
    });
    Arc::new(Rules::new(documents))
});

/// Scans any bytes as the lines of a trace: what `oatf_scan` and `oatf_findings` do with rows. A line that cannot be read is one error. Findings of
/// a message that is looked at alone are those of its session that need no other message.
pub fn rows(data: &[u8]) {
    let mut session = SessionScanner::new(Arc::clone(&RULES), "file");
    let mut alone = MessageScanner::new(Arc::clone(&RULES));
    for (at, line) in data.split(|byte| *byte == b'\n').enumerate() {
        let (mut of_session, mut of_message) = (Vec::new(), Vec::new());
        session.line_of("file", at as u64, line, &mut of_session);
        alone.line("file", "file", line, &mut of_message);
        let unreadable = |rows: &[Scanned]| {
            rows.iter()
                .filter(|row| matches!(row, Scanned::Error(error) if error.indicator.is_none()))
                .count()
        };
        assert!(unreadable(&of_session) <= 1 && unreadable(&of_message) <= 1);
        assert!(unreadable(&of_message) == 0 || of_message.len() == 1, "an error and findings of one line");
        let findings = |rows: &[Scanned]| -> Vec<FindingRow> {
            let found = rows.iter().filter_map(|row| match row {
                Scanned::Finding(row) if !row.needs_session => Some((**row).clone()),
                _ => None,
            });
            found.collect()
        };
        assert_eq!(findings(&of_session), findings(&of_message), "{}", String::from_utf8_lossy(line));
    }
}
