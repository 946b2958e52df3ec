//! Latency percentiles of each server on a logarithmic axis, one row a server.
//!
//! Owns the marks. Must never show a percentile that was not measured.

use super::axis::Axis;
use super::svg::{Anchor, Drawing, LINE, WIDTH, fitted, text_width};
use crate::report::number;

const NAME_WIDTH_MAX: f64 = 110.0;
const GROUP_GAP: f64 = 8.0;
const GAP: f64 = 6.0;
/// Room at the right end for half of the last tick's label.
const MARGIN: f64 = 24.0;
/// The marks' names, in the order of `DotRow::us`.
const MARKS: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// The rows of one column.
pub(crate) struct DotGroup {
    pub(crate) name: String,
    pub(crate) rows: Vec<DotRow>,
}

/// The medians of one server's latencies.
pub(crate) struct DotRow {
    pub(crate) server: String,
    pub(crate) class: String,
    /// p50, p90, p99, p99.9 and max in microseconds.
    pub(crate) us: [Option<f64>; 5],
}

/// The figure of all groups on one scale; nothing if no latency was measured.
pub(crate) fn dots(title: &str, groups: &[DotGroup]) -> String {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let all = || rows().flat_map(|row| row.us.iter().flatten().copied());
    let (Some(least), Some(most)) = (all().min_by(f64::total_cmp), all().max_by(f64::total_cmp))
    else {
        return String::new();
    };
    let widest = rows()
        .map(|row| text_width(&row.server))
        .fold(0.0, f64::max);
    let left = widest.min(NAME_WIDTH_MAX) + GAP * 2.0;
    let axis = Axis::log(least, most, left, WIDTH - left - MARGIN);

    let mut drawing = Drawing::new();
    legend(&mut drawing);
    let bottom = LINE + GAP + height(groups);
    for tick in axis.ticks() {
        drawing.line((tick.at, LINE * 2.0 + GAP), (tick.at, bottom), "grid");
    }
    for (at, label) in axis.labels(number::micros) {
        drawing.text((at, bottom + 14.0), Anchor::Middle, "tick", &label);
    }
    let mut top = LINE + GAP;
    for group in groups.iter().filter(|group| !group.rows.is_empty()) {
        drawing.text(
            (0.0, top + 13.0),
            Anchor::Start,
            "group",
            &fitted(&group.name, WIDTH),
        );
        top += LINE;
        for row in &group.rows {
            draw(&mut drawing, row, &axis, (left, top));
            top += LINE;
        }
        top += GROUP_GAP;
    }
    let middle = f64::midpoint(left, WIDTH - MARGIN);
    drawing.text(
        (middle, bottom + 30.0),
        Anchor::Middle,
        "unit",
        "latency, logarithmic",
    );
    drawing.figure(title, bottom + 36.0)
}

fn height(groups: &[DotGroup]) -> f64 {
    let of_group = |group: &DotGroup| {
        let lines = u32::try_from(group.rows.len()).map_or(0.0, f64::from);
        LINE + lines * LINE + GROUP_GAP
    };
    let shown = groups.iter().filter(|group| !group.rows.is_empty());
    shown.map(of_group).sum::<f64>()
}

fn legend(drawing: &mut Drawing) {
    let mut x = 6.0;
    for (index, name) in MARKS.iter().enumerate() {
        mark(drawing, index, (x, LINE / 2.0), "plain");
        drawing.text((x + 8.0, LINE / 2.0 + 4.0), Anchor::Start, "tick", name);
        x += text_width(name) + 30.0;
    }
}

fn draw(drawing: &mut Drawing, row: &DotRow, axis: &Axis, (left, top): (f64, f64)) {
    let name = fitted(&row.server, left - GAP * 2.0);
    drawing.text((left - GAP * 2.0, top + 12.0), Anchor::End, "name", &name);
    let middle = top + LINE / 2.0;
    let mut places = row.us.iter().flatten().map(|us| axis.at(*us));
    let Some(first) = places.next() else {
        return;
    };
    let last = places.next_back().unwrap_or(first);
    drawing.line(
        (first, middle),
        (last, middle),
        &format!("stem {}", row.class),
    );
    for (index, us) in row.us.iter().enumerate() {
        if let Some(us) = us {
            mark(drawing, index, (axis.at(*us), middle), &row.class);
        }
    }
}

/// One mark: a ring, a short stroke, a disc, a diamond, a long stroke.
fn mark(drawing: &mut Drawing, index: usize, (x, y): (f64, f64), class: &str) {
    match index {
        0 => drawing.circle((x, y), 3.5, &format!("ring {class}")),
        1 => drawing.line((x, y - 4.0), (x, y + 4.0), &format!("stroke {class}")),
        2 => drawing.circle((x, y), 4.0, &format!("disc {class}")),
        3 => {
            let points = [(x - 5.0, y), (x, y - 5.0), (x + 5.0, y), (x, y + 5.0)];
            drawing.polygon(&points, &format!("disc {class}"));
        }
        _ => drawing.line((x, y - 7.0), (x, y + 7.0), &format!("stroke {class}")),
    }
}
