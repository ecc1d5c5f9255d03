//! Every code there is: those of the format, of lints, and of evaluators.

use sortie_syntax::{Rule, nearest};

/// All of them, families together, in the order of their codes.
pub fn rules() -> impl Iterator<Item = Rule> {
    sortie_oatf::rules().chain(sortie_lint::rules()).chain(sortie_evaluators::rules::rules())
}

/// The one with this code, in any case (`v-013`).
pub fn rule(code: &str) -> Option<Rule> {
    // The format has one rule that two codes name.
    sortie_oatf::rule(code).or_else(|| rules().find(|rule| rule.code.eq_ignore_ascii_case(code)))
}

/// The one that was probably meant (`V31`, `e2`).
pub fn nearest_rule(code: &str) -> Option<Rule> {
    // A number without its zeros is the likeliest slip, and further from the code than other codes are.
    let letters = code.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let padded = format!("{}-{:0>3}", letters.trim_end_matches(['-', '_', ' ']), &code[letters.len()..]);
    rule(&padded).or_else(|| rule(nearest(code, rules().map(|rule| rule.code))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_all_families_are_known_and_guessed() {
        assert_eq!(rule("e-002").unwrap().code, "E-002");
        assert_eq!(rule("v-002").unwrap().code, "W-001");
        assert_eq!(nearest_rule("E2").unwrap().code, "E-002");
        assert_eq!(nearest_rule("l1").unwrap().code, "L-001");
        assert_eq!(nearest_rule("v13").unwrap().code, "V-013");
        assert!(nearest_rule("unsafe").is_none());
    }
}
