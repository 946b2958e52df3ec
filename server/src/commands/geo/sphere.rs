//! Distances on a sphere of the earth's size.
//!
//! Owns the haversine formula, in the order of operations that Redis has.

use super::cell::Place;

/// The earth's quadratic mean radius in meters.
const RADIUS_M: f64 = 6_372_797.560_856;

/// Radians of a degree.
const RADIANS: f64 = std::f64::consts::PI / 180.0;

/// Meters between two places.
pub(super) fn distance_m(a: Place, b: Place) -> f64 {
    let east = ((b.longitude * RADIANS - a.longitude * RADIANS) / 2.0).sin();
    if east == 0.0 {
        return latitude_distance_m(a.latitude, b.latitude);
    }
    let (from, to) = (a.latitude * RADIANS, b.latitude * RADIANS);
    let north = ((to - from) / 2.0).sin();
    let haversine = north * north + from.cos() * to.cos() * east * east;
    2.0 * RADIUS_M * haversine.sqrt().asin()
}

/// Meters between two latitudes.
pub(super) fn latitude_distance_m(a: f64, b: f64) -> f64 {
    RADIUS_M * (b * RADIANS - a * RADIANS).abs()
}

/// Degrees of latitude that so many meters are.
pub(super) fn latitude_degrees(meters: f64) -> f64 {
    meters / RADIUS_M / RADIANS
}

/// Degrees of longitude that so many meters are at a latitude.
pub(super) fn longitude_degrees(meters: f64, latitude: f64) -> f64 {
    meters / RADIUS_M / (latitude * RADIANS).cos() / RADIANS
}
