//! `sortie normalize`

use snapbox::str;

use crate::{golden, sortie, stdout};

#[test]
fn a_document_is_printed_with_everything_explicit() {
    sortie()
        .args(["normalize", "valid.yaml"])
        .assert()
        .code(0)
        .stdout_eq(golden("normalized.yaml"))
        .stderr_eq("");
    let once = stdout(sortie().args(["normalize", "valid.yaml"]));
    let twice = stdout(sortie().args(["normalize", "-"]).stdin(once.clone()));
    assert_eq!(once, twice);
}

#[test]
fn what_is_not_valid_has_no_normal_form() {
    sortie().args(["normalize", "-"]).stdin("oatf: '0.1'\n").assert().code(2).stdout_eq("").stderr_eq(str![
        [r#"
error[V-003]: a document needs `attack`
...
error: `<stdin>` is not valid, so it has no normal form

"#]
    ]);
    sortie()
        .args(["normalize", "nowhere"])
        .assert()
        .code(2)
        .stderr_eq("error: there is no file or folder `nowhere`\n");
}
