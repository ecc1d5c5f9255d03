//! The regularised incomplete beta function and its inverse: what every exact interval of a proportion needs.
//!
//! The function is a continued fraction times the density (Press et al., *Numerical Recipes*, §6.4). The density is computed
//! with Loader's saddle-point expansion (*Fast and Accurate Computation of Binomial Probabilities*, 2000), so that nothing
//! cancels for large parameters. The inverse is Newton's method on the logarithm of a tail. The limits of Clopper and Pearson for
//! one to a million runs have a relative error of up to 1.4e-11; `docs/decisions/0018` has the comparison with `statrs`.

use std::f64::consts::PI;

/// Both tails of a beta distribution at a point. The smaller one keeps its relative accuracy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BetaTails {
    /// The probability below the point: the regularised incomplete beta function.
    pub(crate) lower: f64,
    /// The probability above it.
    pub(crate) upper: f64,
}

/// The tails of Beta(a, b) at `x`. Both parameters are positive.
pub(crate) fn beta_tails(a: f64, b: f64, x: f64) -> BetaTails {
    if x <= 0.0 {
        return BetaTails { lower: 0.0, upper: 1.0 };
    }
    if x >= 1.0 {
        return BetaTails { lower: 1.0, upper: 0.0 };
    }
    let density = scaled_density(a, b, x);
    if x < (a + 1.0) / (a + b + 2.0) {
        let lower = (density * continued_fraction(a, b, x) / a).min(1.0);
        BetaTails { lower, upper: 1.0 - lower }
    } else {
        let upper = (density * continued_fraction(b, a, 1.0 - x) / b).min(1.0);
        BetaTails { lower: 1.0 - upper, upper }
    }
}

/// The point of Beta(a, b) with the probability `lower` below it.
pub(crate) fn beta_quantile(a: f64, b: f64, lower: f64) -> f64 {
    solve(a, b, |tails| -(tails.lower / lower).ln(), |tails| tails.lower)
}

/// The point of Beta(a, b) with the probability `upper` above it.
pub(crate) fn beta_quantile_above(a: f64, b: f64, upper: f64) -> f64 {
    solve(a, b, |tails| (tails.upper / upper).ln(), |tails| tails.upper)
}

/// The point at which a tail has a certain logarithm: Newton's method, with a bisection wherever it leaves the bracket.
///
/// `ahead` falls with the point, and is 0 at the one that is looked for.
fn solve(a: f64, b: f64, ahead: impl Fn(BetaTails) -> f64, tail: impl Fn(BetaTails) -> f64) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    let mut x = a / (a + b);
    // Newton's method takes about six steps. The bisection alone ends after 1,100: then the bracket has no inside.
    for _ in 0..1_200 {
        let tails = beta_tails(a, b, x);
        let ahead = ahead(tails);
        if ahead > 0.0 {
            below = x;
        } else {
            above = x;
        }
        let slope = scaled_density(a, b, x) / (x * (1.0 - x)) / tail(tails);
        let newton = x + ahead / slope;
        let inside = newton > below && newton < above;
        let next = if inside { newton } else { f64::midpoint(below, above) };
        if (next - x).abs() <= 4.0 * f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

/// The place between two others up to which a condition holds.
pub(crate) fn crossing(mut below: f64, mut above: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = f64::midpoint(below, above);
        if middle <= below || middle >= above || above - below <= 1e-16 * above {
            return middle;
        }
        if holds(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
}

/// The logarithm of B(a, b).
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Each quotient that is near 1 is near it because the other parameter is small.
    let logs = a * (-b / sum).ln_1p() + b * (-a / sum).ln_1p();
    logs + 0.5 * (2.0 * PI * sum / (a * b)).ln() + stirling_error(a) + stirling_error(b) - stirling_error(sum)
}

/// x^a (1−x)^b / B(a, b).
fn scaled_density(a: f64, b: f64, x: f64) -> f64 {
    let sum = a + b;
    let exponent = -deviance(a, x * sum) - deviance(b, (1.0 - x) * sum) + stirling_error(sum)
        - stirling_error(a)
        - stirling_error(b);
    exponent.exp() * (a * b / (2.0 * PI * sum)).sqrt()
}

/// x ln(x/m) + m − x, also where the two are close and the terms cancel.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for odd in (3_u32..).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next.to_bits() == sum.to_bits() {
            break;
        }
        sum = next;
    }
    sum
}

