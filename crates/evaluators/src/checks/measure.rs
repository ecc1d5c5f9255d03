//! What the calls of a series show together: a delay that follows its dose, time that grows far faster than a text, and an answer that
//! follows a condition.
//!
//! Each says what only a target that runs the payload can show. A slow server is slow without a dose too, and a tool that repeats, encodes
//! or counts what it is given does so with a false condition as with a true one.

use std::time::Duration;

use sortie_oatf::MatchEvidence;
use sortie_trace::{Role, Transcript, Turn};

use crate::model::Measure;
use crate::template::{DOSES, FALSE, LENGTHS, TRUE};

/// How much of a dose must be seen: a clock that is coarse, or an answer that was quick for once, takes some of it away.
const SEEN: f64 = 0.8;

/// How far two answers without a dose may be apart, in milliseconds. A server that varies more shows no delay.
const SPREAD_MS: u64 = 150;

/// The longest text must take at least so much longer than the shortest, in milliseconds.
const GROWN_MS: u64 = 300;

/// Two letters more take at least and at most so many times as long. Where each letter doubles the time, they take four times as long.
const GROWTH: u64 = 2;
const MOST_GROWTH: u64 = 16;

/// What stands for the argument in an answer that repeats it.
const REPEATED: &str = "\u{2026}";

impl Measure {
    /// What it finds in a transcript, if it holds. `line` is where it is asked for.
    pub(super) fn ask(self, transcript: &Transcript, line: usize) -> Option<MatchEvidence> {
        let answers: Vec<&Turn> =
            transcript.turns().iter().filter(|turn| turn.role == Role::Target).collect();
        let (at, excerpt) = match self {
            Self::Delay => delay(&answers)?,
            Self::Growth => growth(&answers)?,
            Self::Condition => condition(transcript, &answers)?,
        };
        Some(MatchEvidence {
            line: Some(line),
            ..MatchEvidence::of(format!("answers[{at}]"), &excerpt, None)
        })
    }
}

/// Whether every dose delays the answer by its length, and a larger one by more.
fn delay(answers: &[&Turn]) -> Option<(usize, String)> {
    let took: Vec<u64> = answers.iter().map(|turn| turn.elapsed_ms).collect::<Option<_>>()?;
    if took.len() != DOSES.len() {
        return None;
    }
    let without = || took.iter().zip(DOSES).filter(|(_, dose)| *dose == 0.0).map(|(took, _)| *took);
    let (least, most) = (without().min()?, without().max()?);
    if most - least > SPREAD_MS {
        return None;
    }
    let mut dosed: Vec<(u64, f64)> =
        took.iter().copied().zip(DOSES).filter(|(_, dose)| *dose > 0.0).collect();
    dosed.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut before = (most, 0.0);
    for (took, dose) in dosed {
        let step = Duration::from_secs_f64((dose - before.1) * SEEN).as_millis();
        if u128::from(took) < u128::from(before.0) + step {
            return None;
        }
        before = (took, dose);
    }
    let shown = took.iter().zip(DOSES).map(|(took, dose)| format!("{took} ms for a dose of {dose} s"));
    Some((DOSES.len() - 1, shown.collect::<Vec<_>>().join(", ")))
}

/// Whether two letters more multiply the time of an answer, each time it is tried.
fn growth(answers: &[&Turn]) -> Option<(usize, String)> {
    let took: Vec<u64> = answers.iter().map(|turn| turn.elapsed_ms).collect::<Option<_>>()?;
    let [short, first, second, third, again_short, again_second, again_third] = took[..] else { return None };
    let base = short.min(again_short);
    let spread = short.max(again_short) - base;
    let above = |took: u64| took.saturating_sub(base);
    let (least, most) = (above(third.min(again_third)), above(third.max(again_third)));
    let (middle, slow_middle) = (above(second.min(again_second)), above(second.max(again_second)));
    let grows = least >= GROWN_MS.max(2 * spread)
        && least >= GROWTH * slow_middle
        // A pause of the machine is long for one text, and leaves the others alone.
        && middle * MOST_GROWTH >= most
        && above(first) <= slow_middle;
    let shown = took.iter().zip(LENGTHS).map(|(took, length)| format!("{took} ms for {length} letters"));
    grows.then(|| (LENGTHS.len() - 1, shown.collect::<Vec<_>>().join(", ")))
}

