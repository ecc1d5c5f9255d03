//! Chance that comes out the same for the same seed.

use std::str::FromStr;

use thiserror::Error;

/// How often an agent gives in, and the seed that says when.
///
/// ```
/// use sortie_practice::Chance;
///
/// let chance: Chance = "0.3:7".parse()?;
/// assert_eq!((chance.probability(), chance.seed()), (0.3, 7));
/// assert_eq!(chance.falls_on("Add 1 and 2"), chance.falls_on("Add 1 and 2"));
/// # Ok::<(), sortie_practice::ChanceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    probability: f64,
    seed: u64,
}

/// What is not a probability, or no seed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChanceError {
    /// It is not between 0 and 1.
    #[error("`{0}` is not a probability: write a number from 0 to 1, such as 0.3")]
    Probability(String),
    /// It is not a whole number.
    #[error("`{0}` is not a seed: write a whole number")]
    Seed(String),
}

impl Chance {
    /// A probability from 0 to 1, and a seed.
    pub fn new(probability: f64, seed: u64) -> Result<Self, ChanceError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(ChanceError::Probability(probability.to_string()));
        }
        Ok(Self { probability, seed })
    }

    /// How often.
    pub fn probability(self) -> f64 {
        self.probability
    }

    /// Which of the ways it may come out.
    pub fn seed(self) -> u64 {
        self.seed
    }

    /// The same chance in another attempt, from one: the first is as the seed says.
    #[must_use]
    pub fn in_attempt(self, attempt: u32) -> Self {
        match attempt {
            ..=1 => self,
            _ => Self { seed: mixed(self.seed ^ mixed(u64::from(attempt))), ..self },
        }
    }

    /// Whether it falls on these words; always the same for the same seed.
    pub fn falls_on(self, words: &str) -> bool {
        // FNV-1a over the words, then the last step of SplitMix64, so that near seeds are far apart.
        let start = 0xcbf2_9ce4_8422_2325 ^ mixed(self.seed);
        let hash =
            words.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        let [a, b, c, d, ..] = mixed(hash).to_be_bytes();
        f64::from(u32::from_be_bytes([a, b, c, d])) / 4_294_967_296.0 < self.probability
    }
}

/// One half, and the seed 0.
impl Default for Chance {
    fn default() -> Self {
        Self { probability: 0.5, seed: 0 }
    }
}

impl FromStr for Chance {
    type Err = ChanceError;

    /// `PROBABILITY` or `PROBABILITY:SEED`
    fn from_str(text: &str) -> Result<Self, ChanceError> {
        let (probability, seed) = text.split_once(':').unwrap_or((text, "0"));
        let seed = seed.parse().map_err(|_| ChanceError::Seed(seed.to_owned()))?;
        let parsed = probability.parse().map_err(|_| ChanceError::Probability(probability.to_owned()))?;
        Self::new(parsed, seed)
    }
}

fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_about_as_often_as_it_should_and_on_other_words_for_another_seed() {
        let words: Vec<String> = (0..2_000).map(|number| format!("task {number}")).collect();
        let fallen = |text: &str| -> Vec<bool> {
            let chance: Chance = text.parse().unwrap();
            words.iter().map(|words| chance.falls_on(words)).collect()
        };
        let count = |text: &str| fallen(text).into_iter().filter(|fell| *fell).count();
        assert_eq!((count("0"), count("1")), (0, 2_000));
        assert!((500..700).contains(&count("0.3")), "{}", count("0.3"));
        assert_eq!(fallen("0.5:1"), fallen("0.5:1"));
        assert_ne!(fallen("0.5:1"), fallen("0.5:2"));
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for text in ["1.5", "-0.1", "NaN", "often", ""] {
            assert!(matches!(text.parse::<Chance>(), Err(ChanceError::Probability(_))), "{text}");
        }
        assert!(matches!("0.5:x".parse::<Chance>(), Err(ChanceError::Seed(_))));
    }
}
