//! Random numbers that are the same on every machine and with every version: `SplitMix64` (Steele, Lea and Flood, 2014).
//!
//! The crates for random numbers do not promise the same sequence in their next version, and a failing simulation must fail again.

/// A generator with a seed.
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        let [high, low] = [self.bits() >> 32, self.bits() >> 32].map(|half| u32::try_from(half).unwrap());
        (f64::from(high) + f64::from(low) / 4_294_967_296.0) / 4_294_967_296.0
    }

    /// Whether something happens that has a probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[test]
fn the_sequence_is_that_of_the_reference_implementation() {
    // The published values for the seed 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64").
    let mut generator = Generator::new(1_234_567);
    assert_eq!(generator.bits(), 6_457_827_717_110_365_317);
    assert_eq!(generator.bits(), 3_203_168_211_198_807_973);
}
