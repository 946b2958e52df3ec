//! Figures as text, short enough for a phone.
//!
//! Owns the rounding: three digits or so. Must never drop a unit that the reader cannot see
//! elsewhere.

/// A plain number: 812, 45.5k, 1.20M.
pub(crate) fn count(value: f64) -> String {
    scaled(value, &[(1e9, "G"), (1e6, "M"), (1e3, "k")], "")
}

/// Bytes: 812 B, 45.5 kB, 1.20 GB.
pub(crate) fn bytes(value: f64) -> String {
    let units = [(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB")];
    scaled(value, &units, " B")
}

/// Sizes that are powers of two: 4 KiB, 1.00 GiB.
pub(crate) fn binary_bytes(value: f64) -> String {
    let units = [
        (1_073_741_824.0, " GiB"),
        (1_048_576.0, " MiB"),
        (1024.0, " KiB"),
    ];
    tick(&scaled(value, &units, " B"))
}

/// Microseconds with the unit that suits: 138 µs, 1.20 ms, 2.50 s.
pub(crate) fn micros(value: f64) -> String {
    scaled(value, &[(1e6, " s"), (1e3, " ms")], " µs")
}

/// Microseconds as a number whose unit is told elsewhere.
pub(crate) fn micros_plain(value: f64) -> String {
    digits(value)
}

/// A ratio or a multiple: 0.97.
pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Money, in whole units of whatever the assumptions are in: 161,600.
#[expect(clippy::cast_sign_loss, reason = "no price is negative")]
pub(crate) fn money(value: f64) -> String {
    let digits = (value.round() as u64).to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A share of one: 12.5 %.
pub(crate) fn percent(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

/// The text of a tick: without the zeros behind its point, 50k rather than 50.0k.
pub(crate) fn tick(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    if number.contains('.') {
        let number = number.trim_end_matches('0').trim_end_matches('.');
        format!("{number}{unit}")
    } else {
        text.to_owned()
    }
}

/// The least and the most, the unit named once where it is the same.
pub(crate) fn range(least: &str, most: &str) -> String {
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match (least.split_once(' '), unit(most)) {
        (Some((number, least_unit)), Some(most_unit)) if least_unit == most_unit => {
            format!("{number} to {most}")
        }
        _ => format!("{least} to {most}"),
    }
}

fn scaled(value: f64, units: &[(f64, &str)], least: &str) -> String {
    // A value that rounds up to the next unit is shown in it: 1.00M, not 1000k.
    let unit = units.iter().find(|(size, _)| value.abs() >= size * 0.9995);
    match unit {
        Some((size, name)) => format!("{}{name}", digits(value / size)),
        None => format!("{}{least}", digits(value)),
    }
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 9.995 => format!("{value:.2}"),
        middle if middle < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        let shown = [
            (count(812.0), "812"),
            (count(45_512.0), "45.5k"),
            (count(999_900.0), "1.00M"),
            (count(0.0), "0"),
            (bytes(1_204_000_000.0), "1.20 GB"),
            (binary_bytes(4096.0), "4 KiB"),
            (binary_bytes(1_610_612_736.0), "1.5 GiB"),
            (micros(138.4), "138 µs"),
            (micros(1204.0), "1.20 ms"),
            (micros(2.5e6), "2.50 s"),
            (micros_plain(7.0), "7.00"),
            (ratio(0.966), "0.97"),
            (range("1.02 ms", "2.08 ms"), "1.02 to 2.08 ms"),
            (range("813 µs", "1.10 ms"), "813 µs to 1.10 ms"),
            (range("13.6", "14.3"), "13.6 to 14.3"),
            (tick("50.0k"), "50k"),
            (tick("1.00 ms"), "1 ms"),
            (tick("0.04"), "0.04"),
            (tick("0.50"), "0.5"),
            (tick("100 µs"), "100 µs"),
            (percent(0.125), "12.5 %"),
            (money(999.6), "1,000"),
            (money(123_456_789.0), "123,456,789"),
            (money(12.0), "12"),
        ];
        for (found, wanted) in shown {
            assert_eq!(found, wanted);
        }
    }
}
