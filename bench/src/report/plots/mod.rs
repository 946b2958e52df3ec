//! Plots as inline SVG, each narrow enough to be read on a phone without zooming.
//!
//! ```text
//!   axis (scales, ticks) --> bars (figures), dots (latency percentiles), lines (over time)
//!   svg (text, lines, escaping) --^
//! ```
//!
//! Owns the drawing. Must never derive a figure.

mod axis;
mod bars;
mod dots;
mod lines;
mod svg;

pub(crate) use svg::escape;

pub(super) use bars::{Bar, BarGroup, bars};
pub(super) use dots::{DotGroup, DotRow, dots};
pub(super) use lines::{Moment, lines};
