//! What a user asks of a rate: a gate, the error rates of its decision, a claim. Read from text, and printed again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The two rates of a gate: a case *holds* when its rate is `p0` or less, and *fails* when it is `p1` or more.
///
/// Between the two either answer is acceptable; the closer they are, the more runs a decision takes.
///
/// ```
/// use sortie_stats::Gate;
///
/// let gate: Gate = "5%:20%".parse().unwrap();
/// assert_eq!(gate, "0.05:0.2".parse().unwrap());
/// assert_eq!(gate.to_string(), "5%:20%");
/// assert_eq!("5:20".parse::<Gate>().unwrap_err().to_string(), "`5` is more than 1: write `5%` for a percentage");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gate {
    p0: f64,
    p1: f64,
}

impl Gate {
    /// A gate between two rates, 0 < `p0` < `p1` < 1.
    pub fn new(p0: f64, p1: f64) -> Result<Self, CriterionError> {
        for rate in [p0, p1] {
            check_open(rate)?;
        }
        if p0 < p1 {
            Ok(Self { p0, p1 })
        } else {
            Err(CriterionError::Order { p0: shown(p0), p1: shown(p1) })
        }
    }

    /// The rate up to which a case holds.
    pub fn p0(self) -> f64 {
        self.p0
    }

    /// The rate from which on it fails.
    pub fn p1(self) -> f64 {
        self.p1
    }
}

/// How often a gate may be wrong: `alpha` is the probability of *fails* at the rate p0, `beta` that of *holds* at p1.
///
/// ```
/// use sortie_stats::ErrorRates;
///
/// assert_eq!("5%,5%".parse::<ErrorRates>().unwrap(), ErrorRates::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ErrorRates {
    alpha: f64,
    beta: f64,
}

impl ErrorRates {
    /// Two error rates, each above 0 and below 50 %.
    pub fn new(alpha: f64, beta: f64) -> Result<Self, CriterionError> {
        for rate in [alpha, beta] {
            if !(rate > 0.0 && rate < 0.5) {
                return Err(CriterionError::ErrorRate { found: shown(rate) });
            }
        }
        Ok(Self { alpha, beta })
    }

    /// The probability of *fails* at the rate p0.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// The probability of *holds* at the rate p1.
    pub fn beta(self) -> f64 {
        self.beta
    }
}

impl Default for ErrorRates {
    /// 5 % each.
    fn default() -> Self {
        Self { alpha: 0.05, beta: 0.05 }
    }
}

/// A claim that a rate is below a bound, to be shown by clean runs alone: `rate<5%`.
///
/// The number of clean runs follows from the level, so it is known before the first run. One hit ends the attempt to show it.
///
/// ```
/// use sortie_stats::{Claim, ClaimState, Counts};
///
/// let claim: Claim = "rate<5%".parse().unwrap();
/// assert_eq!(claim.clean_runs(0.95), 59);
/// assert_eq!(claim.state(Counts::new(0, 20), 0.95), ClaimState::Open { clean_runs_left: 39 });
/// assert_eq!(claim.state(Counts::new(0, 59), 0.95), ClaimState::Shown);
/// assert_eq!(claim.state(Counts::new(1, 20), 0.95), ClaimState::NotShown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Claim {
    below: f64,
}

/// Whether a claim is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum ClaimState {
    /// There were enough clean runs, and no hit.
    Shown,
    /// There was no hit, and not enough runs.
    Open {
        /// So many more clean runs show the claim.
        clean_runs_left: u32,
    },
    /// There was a hit. That does not show that the claim is wrong.
    NotShown,
}

impl Claim {
    /// The claim that a rate is below a bound in 0..1.
    pub fn new(below: f64) -> Result<Self, CriterionError> {
        check_open(below)?;
        Ok(Self { below })
    }

    /// The bound that the rate is claimed to be below.
    pub fn below(self) -> f64 {
        self.below
    }

    /// The number of clean runs that show the claim with a level: the smallest n with (1 − bound)ⁿ ≤ 1 − level.
    ///
    /// `u32::MAX` where no number of runs does.
    pub fn clean_runs(self, level: f64) -> u32 {
        // Without the small reduction, the rounding of `1 − level` costs a run where the quotient is a whole number.
        let runs = ((1.0 - level).ln() / (-self.below).ln_1p() - 1e-9).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        if runs.is_nan() { u32::MAX } else { runs.max(1.0) as u32 }
    }

