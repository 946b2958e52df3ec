//! The commands on places: sorted sets whose scores are cells of a grid over the earth.
//!
//! ```text
//!   add         GEOADD: places become cells, ZADD does the rest
//!   read        GEODIST, GEOHASH, GEOPOS
//!   search      GEOSEARCH, GEORADIUS and their kin: cells -> places -> reply or sorted set
//!   options     their options
//!   area        which cells to look at
//!   shape       what lies inside
//!   cell        longitude and latitude in 52 bits
//!   sphere      distances
//! ```
//!
//! Owns nothing stored: a place is an element of a sorted set. All arithmetic is done in the order
//! in which Redis does it, so that answers agree to the last digit.

pub(crate) mod add;
mod area;
mod cell;
mod options;
pub(crate) mod read;
pub(crate) mod search;
mod shape;
mod sphere;

use bytes::Bytes;

use self::cell::Place;
use crate::command::CommandError;
use crate::number::parse_double;

/// The place that two arguments name.
fn parse_place(longitude: &Bytes, latitude: &Bytes) -> Result<Place, CommandError> {
    let number = |text: &Bytes| parse_double(text).ok_or(CommandError::NotFloat);
    let place = Place {
        longitude: number(longitude)?,
        latitude: number(latitude)?,
    };
    if place.is_on_the_grid() {
        return Ok(place);
    }
    Err(CommandError::other(format!(
        "ERR invalid longitude,latitude pair {:.6},{:.6}",
        place.longitude, place.latitude
    )))
}

/// The meters of a unit.
fn parse_unit(unit: &[u8]) -> Result<f64, CommandError> {
    match unit.to_ascii_lowercase().as_slice() {
        b"m" => Ok(1.0),
        b"km" => Ok(1000.0),
        b"ft" => Ok(0.3048),
        b"mi" => Ok(1609.34),
        _ => Err(CommandError::other(
            "ERR unsupported unit provided. please use M, KM, FT, MI",
        )),
    }
}

/// A distance with four digits after the point.
fn format_distance(distance: f64) -> String {
    const DIGITS: usize = 4;
    // scaled, then rounded to the even neighbour, as Redis does
    let scaled = (distance * 1e4).round_ties_even();
    let whole = format!("{scaled:0>5.0}");
    let (whole, fraction) = whole.split_at(whole.len() - DIGITS);
    format!("{whole}.{fraction}")
}

/// A coordinate with 17 digits after the point, without zeros at its end.
fn format_coordinate(coordinate: f64) -> String {
    let text = format!("{coordinate:.17}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_redis_does() {
        assert_eq!(format_distance(0.0), "0.0000");
        assert_eq!(format_distance(0.00004), "0.0000");
        assert_eq!(format_distance(0.12345), "0.1234");
        assert_eq!(format_distance(166_274.151_562), "166274.1516");
        assert_eq!(format_coordinate(15.0), "15");
        assert_eq!(format_coordinate(-0.0), "0");
        let longitude = 15.087_267_458_438_873;
        assert_eq!(format_coordinate(longitude), "15.08726745843887329");
        assert_eq!(format_coordinate(100.0), "100");
    }
}
