//! What the calls of a series show together: a delay that follows its dose, time that grows far faster than a text, and an answer that
//! follows a condition.
//!
//! Each says what only a target that runs the payload can show. A slow server is slow without a dose too, and a tool that repeats, encodes
//! or counts what it is given does so with a false condition as with a true one.
//!
//! Whatever else happens on a machine makes answers later, and never earlier. So a quick answer excludes a delay, however busy the machine
//! is; late answers that fit neither a delay nor a slow server decide nothing, and the series is measured again.

use std::time::Duration;

use sortie_oatf::MatchEvidence;
use sortie_trace::{Role, Transcript, Turn};

use crate::model::Measure;
use crate::template::{DOSES, FALSE, LENGTHS, TRUE};

/// How much of a dose must be seen: a clock that is coarse, or an answer that was quick for once, takes some of it away.
const SEEN: f64 = 0.8;

/// How far two answers without a dose may be apart, in milliseconds. A server that varies more shows no delay.
const SPREAD_MS: u64 = 150;

/// A server that is slow whatever it is asked answers before this part of a dose has passed.
const UNSEEN: f64 = 0.5;

/// The longest text must take at least so much longer than the shortest, in milliseconds.
const GROWN_MS: u64 = 300;

/// No engine that tries every way through the longest text is done so soon, in milliseconds.
const QUICK_MS: u64 = 100;

/// Two letters more take at least and at most so many times as long. Where each letter doubles the time, they take four times as long.
const GROWTH: u64 = 2;
const MOST_GROWTH: u64 = 16;

/// Two answers to the same call took equally long if they differ by at most so many milliseconds, or by a quarter.
const SAME_MS: u64 = 20;

/// What stands for the argument in an answer that repeats it.
const REPEATED: &str = "\u{2026}";

/// Times that neither show what a measurement looks for nor exclude it: something else slowed the answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the answers came too irregularly to tell, {}: {times}. Something else slowed the machine or the server: run the case again when both are \
     less busy, or with `--jobs 1`",
    tries(*.series)
)]
pub(super) struct Disturbed {
    /// How many series of calls were measured.
    series: usize,
    /// The times of the last one.
    times: String,
}

fn tries(series: usize) -> String {
    if series == 1 { "in one measurement".to_owned() } else { format!("in {series} measurements") }
}

/// What the times of one series of calls say.
enum Reading {
    /// Only a target that runs the payload takes these times.
    Proof(String),
    /// A target that runs the payload cannot take these times.
    Excluded,
    /// Neither.
    Unclear(String),
}

impl Measure {
    /// What it finds in a transcript, if it holds. `line` is where it is asked for.
    pub(super) fn ask(
        self,
        transcript: &Transcript,
        line: usize,
    ) -> Result<Option<MatchEvidence>, Disturbed> {
        let found = match self {
            Self::Delay => timed(transcript, &DOSES.map(|dose| dose.to_string()), delay)?,
            Self::Growth => timed(transcript, &LENGTHS.map(|length| "a".repeat(length)), growth)?,
            Self::Condition => condition(transcript),
        };
        Ok(found.map(|(at, excerpt)| MatchEvidence {
            line: Some(line),
            ..MatchEvidence::of(format!("answers[{at}]"), &excerpt, None)
        }))
    }
}

fn answers(transcript: &Transcript) -> Vec<&Turn> {
    transcript.turns().iter().filter(|turn| turn.role == Role::Target).collect()
}

/// Reads the times of the series of calls that a transcript holds, one after the other, until one is clear. `payloads` is what stands in
/// the arguments of each call of a series; a transcript of other calls has nothing to read.
fn timed<const N: usize>(
    transcript: &Transcript,
    payloads: &[String; N],
    read: fn([u64; N]) -> Reading,
) -> Result<Option<(usize, String)>, Disturbed> {
    let calls: Vec<String> = transcript
        .turns()
        .iter()
        .filter_map(|turn| turn.call.as_ref())
        .map(|call| serde_json::Value::Object(call.arguments.clone()).to_string())
        .collect();
    let answers = answers(transcript);
    let mut unclear = None;
    for (series, (calls, answers)) in calls.chunks_exact(N).zip(answers.chunks_exact(N)).enumerate() {
        if !calls.iter().zip(payloads).all(|(call, payload)| call.contains(payload)) {
            break;
        }
        let took = answers.iter().map(|turn| turn.elapsed_ms).collect::<Option<Vec<_>>>();
        let reading = match took.and_then(|took| took.try_into().ok()) {
            Some(took) => read(took),
            None => Reading::Unclear("the recording has no times".to_owned()),
        };
        match reading {
            Reading::Proof(shown) => return Ok(Some(((series + 1) * N - 1, shown))),
            Reading::Excluded => return Ok(None),
            Reading::Unclear(times) => unclear = Some(Disturbed { series: series + 1, times }),
        }
    }
    unclear.map_or(Ok(None), Err)
}

