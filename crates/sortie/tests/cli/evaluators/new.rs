//! `sortie evaluators new`

use super::{alone, evaluators, mine, said, shown};

#[test]
fn what_is_written_is_whole_in_every_layout() {
    for (surface, layout) in
        [("agent", None), ("agent", Some("--directory")), ("mcp", None), ("mcp", Some("--directory"))]
    {
        let folder = mine(&[]);
        let mut new = vec!["new", "order-takeover", "--surface", surface, "--output", "mine"];
        new.extend(layout);
        evaluators(&folder, &new).assert().code(0).stdout_eq("");
        let checked = evaluators(&folder, &["check", "mine", "--deny", "warnings"]).assert().code(0);
        assert!(shown(&checked).ends_with("no findings\n"), "{}", shown(&checked));
        let tested = alone(&folder, &["test", "order-takeover"]).assert().code(0);
        assert!(shown(&tested).contains(" 0 wrong"), "{}", shown(&tested));
        let listed = alone(&folder, &["list", "--surface", surface]).assert().code(0);
        assert!(shown(&listed).contains("Order takeover"), "{}", shown(&listed));
    }
}

#[test]
fn nothing_is_overwritten_and_no_id_is_used_twice() {
    let folder = mine(&[]);
    evaluators(&folder, &["new", "mine-first", "--output", "mine"]).assert().code(0);
    for (arguments, why) in [
        (&["new", "mine-first", "--output", "mine"][..], "is there already"),
        (
            &["new", "mine-first", "--output", "mine", "--surface", "mcp", "--evaluators", "mine"],
            "an evaluator `mine-first` already",
        ),
        (&["new", "goal-hijack", "--output", "mine"], "an evaluator `goal-hijack` already"),
        (&["new", "Not An Id"], "is not an id"),
        (&["new", "../escape"], "is not an id"),
        (&["new", "a-b", "--surface", "browser"], "there is no surface `browser`"),
    ] {
        let run = evaluators(&folder, arguments).assert().code(2);
        assert!(said(&run).contains(why), "{arguments:?}: {}", said(&run));
    }
}
