//! Which cells a search has to look at: the one around its middle and those beside it.
//!
//! Owns the choice of their size. The cells are so large that the shape does not reach beyond the
//! nine of them, as far as the grid goes.

use super::cell::{Cell, STEP_MAX};
use super::shape::Shape;

/// Half of the earth's girth, in meters: the largest cell's size.
const HALF_GIRTH_M: f64 = 20_037_726.37;

/// The steps to the cells beside one, in the order in which they are searched.
const BESIDE: [(i32, i32); 8] = [
    (0, 1),
    (0, -1),
    (1, 0),
    (-1, 0),
    (1, 1),
    (-1, 1),
    (1, -1),
    (-1, -1),
];

/// The cells to look at, in order.
pub(super) fn cells(shape: &Shape) -> Vec<Cell> {
    let bounds = shape.bounds();
    let mut step = step_of_reach(shape.reach_m(), shape.middle.latitude);
    let mut middle = Cell::around(shape.middle, step);
    let is_too_small = middle.beside(0, 1).edges().north < bounds.north
        || middle.beside(0, -1).edges().south > bounds.south
        || middle.beside(1, 0).edges().east < bounds.east
        || middle.beside(-1, 0).edges().west > bounds.west;
    if step > 1 && is_too_small {
        step -= 1;
        middle = Cell::around(shape.middle, step);
    }
    let edges = middle.edges();
    let is_needed = |(east, north): &(i32, i32)| {
        step < 2
            || !((*north < 0 && edges.south < bounds.south)
                || (*north > 0 && edges.north > bounds.north)
                || (*east < 0 && edges.west < bounds.west)
                || (*east > 0 && edges.east > bounds.east))
    };
    let mut cells = vec![middle];
    for (east, north) in BESIDE.into_iter().filter(is_needed) {
        let cell = middle.beside(east, north);
        // on a grid of two columns or rows both neighbours are one
        if cells.len() == 1 || cells.last() != Some(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// The finest step at which a shape of this reach should not leave the nine cells.
fn step_of_reach(mut reach_m: f64, latitude: f64) -> u32 {
    if reach_m == 0.0 {
        return STEP_MAX;
    }
    let mut step = 1;
    while reach_m < HALF_GIRTH_M {
        reach_m *= 2.0;
        step += 1;
    }
    step -= 2;
    // cells are narrower near the poles
    if latitude.abs() > 66.0 {
        step -= 1;
        if latitude.abs() > 80.0 {
            step -= 1;
        }
    }
    step.clamp(1, STEP_MAX.cast_signed()).cast_unsigned()
}
