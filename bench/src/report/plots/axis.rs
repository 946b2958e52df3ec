//! Scales: from a figure to a place in the drawing, and the ticks between.
//!
//! Owns the choice of ticks. Must never put two labels where they touch.
#![expect(clippy::cast_sign_loss, reason = "decades are counted upwards")]

use super::svg::text_width;
use crate::report::number;

/// Ticks of a linear axis, about.
const TICKS: f64 = 4.0;
/// Decades that are labelled one by one; of more, every second one is.
const DECADES_LABELLED: i32 = 5;

/// Between two labels at least.
const LABEL_GAP: f64 = 4.0;

/// A scale of figures onto `start..start + length`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    scale: Scale,
    start: f64,
    length: f64,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    /// From 0 to the end, a tick each step.
    Linear { end: f64, step: f64 },
    /// From 10^first to 10^last, a tick each decade.
    Log { first: i32, last: i32 },
}

/// A tick; without a label where two would touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) at: f64,
    pub(super) is_labelled: bool,
}

impl Axis {
    /// From 0 to a round number at or above `most`.
    pub(super) fn linear(most: f64, start: f64, length: f64) -> Self {
        let step = round_step(most.max(f64::MIN_POSITIVE) / TICKS);
        let end = (most / step).ceil().max(1.0) * step;
        let scale = Scale::Linear { end, step };
        Self {
            scale,
            start,
            length,
        }
    }

    /// From 0 to `end` itself, which need not be round.
    pub(super) fn up_to(end: f64, start: f64, length: f64) -> Self {
        let end = end.max(f64::MIN_POSITIVE);
        let step = round_step(end / TICKS);
        let scale = Scale::Linear { end, step };
        Self {
            scale,
            start,
            length,
        }
    }

    /// Whole decades around `from..=to`, at least one.
    pub(super) fn log(from: f64, to: f64, start: f64, length: f64) -> Self {
        let first = from.max(1e-3).log10().floor() as i32;
        let last = (to.max(1e-3).log10().ceil() as i32).max(first + 1);
        let scale = Scale::Log { first, last };
        Self {
            scale,
            start,
            length,
        }
    }

    /// The place of a figure; outside figures stand at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear { end, .. } => value / end,
            Scale::Log { first, last } => {
                let decades = f64::from(last - first);
                (value.max(f64::MIN_POSITIVE).log10() - f64::from(first)) / decades
            }
        };
        self.start + share.clamp(0.0, 1.0) * self.length
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self.scale {
            Scale::Linear { end, step } => {
                // A hair more, so that the last of round steps is not lost.
                let count = (end / step + 1e-6).floor() as u32;
                let values = (0..=count).map(|index| f64::from(index) * step);
                values.map(|value| self.tick(value, true)).collect()
            }
            Scale::Log { first, last } => (first..=last)
                .map(|decade| {
                    let is_labelled = last - first <= DECADES_LABELLED || (decade - first) % 2 == 0;
                    self.tick(10_f64.powi(decade), is_labelled)
                })
                .collect(),
        }
    }

    /// Places and texts of the labels below a horizontal axis; where two would touch, the latter is
    /// left out.
    pub(super) fn labels(&self, show: fn(f64) -> String) -> Vec<(f64, String)> {
        let mut labels = Vec::new();
        let mut taken_to = f64::MIN;
        for tick in self.ticks().into_iter().filter(|tick| tick.is_labelled) {
            let text = number::tick(&show(tick.value));
            let half = text_width(&text) / 2.0;
            if tick.at - half > taken_to + LABEL_GAP {
                taken_to = tick.at + half;
                labels.push((tick.at, text));
            }
        }
        labels
    }

    fn tick(&self, value: f64, is_labelled: bool) -> Tick {
        Tick {
            value,
            at: self.at(value),
            is_labelled,
        }
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, at or above the wish.
fn round_step(wish: f64) -> f64 {
    let power = 10_f64.powf(wish.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= wish * 0.999_999)
        .unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: Axis) -> Vec<f64> {
        axis.ticks().iter().map(|tick| tick.value).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_reach_the_most() {
        assert_eq!(
            values(Axis::linear(38.0, 0.0, 100.0)),
            [0.0, 10.0, 20.0, 30.0, 40.0]
        );
        let wide = values(Axis::linear(122_300.0, 0.0, 100.0));
        assert_eq!(wide, [0.0, 50_000.0, 100_000.0, 150_000.0]);
        for most in [1e-9, 0.3, 1.0, 7.7, 99.0, 101.0, 5e8] {
            let found = values(Axis::linear(most, 0.0, 100.0));
            assert!((2..=6).contains(&found.len()), "{most}: {found:?}");
            assert!(found[found.len() - 1] >= most, "{most}: {found:?}");
        }
    }

    #[test]
    fn time_ends_where_the_last_point_is() {
        let axis = Axis::up_to(120.0, 0.0, 100.0);
        assert_eq!(values(axis), [0.0, 50.0, 100.0]);
        assert!((axis.at(120.0) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_decade_takes_the_same_room_everywhere() {
        let axis = Axis::log(15.0, 9000.0, 100.0, 300.0);
        assert_eq!(values(axis), [10.0, 100.0, 1000.0, 10_000.0]);
        let places: Vec<f64> = axis.ticks().iter().map(|tick| tick.at).collect();
        for (found, wanted) in places.iter().zip([100.0, 200.0, 300.0, 400.0]) {
            assert!((found - wanted).abs() < 1e-6, "{places:?}");
        }
        assert!((axis.at(1.0) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn labels_never_touch() {
        for length in [60.0, 100.0, 170.0, 300.0] {
            for axis in [
                Axis::linear(4.5e8, 20.0, length),
                Axis::log(1.0, 1e7, 20.0, length),
            ] {
                let labels = axis.labels(number::bytes);
                assert!(!labels.is_empty());
                for pair in labels.windows(2) {
                    let [(from, first), (to, second)] = pair else {
                        continue;
                    };
                    let room = text_width(first) / 2.0 + text_width(second) / 2.0;
                    assert!(to - from > room, "{length}: {labels:?}");
                }
            }
        }
    }

    #[test]
    fn many_decades_are_labelled_every_other_time() {
        let ticks = Axis::log(1.0, 1e7, 0.0, 100.0).ticks();
        let labelled = ticks.iter().filter(|tick| tick.is_labelled).count();
        assert_eq!((ticks.len(), labelled), (8, 4));
    }
}
