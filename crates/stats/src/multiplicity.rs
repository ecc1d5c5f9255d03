//! Many tests at once.

/// Holm's adjustment (1979): each p-value times the number of hypotheses that are still open at its rank, never less than the
/// adjusted one before it, and at most 1.
///
/// Rejecting where the adjusted value is at most α keeps the probability of **any** false rejection at α or less, whatever the
/// tests have to do with each other. Values that are no numbers count as 1.
///
/// ```
/// let adjusted = sortie_stats::holm(&[0.01, 0.04, 0.03, 0.005]);
/// let expected = [0.03, 0.06, 0.06, 0.02];
/// assert!(adjusted.iter().zip(expected).all(|(value, by_hand)| (value - by_hand).abs() < 1e-12));
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p_values: Vec<f64> =
        p_values.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut open = p_values.iter().map(|_| 1.0).sum::<f64>();
    let mut greatest = 0.0_f64;
    for index in order {
        greatest = greatest.max((p_values[index] * open).min(1.0));
        adjusted[index] = greatest;
        open -= 1.0;
    }
    adjusted
}
