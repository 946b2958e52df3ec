//! Figures over time: operations a second, p99 and device writes under one another, cleaning
//! shaded.
//!
//! Owns the panels. Must never smooth a peak away: where points are closer than the drawing can
//! show, the worst latency of each stands for all.

use super::axis::Axis;
use super::svg::{Anchor, Drawing, WIDTH};
use crate::report::number;

const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const PANEL_HEIGHT: f64 = 84.0;
const PANEL_GAP: f64 = 26.0;
/// Points that are drawn at most: more than one for each unit of the width says nothing more.
const POINTS_MAX: usize = 330;

/// One interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// The interval's end in seconds.
    pub(crate) at_s: f64,
    pub(crate) operations_per_s: f64,
    pub(crate) p99_us: Option<f64>,
    pub(crate) written_bytes_per_s: Option<f64>,
    pub(crate) is_cleaning: bool,
}

/// One panel's content: its name, its values, its axis, how its ticks are named.
struct Panel {
    name: &'static str,
    points: Vec<(f64, f64)>,
    axis: Axis,
    show: fn(f64) -> String,
}

/// The figure of one series; `rate_most` is the scale that it shares with others. Nothing of
/// nothing.
pub(crate) fn lines(title: &str, moments: &[Moment], rate_most: f64, class: &str) -> String {
    let moments = thinned(moments);
    let Some(last) = moments.last() else {
        return String::new();
    };
    let time = Axis::up_to(last.at_s, LEFT, WIDTH - LEFT - RIGHT);
    let mut drawing = Drawing::new();
    let mut top = 16.0;
    for panel in panels(&moments, rate_most) {
        shade(&mut drawing, &moments, &time, top);
        draw(&mut drawing, &panel, &time, (top, class));
        top += PANEL_HEIGHT + PANEL_GAP;
    }
    let bottom = top - PANEL_GAP;
    for (at, label) in time.labels(number::count) {
        drawing.text((at, bottom + 14.0), Anchor::Middle, "tick", &label);
    }
    let unit = if moments.iter().any(|moment| moment.is_cleaning) {
        "seconds; shaded: the cleaner at work"
    } else {
        "seconds"
    };
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    drawing.text((middle, bottom + 30.0), Anchor::Middle, "unit", unit);
    drawing.figure(title, bottom + 36.0)
}

/// The panels that there are figures for, each from its top.
fn panels(moments: &[Moment], rate_most: f64) -> Vec<Panel> {
    let points = |of: fn(&Moment) -> Option<f64>| -> Vec<(f64, f64)> {
        let found = moments
            .iter()
            .map(|moment| Some((moment.at_s, of(moment)?)));
        found.flatten().collect()
    };
    let most = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let least = |points: &[(f64, f64)]| {
        let values = points.iter().map(|point| point.1);
        values.filter(|value| *value > 0.0).fold(f64::MAX, f64::min)
    };
    let upwards =
        |axis: fn(f64, f64, f64) -> Axis, most: f64| axis(most, PANEL_HEIGHT, -PANEL_HEIGHT);

    let rates = points(|moment| Some(moment.operations_per_s));
    let mut panels = vec![Panel {
        name: "operations/s",
        axis: upwards(Axis::linear, rate_most.max(most(&rates))),
        points: rates,
        show: number::count,
    }];
    let latencies = points(|moment| moment.p99_us.filter(|us| *us > 0.0));
    if !latencies.is_empty() {
        let (least, most) = (least(&latencies), most(&latencies));
        panels.push(Panel {
            name: "p99, logarithmic",
            axis: Axis::log(least, most, PANEL_HEIGHT, -PANEL_HEIGHT),
            points: latencies,
            show: number::micros,
        });
    }
    let writes = points(|moment| moment.written_bytes_per_s);
    if !writes.is_empty() {
        panels.push(Panel {
            name: "device writes/s",
            axis: upwards(Axis::linear, most(&writes)),
            points: writes,
            show: number::bytes,
        });
    }
    panels
}

