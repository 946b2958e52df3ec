//! The circle or rectangle that a search looks in.
//!
//! Owns which places lie inside, and the box around it.

use super::cell::{Edges, Place};
use super::sphere::{distance_m, latitude_degrees, latitude_distance_m, longitude_degrees};

/// What is searched. Lengths are in the unit that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outline {
    Circle { radius: f64 },
    Rectangle { width: f64, height: f64 },
}

/// An outline around a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) middle: Place,
    pub(super) outline: Outline,
    /// Meters of the unit.
    pub(super) unit_m: f64,
}

impl Shape {
    /// The meters to a place that lies inside.
    pub(super) fn distance_inside_m(&self, place: Place) -> Option<f64> {
        match self.outline {
            Outline::Circle { radius } => {
                let distance = distance_m(self.middle, place);
                (distance <= radius * self.unit_m).then_some(distance)
            }
            Outline::Rectangle { width, height } => {
                let (width, height) = (width * self.unit_m, height * self.unit_m);
                if latitude_distance_m(place.latitude, self.middle.latitude) > height / 2.0 {
                    return None;
                }
                let below = Place {
                    longitude: self.middle.longitude,
                    latitude: place.latitude,
                };
                if distance_m(place, below) > width / 2.0 {
                    return None;
                }
                Some(distance_m(self.middle, place))
            }
        }
    }

    /// Meters from the middle to what is farthest from it.
    pub(super) fn reach_m(&self) -> f64 {
        let reach = match self.outline {
            Outline::Circle { radius } => radius,
            Outline::Rectangle { width, height } => {
                let (x, y) = (width / 2.0, height / 2.0);
                (x * x + y * y).sqrt()
            }
        };
        reach * self.unit_m
    }

    /// The box around it in degrees. Its upper and lower edges differ in degrees of longitude; the
    /// one nearer to a pole counts.
    pub(super) fn bounds(&self) -> Edges {
        let (x, y) = match self.outline {
            Outline::Circle { radius } => (self.unit_m * radius, self.unit_m * radius),
            Outline::Rectangle { width, height } => {
                (self.unit_m * (width / 2.0), self.unit_m * (height / 2.0))
            }
        };
        let Place {
            longitude,
            latitude,
        } = self.middle;
        let north = latitude_degrees(y);
        let farthest = if latitude < 0.0 {
            latitude - north
        } else {
            latitude + north
        };
        let east = longitude_degrees(x, farthest);
        Edges {
            west: longitude - east,
            east: longitude + east,
            south: latitude - north,
            north: latitude + north,
        }
    }
}
