//! Documents that change in the middle come out the same every time.

use crate::documents::library;
use crate::play::{none, play};

/// How often each is played: `SORTIE_RUNS`, else three times. `docs/practice.md` says what a hundred times gave.
fn runs() -> usize {
    match std::env::var("SORTIE_RUNS") {
        Ok(runs) => runs.parse().unwrap_or_else(|_| panic!("SORTIE_RUNS is not a number: {runs}")),
        Err(_) => 3,
    }
}

#[test]
fn rug_pulls_sleepers_timers_and_chains_come_out_the_same_every_time() {
    let staged: Vec<_> = library().into_iter().filter(crate::documents::Document::is_staged).collect();
    assert!(staged.len() >= 10, "{} documents have several phases or actors", staged.len());
    let mut complaints = Vec::new();
    for round in 0..runs() {
        for agent in ["gullible", "refuser"] {
            let all = play(agent, &staged, "repeated");
            for (document, played) in staged.iter().zip(&all) {
                let worst = document.worst_tier().map(|tier| tier.as_str().to_owned());
                let expected = if agent == "gullible" {
                    ("exploited", worst.as_deref())
                } else {
                    ("not_exploited", None)
                };
                if (played.verdict(), played.tier()) != expected {
                    complaints
                        .push(played.explained(&format!("round {round} should have given {expected:?}")));
                }
            }
            // The next round would write over what there is to look at.
            none(&complaints);
        }
    }
}