fn draw(drawing: &mut Drawing, panel: &Panel, time: &Axis, (top, class): (f64, &str)) {
    drawing.text((LEFT, top - 4.0), Anchor::Start, "group", panel.name);
    for tick in panel.axis.ticks() {
        let y = top + tick.at;
        drawing.line((LEFT, y), (WIDTH - RIGHT, y), "grid");
        if tick.is_labelled {
            let label = number::tick(&(panel.show)(tick.value));
            drawing.text((LEFT - 5.0, y + 4.0), Anchor::End, "tick", &label);
        }
    }
    let place = |(at_s, value): &(f64, f64)| (time.at(*at_s), top + panel.axis.at(*value));
    let points: Vec<(f64, f64)> = panel.points.iter().map(place).collect();
    drawing.polyline(&points, &format!("curve {class}"));
}

/// Shades the intervals in which the server cleaned.
fn shade(drawing: &mut Drawing, moments: &[Moment], time: &Axis, top: f64) {
    let mut begun = None;
    let mut before_s = 0.0;
    for moment in moments {
        match (begun, moment.is_cleaning) {
            (None, true) => begun = Some(before_s),
            (Some(from_s), false) => {
                shade_one(drawing, time, (from_s, before_s), top);
                begun = None;
            }
            (None, false) | (Some(_), true) => {}
        }
        before_s = moment.at_s;
    }
    if let Some(from_s) = begun {
        shade_one(drawing, time, (from_s, before_s), top);
    }
}

fn shade_one(drawing: &mut Drawing, time: &Axis, (from_s, to_s): (f64, f64), top: f64) {
    let (from, to) = (time.at(from_s), time.at(to_s));
    drawing.rectangle((from, top), (to - from, PANEL_HEIGHT), "shade");
}

/// At most `POINTS_MAX` moments: the mean rates and the worst latency of neighbours.
fn thinned(moments: &[Moment]) -> Vec<Moment> {
    let each = moments.len().div_ceil(POINTS_MAX).max(1);
    moments.chunks(each).map(merged).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a handful of points")]
fn merged(moments: &[Moment]) -> Moment {
    let count = moments.len() as f64;
    let written = moments.iter().map(|moment| moment.written_bytes_per_s);
    Moment {
        at_s: moments.last().map_or(0.0, |moment| moment.at_s),
        operations_per_s: moments.iter().map(|m| m.operations_per_s).sum::<f64>() / count,
        p99_us: moments
            .iter()
            .filter_map(|moment| moment.p99_us)
            .max_by(f64::total_cmp),
        written_bytes_per_s: written.sum::<Option<f64>>().map(|sum| sum / count),
        is_cleaning: moments.iter().any(|moment| moment.is_cleaning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at_s: f64, p99_us: f64, is_cleaning: bool) -> Moment {
        Moment {
            at_s,
            operations_per_s: 100.0,
            p99_us: Some(p99_us),
            written_bytes_per_s: None,
            is_cleaning,
        }
    }

    #[test]
    fn a_peak_survives_thinning() {
        let mut moments: Vec<Moment> = (0..5000)
            .map(|i| moment(f64::from(i), 10.0, false))
            .collect();
        moments[1234].p99_us = Some(9999.0);
        let thinned = thinned(&moments);
        assert!(thinned.len() <= POINTS_MAX);
        assert!(thinned.iter().any(|moment| moment.p99_us == Some(9999.0)));
        assert!((thinned.last().unwrap().at_s - 4999.0).abs() < 1e-9);
    }

    #[test]
    fn each_time_of_cleaning_is_shaded_once_in_each_panel() {
        let moments: Vec<Moment> = [false, true, true, false, true]
            .iter()
            .zip(1_u32..)
            .map(|(is_cleaning, second)| moment(f64::from(second), 10.0, *is_cleaning))
            .collect();
        let figure = lines("x", &moments, 100.0, "s0");
        assert_eq!(figure.matches("class=\"shade\"").count(), 4);
        assert!(figure.contains("the cleaner at work"));
    }

    #[test]
    fn no_series_no_figure() {
        assert_eq!(lines("x", &[], 1.0, "s0"), "");
    }
}