/// Whether true and false conditions have an answer each, twice, and one of both is the answer to the harmless call before them.
fn condition(transcript: &Transcript, answers: &[&Turn]) -> Option<(usize, String)> {
    let sent = transcript.turns().iter().filter_map(|turn| turn.call.as_ref());
    let said: Vec<String> = sent
        .zip(answers)
        .map(|(call, answer)| {
            let values = call.arguments.values().filter_map(|value| value.as_str());
            masked(&answer.text, values)
        })
        .collect();
    let [harmless, first_true, first_false, again_true, again_false] = &said[..] else { return None };
    let decides = first_true == again_true && first_false == again_false && first_true != first_false;
    let is_known = (harmless == first_true) != (harmless == first_false);
    let shown = || format!("true: {}; false: {}", short(first_true), short(first_false));
    (decides && is_known).then(|| (1, shown()))
}

/// An answer without what was sent: an echo of a condition is not a result of it.
fn masked<'v>(answer: &str, values: impl Iterator<Item = &'v str>) -> String {
    let mut masked = answer.to_owned();
    for value in values.filter(|value| value.len() > 2) {
        let quoted = serde_json::Value::from(value).to_string();
        masked = masked.replace(&quoted[1..quoted.len() - 1], REPEATED).replace(value, REPEATED);
    }
    masked.replace(TRUE, REPEATED).replace(FALSE, REPEATED)
}

fn short(text: &str) -> String {
    crate::cases::excerpt(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn series(answers: &[(&str, &str, u64)]) -> Transcript {
        let turns = answers.iter().flat_map(|(sent, answer, took)| {
            let arguments = Map::from_iter([("name".to_owned(), json!(sent))]);
            [Turn::calling("find", arguments), Turn { elapsed_ms: Some(*took), ..Turn::target(*answer) }]
        });
        Transcript::new(turns.collect()).unwrap()
    }

    fn took(times: [u64; 5]) -> bool {
        let answers: Vec<_> = times.iter().map(|took| ("x", "ok", *took)).collect();
        Measure::Delay.ask(&series(&answers), 1).is_some()
    }

    #[test]
    fn a_delay_is_one_that_follows_the_dose() {
        assert!(took([20, 25, 330, 640, 930]));
        assert!(took([20, 25, 640, 1_250, 1_830]), "run twice");
        assert!(!took([20, 25, 30, 640, 930]), "the first dose does nothing");
        assert!(!took([20, 25, 930, 640, 330]), "not in the order of the doses");
        assert!(!took([20, 400, 830, 1_140, 1_430]), "slow without a dose too");
        assert!(!took([900, 905, 910, 920, 915]), "slow whatever is asked");
    }

    #[test]
    fn time_grows_when_each_letter_doubles_it_every_time() {
        let grows = |times: [u64; 7]| {
            let answers: Vec<_> = times.iter().map(|took| ("x", "no match", *took)).collect();
            Measure::Growth.ask(&series(&answers), 1).is_some()
        };
        assert!(grows([3, 40, 130, 510, 4, 125, 500]));
        assert!(!grows([3, 4, 4, 510, 4, 4, 5]), "slow for once");
        assert!(!grows([3, 4, 4, 510, 4, 4, 500]), "slow for one text and no other");
        assert!(!grows([3, 350, 390, 420, 4, 385, 425]), "longer with the text, and no faster");
        assert!(!grows([3, 20, 60, 200, 4, 55, 210]), "too short to tell");
        assert!(!grows([3, 40, 130, 510, 900, 125, 500]), "slow with a short text too");
    }

    fn decided(answers: [(&str, &str); 5]) -> bool {
        let answers: Vec<_> = answers.iter().map(|(sent, answer)| (*sent, *answer, 1)).collect();
        Measure::Condition.ask(&series(&answers), 1).is_some()
    }

    #[test]
    fn a_condition_decides_the_answer_twice_and_one_is_known() {
        let sent = ["nobody", "nobody' OR 7919=7919-- ", "nobody' OR 7919=7907-- "];
        let of = |plain: &'static str, yes: &'static str, no: &'static str| {
            [(sent[0], plain), (sent[1], yes), (sent[2], no), (sent[1], yes), (sent[2], no)]
        };
        assert!(decided(of("none", "Ann, Bo", "none")));
        assert!(!decided(of("none", "none", "none")));
        assert!(!decided(of("9f", "3a", "77")), "a hash of what was sent");
        assert!(
            !decided(of("no nobody", "no nobody' OR 7919=7919-- ", "no nobody' OR 7919=7907-- ")),
            "an echo"
        );
        let mut shifting = of("none", "Ann, Bo", "none");
        shifting[3].1 = "Ann";
        assert!(!decided(shifting), "another answer the second time");
    }
}