/// Whether every dose delays the answer by its length, and a larger one by more.
fn delay(took: [u64; DOSES.len()]) -> Reading {
    let millis =
        |seconds: f64| u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX);
    let pairs = || took.into_iter().zip(DOSES);
    let without = || pairs().filter(|(_, dose)| *dose == 0.0).map(|(took, _)| took);
    let (least, most) = (without().min().unwrap_or_default(), without().max().unwrap_or_default());
    let mut dosed: Vec<(u64, f64)> = pairs().filter(|(_, dose)| *dose > 0.0).collect();
    dosed.sort_by(|one, other| one.1.total_cmp(&other.1));
    let smallest = dosed.first().map_or(0.0, |(_, dose)| *dose);
    // A target that waits is never done before the smallest dose has passed, even if it ends what takes too long.
    if dosed.iter().any(|(took, _)| *took < millis(smallest * SEEN)) {
        return Reading::Excluded;
    }
    let is_steady = most - least <= SPREAD_MS;
    if is_steady && dosed.iter().all(|(took, dose)| *took < least + millis(dose * UNSEEN)) {
        return Reading::Excluded;
    }
    let mut before = (most, 0.0);
    let mut follows = is_steady;
    for (took, dose) in dosed {
        follows &= took >= before.0 + millis((dose - before.1) * SEEN);
        before = (took, dose);
    }
    let shown = pairs().map(|(took, dose)| format!("{took} ms for a dose of {dose} s"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if follows { Reading::Proof(shown) } else { Reading::Unclear(shown) }
}

/// Whether two letters more multiply the time of an answer, each time it is tried.
fn growth(took: [u64; LENGTHS.len()]) -> Reading {
    let [short, first, second, third, again_short, again_second, again_third] = took;
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
    let shown = shown.collect::<Vec<_>>().join(", ");
    if grows {
        return Reading::Proof(shown);
    }
    // Where short texts take equally long, a server that is slow whatever it is asked is not slow because of the text.
    let is_steady = spread <= SPREAD_MS;
    let own = |took: u64| if is_steady { above(took) } else { took };
    let longest = own(third.min(again_third)).min(MOST_GROWTH * own(second.min(again_second)));
    let agree = |one: u64, other: u64| one.abs_diff(other) <= SAME_MS.max(one.min(other) / 4);
    let is_slow_growth =
        is_steady && agree(second, again_second) && agree(third, again_third) && most < GROWTH * middle;
    if longest < QUICK_MS || is_slow_growth { Reading::Excluded } else { Reading::Unclear(shown) }
}

/// Whether true and false conditions have an answer each, twice, and one of both is the answer to the harmless call before them.
fn condition(transcript: &Transcript) -> Option<(usize, String)> {
    let sent = transcript.turns().iter().filter_map(|turn| turn.call.as_ref());
    let said: Vec<String> = sent
        .zip(answers(transcript))
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

    /// What a measurement says about calls with these payloads, which took so long: `None` where it cannot tell.
    fn measured(measure: Measure, calls: &[(String, u64)]) -> Option<bool> {
        let answers: Vec<_> = calls.iter().map(|(sent, took)| (sent.as_str(), "ok", *took)).collect();
        measure.ask(&series(&answers), 1).ok().map(|found| found.is_some())
    }

    fn dosed(times: [u64; 5]) -> Vec<(String, u64)> {
        DOSES.iter().map(|dose| format!("x$(sleep {dose})")).zip(times).collect()
    }

    fn delays(times: [u64; 5]) -> Option<bool> {
        measured(Measure::Delay, &dosed(times))
    }

    #[test]
    fn a_delay_is_one_that_follows_the_dose() {
        assert_eq!(delays([20, 25, 330, 640, 930]), Some(true));
        assert_eq!(delays([20, 25, 640, 1_250, 1_830]), Some(true), "run twice");
        assert_eq!(delays([20, 25, 30, 640, 930]), Some(false), "the first dose does nothing");
        assert_eq!(delays([900, 905, 910, 920, 915]), Some(false), "slow whatever is asked");
        assert_eq!(delays([900, 20, 800, 1_900, 25]), Some(false), "one quick answer is enough");
    }

    #[test]
    fn a_delay_among_pauses_of_the_machine_is_neither_there_nor_excluded() {
        assert_eq!(delays([20, 400, 830, 1_140, 1_430]), None, "slow without a dose too");
        assert_eq!(delays([20, 25, 930, 640, 330]), None, "not in the order of the doses");
        assert_eq!(delays([20, 25, 330, 510, 505]), None, "a shell that is ended after half a second");
        assert_eq!(delays([500, 900, 800, 1_700, 1_200]), None, "slow, and now and then slower");
    }

    #[test]
    fn a_series_that_was_disturbed_is_decided_by_the_next() {
        let disturbed = dosed([20, 400, 830, 1_140, 1_430]);
        let then = |times| [disturbed.clone(), disturbed.clone(), dosed(times)].concat();
        assert_eq!(measured(Measure::Delay, &then([20, 25, 30, 30, 30])), Some(false));
        assert_eq!(measured(Measure::Delay, &then([20, 25, 330, 640, 930])), Some(true));
        let calls = then([20, 400, 830, 1_140, 1_430]);
        let answers: Vec<_> = calls.iter().map(|(sent, took)| (sent.as_str(), "ok", *took)).collect();
        let disturbed = Measure::Delay.ask(&series(&answers), 1).unwrap_err();
        let words = disturbed.to_string();
        assert!(words.contains("in 3 measurements: 20 ms for a dose of 0 s, 400 ms"), "{words}");
    }

    #[test]
    fn only_calls_with_doses_are_measured() {
        let other: Vec<_> =
            [20, 400, 830, 1_140, 1_430].map(|took| ("x' OR 7919=7919".to_owned(), took)).into();
        assert_eq!(measured(Measure::Delay, &other), Some(false));
        assert_eq!(measured(Measure::Delay, &dosed([20, 400, 830, 1_140, 1_430])[..4]), Some(false));
    }

    fn grows(times: [u64; 7]) -> Option<bool> {
        let calls: Vec<_> = LENGTHS.iter().map(|length| "a".repeat(*length) + "!").zip(times).collect();
        measured(Measure::Growth, &calls)
    }

    #[test]
    fn time_grows_when_each_letter_doubles_it_every_time() {
        assert_eq!(grows([3, 40, 130, 510, 4, 125, 500]), Some(true));
        assert_eq!(grows([3, 4, 4, 510, 4, 4, 5]), Some(false), "slow for once");
        assert_eq!(grows([3, 4, 4, 510, 4, 4, 500]), Some(false), "slow for one text and no other");
        assert_eq!(
            grows([3, 350, 390, 420, 4, 385, 425]),
            Some(false),
            "longer with the text, and no faster"
        );
        assert_eq!(grows([700, 705, 710, 700, 702, 715, 700]), Some(false), "slow whatever is asked");
        assert_eq!(grows([3, 40, 130, 200, 4, 125, 200]), Some(false), "a match that is ended in time");
        assert_eq!(grows([900, 4, 800, 5, 3, 700, 900]), Some(false), "one quick answer is enough");
    }

    #[test]
    fn growth_among_pauses_of_the_machine_is_neither_there_nor_excluded() {
        assert_eq!(grows([3, 40, 130, 510, 900, 125, 500]), None, "slow with a short text too");
        assert_eq!(grows([3, 40, 600, 510, 4, 125, 700]), None, "slow in the middle for once");
        assert_eq!(grows([3, 20, 60, 200, 4, 55, 210]), None, "too short to tell");
    }

    fn decided(answers: [(&str, &str); 5]) -> bool {
        let answers: Vec<_> = answers.iter().map(|(sent, answer)| (*sent, *answer, 1)).collect();
        Measure::Condition.ask(&series(&answers), 1).unwrap().is_some()
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
