//! Bars: one figure of each server, grouped by column, with the least and the most of the rounds.
//!
//! Owns the layout: names on the left, figures on the right, the bars between. Must never start a
//! bar elsewhere than at zero.

use super::axis::Axis;
use super::svg::{Anchor, Drawing, LINE, WIDTH, fitted, text_width};
use crate::report::figures::Spread;

/// Room for the names of servers at most.
const NAME_WIDTH_MAX: f64 = 140.0;
const BAR_HEIGHT: f64 = 11.0;
const GROUP_GAP: f64 = 8.0;
/// Between names, bars and figures.
const GAP: f64 = 6.0;

/// The bars of one column.
pub(crate) struct BarGroup {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// One server's bar.
pub(crate) struct Bar {
    pub(crate) server: String,
    /// The server's colour.
    pub(crate) class: String,
    pub(crate) spread: Spread,
    /// The median as it is shown.
    pub(crate) text: String,
}

/// The figure of all groups on one scale, whose ticks `show` names; nothing if all bars are zero.
pub(crate) fn bars(
    title: &str,
    unit: &str,
    groups: &[BarGroup],
    show: fn(f64) -> String,
) -> String {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let most = all().map(|bar| bar.spread.max).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let widest = |width: fn(&Bar) -> f64| all().map(width).fold(0.0, f64::max);
    let left = widest(|bar| text_width(&bar.server)).min(NAME_WIDTH_MAX) + GAP;
    let right = WIDTH - widest(|bar| text_width(&bar.text)) - GAP * 2.0;
    let axis = Axis::linear(most, left, right - left);

    let mut drawing = Drawing::new();
    let bottom = height(groups);
    for tick in axis.ticks() {
        drawing.line((tick.at, LINE), (tick.at, bottom), "grid");
    }
    for (at, label) in axis.labels(show) {
        drawing.text((at, bottom + 14.0), Anchor::Middle, "tick", &label);
    }
    let mut top = 0.0;
    for group in groups.iter().filter(|group| !group.bars.is_empty()) {
        drawing.text(
            (0.0, top + 13.0),
            Anchor::Start,
            "group",
            &fitted(&group.name, WIDTH),
        );
        top += LINE;
        for bar in &group.bars {
            draw(&mut drawing, bar, &axis, (left, top));
            top += LINE;
        }
        top += GROUP_GAP;
    }
    let middle = f64::midpoint(left, right);
    drawing.text((middle, bottom + 30.0), Anchor::Middle, "unit", unit);
    drawing.figure(title, bottom + 36.0)
}

fn height(groups: &[BarGroup]) -> f64 {
    let of_group = |group: &BarGroup| {
        let lines = u32::try_from(group.bars.len()).map_or(0.0, f64::from);
        LINE + lines * LINE + GROUP_GAP
    };
    let shown = groups.iter().filter(|group| !group.bars.is_empty());
    shown.map(of_group).sum::<f64>()
}

fn draw(drawing: &mut Drawing, bar: &Bar, axis: &Axis, (left, top): (f64, f64)) {
    let baseline = top + 12.0;
    let name = fitted(&bar.server, left - GAP);
    drawing.text((left - GAP, baseline), Anchor::End, "name", &name);
    let end = axis.at(bar.spread.median);
    let bar_top = top + 3.0;
    let class = format!("bar {}", bar.class);
    drawing.rectangle((left, bar_top), (end - left, BAR_HEIGHT), &class);
    if bar.spread.count > 1 {
        let middle = bar_top + BAR_HEIGHT / 2.0;
        let (least, most) = (axis.at(bar.spread.min), axis.at(bar.spread.max));
        // Each stroke has a rim, so that it is seen on a bar of any colour.
        for class in ["whisker rim", "whisker"] {
            drawing.line((least, middle), (most, middle), class);
            for at in [least, most] {
                drawing.line((at, middle - 3.0), (at, middle + 3.0), class);
            }
        }
    }
    drawing.text((WIDTH, baseline), Anchor::End, "value", &bar.text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(values: &[f64]) -> BarGroup {
        let bar = |value: &f64| Bar {
            server: "redis".to_owned(),
            class: "s2".to_owned(),
            spread: Spread::of([*value]).unwrap(),
            text: number_text(*value),
        };
        BarGroup {
            name: "get".to_owned(),
            bars: values.iter().map(bar).collect(),
        }
    }

    fn number_text(value: f64) -> String {
        format!("{value:.0}")
    }

    #[test]
    fn a_bar_is_as_long_as_its_figure() {
        let figure = bars("x", "s", &[group(&[100.0, 50.0, 0.0])], number_text);
        let widths: Vec<f64> = figure
            .split("<rect ")
            .skip(1)
            .map(|rect| rect.split("width=\"").nth(1).unwrap())
            .map(|width| width.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(widths.len(), 3);
        assert!((widths[0] - 2.0 * widths[1]).abs() < 0.2, "{widths:?}");
        assert!(widths[2].abs() < 1e-9, "{widths:?}");
    }

    #[test]
    fn nothing_but_zeros_is_no_figure() {
        assert_eq!(bars("x", "s", &[group(&[0.0, 0.0])], number_text), "");
        assert_eq!(bars("x", "s", &[group(&[])], number_text), "");
    }
}
