//! The write amplification that theory gives for uniform overwriting.
//!
//! Cleaning in the order of age, a segment is overwritten at random from its sealing until it is
//! the oldest. Then the live share `e` of a victim solves `e = exp(-(1 - e) / u)`, where `u` is the
//! live share of all segments in the cycle, and each byte of a client's costs `1 / (1 - e)` (Menon,
//! HPDC 1995, for log-structured arrays; Desnoyers, SYSTOR 2012, for flash, where the same comes
//! out for greedy as segments hold many records). No rule does better by more than the spread of
//! live bytes among segments allows: all records are alike, so there is nothing to separate.

/// Steps after which the iteration stands still to 15 digits for any `u` up to 0.99.
const STEPS: u32 = 4_000;

/// Bytes written for each byte of a client's at live share `utilization` of the cycle.
pub(crate) fn uniform(utilization: f64) -> f64 {
    if utilization >= 1.0 {
        return f64::INFINITY;
    }
    let mut live = 0.0_f64;
    for _ in 0..STEPS {
        live = (-(1.0 - live) / utilization).exp();
    }
    1.0 / (1.0 - live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_point_is_that_of_the_literature() {
        for (utilization, wanted) in [
            (0.5, 1.26),
            (0.7, 1.88),
            (0.8, 2.69),
            (0.9, 5.18),
            (0.95, 10.17),
        ] {
            let found = uniform(utilization);
            assert!((found - wanted).abs() < 0.01, "{utilization}: {found}");
        }
    }
}