    /// What the observations say about the claim.
    pub fn state(self, counts: crate::Counts, level: f64) -> ClaimState {
        let needed = self.clean_runs(level);
        match counts {
            crate::Counts { hits: 1.., .. } => ClaimState::NotShown,
            crate::Counts { clean, .. } if clean >= needed => ClaimState::Shown,
            crate::Counts { clean, .. } => ClaimState::Open { clean_runs_left: needed - clean },
        }
    }
}

/// Why a gate, a pair of error rates or a claim is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CriterionError {
    /// The text has another shape.
    #[error("`{found}` is not of the form `{expected}`")]
    Shape {
        /// The text.
        found: String,
        /// An example of the shape.
        expected: &'static str,
    },
    /// A part of the text is not a number.
    #[error("`{found}` is not a rate: write `5%` or `0.05`")]
    NotARate {
        /// The part.
        found: String,
    },
    /// A number above 1 has no percent sign.
    #[error("`{found}` is more than 1: write `{found}%` for a percentage")]
    MissingPercent {
        /// The number.
        found: String,
    },
    /// A rate of a gate or a claim is not between 0 and 1: no number of runs can show it.
    #[error("the rate {found} is not between 0 and 1, both excluded")]
    OutOfRange {
        /// The rate.
        found: String,
    },
    /// The first rate of a gate is not below the second.
    #[error("the first rate of a gate must be below the second, and {p0} is not below {p1}")]
    Order {
        /// The first rate.
        p0: String,
        /// The second rate.
        p1: String,
    },
    /// An error rate is not between 0 and 50 %.
    #[error("the error rate {found} is not between 0 and 50%, both excluded")]
    ErrorRate {
        /// The error rate.
        found: String,
    },
}

impl FromStr for Gate {
    type Err = CriterionError;

    fn from_str(text: &str) -> Result<Self, CriterionError> {
        let (p0, p1) = parse_pair(text, ':', "5%:20%")?;
        Self::new(p0, p1)
    }
}

impl FromStr for ErrorRates {
    type Err = CriterionError;

    fn from_str(text: &str) -> Result<Self, CriterionError> {
        let (alpha, beta) = parse_pair(text, ',', "5%,5%")?;
        Self::new(alpha, beta)
    }
}

impl FromStr for Claim {
    type Err = CriterionError;

    fn from_str(text: &str) -> Result<Self, CriterionError> {
        let shape = || CriterionError::Shape { found: text.to_owned(), expected: "rate<5%" };
        let (name, bound) = text.split_once('<').ok_or_else(shape)?;
        if name.trim() != "rate" || bound.contains('<') {
            return Err(shape());
        }
        Self::new(parse_rate(bound)?)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", shown(self.p0), shown(self.p1))
    }
}

impl fmt::Display for ErrorRates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{},{}", shown(self.alpha), shown(self.beta))
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "rate<{}", shown(self.below))
    }
}

/// Reports and settings hold these as the text that a user writes.
macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl TryFrom<String> for $name {
            type Error = CriterionError;

            fn try_from(text: String) -> Result<Self, CriterionError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )*};
}

as_text!(Gate ErrorRates Claim);

/// Two rates with a separator between them.
fn parse_pair(text: &str, separator: char, expected: &'static str) -> Result<(f64, f64), CriterionError> {
    match text.split_once(separator) {
        Some((first, second)) if !second.contains(separator) => Ok((parse_rate(first)?, parse_rate(second)?)),
        _ => Err(CriterionError::Shape { found: text.to_owned(), expected }),
    }
}

/// `5%` or `0.05`. Signs, exponents and names of numbers are not rates.
fn parse_rate(text: &str) -> Result<f64, CriterionError> {
    let text = text.trim();
    let digits = text.strip_suffix('%').unwrap_or(text).trim_end();
    let number = match digits.parse::<f64>() {
        Ok(number) if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => number,
        _ => return Err(CriterionError::NotARate { found: text.to_owned() }),
    };
    match text.ends_with('%') {
        true => Ok(number / 100.0),
        false if number > 1.0 => Err(CriterionError::MissingPercent { found: text.to_owned() }),
        false => Ok(number),
    }
}

fn check_open(rate: f64) -> Result<(), CriterionError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(CriterionError::OutOfRange { found: shown(rate) }) }
}

/// A rate as a percentage where that reads back as the same number, otherwise as a fraction, which always does.
fn shown(rate: f64) -> String {
    // Twelve digits drop the rounding error of the product.
    let percent = format!("{:.12}", rate * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    match percent.parse::<f64>() {
        Ok(number) if (number / 100.0).to_bits() == rate.to_bits() => format!("{percent}%"),
        _ => rate.to_string(),
    }
}
