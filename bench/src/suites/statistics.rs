//! Median, least and most of the rounds.

/// Of a few values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Summary {
    /// None of no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let check = |values: &[f64], expected: Option<(f64, f64, f64)>| {
            let got = Summary::of(values).map(|s| (s.least, s.median, s.most));
            assert_eq!(got, expected, "{values:?}");
        };
        check(&[], None);
        check(&[2.0], Some((2.0, 2.0, 2.0)));
        check(&[3.0, 1.0, 2.0], Some((1.0, 2.0, 3.0)));
        check(&[4.0, 1.0, 2.0, 3.0], Some((1.0, 2.5, 4.0)));
    }
}