/// What Stirling's formula leaves out: ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π).
fn stirling_error(mut x: f64) -> f64 {
    let mut error = 0.0;
    while x < 10.0 {
        error += (x + 0.5) * (1.0 / x).ln_1p() - 1.0;
        x += 1.0;
    }
    let square = x * x;
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    error + series.iter().rev().fold(0.0, |sum, term| sum / square + term) / x
}

/// The continued fraction of the incomplete beta function, by Lentz's method. It takes about √max(a, b) steps.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const STEPS: u32 = 1_000_000;
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    // Quotients of neighbouring numerators, and of neighbouring denominators the other way round.
    let mut numerators = 1.0;
    let mut denominators = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominators;
    for step in (1..=STEPS).map(f64::from) {
        let twice = a + 2.0 * step;
        let even = step * (b - step) * x / ((twice - 1.0) * twice);
        let odd = -(a + step) * (a + b + step) * x / (twice * (twice + 1.0));
        let mut factor = 1.0;
        for coefficient in [even, odd] {
            denominators = 1.0 / nonzero(1.0 + coefficient * denominators);
            numerators = nonzero(1.0 + coefficient / numerators);
            factor = numerators * denominators;
            fraction *= factor;
        }
        if (factor - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stirlings_error_completes_the_formula_to_known_values_of_gamma() {
        for (x, ln_gamma) in
            [(0.5, PI.sqrt().ln()), (1.0, 0.0), (2.0, 0.0), (5.0, 24_f64.ln()), (11.0, 3_628_800_f64.ln())]
        {
            let formula = (x - 0.5) * f64::ln(x) - x + 0.5 * (2.0 * PI).ln();
            assert!((formula + stirling_error(x) - ln_gamma).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn known_betas_come_out() {
        for (a, b, beta) in [(0.5, 0.5, PI), (1.0, 1.0, 1.0), (0.5, 1.5, PI / 2.0), (3.0, 4.0, 1.0 / 60.0)] {
            assert!((ln_beta(a, b) - beta.ln()).abs() < 1e-14, "B({a}, {b})");
        }
    }

    #[test]
    fn tails_have_closed_forms_for_small_parameters() {
        for x in [1e-12, 1e-3, 0.2, 0.5, 0.77, 0.999] {
            for (a, b, lower) in
                [(1.0, 1.0, x), (2.0, 1.0, x * x), (0.5, 0.5, 2.0 / PI * f64::asin(f64::sqrt(x)))]
            {
                let tails = beta_tails(a, b, x);
                assert!((tails.lower / lower - 1.0).abs() < 1e-13, "I_{x}({a}, {b}) = {}", tails.lower);
                assert!((tails.lower + tails.upper - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn quantiles_are_inverses_of_tails() {
        for (a, b) in [(1.0, 1_000_000.0), (0.5, 5.0), (3.7, 91.2), (250_000.0, 750_000.0)] {
            for tail in [1e-7, 0.025, 0.5, 0.9] {
                let below = beta_tails(a, b, beta_quantile(a, b, tail)).lower;
                let above = beta_tails(a, b, beta_quantile_above(a, b, tail)).upper;
                assert!((below / tail - 1.0).abs() < 1e-9, "Beta({a}, {b}), {tail}: {below}");
                assert!((above / tail - 1.0).abs() < 1e-9, "Beta({a}, {b}), {tail}: {above}");
            }
        }
    }
}
