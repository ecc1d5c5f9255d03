//! What tokens cost, in whole numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many of the smallest units make one unit of the currency.
const PICO: f64 = 1e12;

/// Money, in whatever currency the prices are in. A whole number of its millionth of a millionth, so that sums are
/// exact and the same in every order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(u64);

impl Cost {
    /// An amount in units of the currency: `0.25`. Neither negative nor endless.
    pub fn new(units: f64) -> Option<Self> {
        let pico = units * PICO;
        // Up to nine million units: more than a run may cost.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the bounds above"
        )]
        (0.0..=9e18).contains(&pico).then(|| Self(pico.round() as u64))
    }

    /// The amount in units of the currency, for display.
    #[expect(clippy::cast_precision_loss, reason = "an amount that is displayed is rounded anyway")]
    pub fn units(self) -> f64 {
        self.0 as f64 / PICO
    }
}

/// With six decimals, rounded up: a cost that is not nothing does not look like nothing.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.0.div_ceil(1_000_000);
        write!(f, "{}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// What a million tokens cost, as price lists have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// A million tokens of what is asked.
    pub input_per_million: f64,
    /// A million tokens of what is answered.
    pub output_per_million: f64,
}

impl Prices {
    /// What tokens cost; `None` when a price is negative or no number.
    pub fn cost(&self, input: u64, output: u64) -> Option<Cost> {
        let of = |per_million: f64, tokens| Some(Cost::new(per_million / 1e6)?.0.saturating_mul(tokens));
        let input = of(self.input_per_million, input)?;
        Some(Cost(input.saturating_add(of(self.output_per_million, output)?)))
    }
}

/// What was spent, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Requests.
    pub calls: u64,
    /// Tokens of what was asked.
    pub input_tokens: u64,
    /// Tokens of what was answered.
    pub output_tokens: u64,
    /// What they cost, where prices are known.
    pub cost: Cost,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// Without another, never less than nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: of(self.calls, other.calls),
            input_tokens: of(self.input_tokens, other.input_tokens),
            output_tokens: of(self.output_tokens, other.output_tokens),
            cost: Cost(of(self.cost.0, other.cost.0)),
        }
    }

    /// Tokens, asked and answered.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} tokens, cost {}", self.calls, self.tokens(), self.cost)
    }
}
