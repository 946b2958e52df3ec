//! `struct`: numbers and strings in the layout of C structures.
//!
//! Owns the format letters. Sizes are those of a 64-bit machine, whichever this one is.

#![expect(
    clippy::needless_pass_by_value,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "a callback of Lua owns its arguments; bits are moved between types, and Lua's numbers are doubles"
)]

use mlua::{Lua, MultiValue, Table, Value};

use super::bad_argument;
use crate::scripting::raised::Raised;

/// Bytes of a number in a format at most.
const INTEGER_BYTES_MAX: usize = 32;
/// What `!` alone aligns to.
const ALIGNMENT_DEFAULT: usize = 8;

/// The library.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", lua.create_function(pack)?)?;
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    table.raw_set("size", lua.create_function(size)?)?;
    Ok(table)
}

/// One letter of a format, with its number.
struct Item {
    letter: u8,
    bytes: usize,
}

/// The reading of a format.
struct Format<'a> {
    rest: &'a [u8],
    /// The function that reads it.
    function: &'static str,
    is_big: bool,
    alignment: usize,
}

impl<'a> Format<'a> {
    fn new(text: &'a [u8], function: &'static str) -> Self {
        Self {
            rest: text,
            function,
            is_big: false,
            alignment: 1,
        }
    }

    /// The next letter that stands for something; letters that say how are obeyed on the way.
    fn next(&mut self) -> Result<Option<Item>, String> {
        while let Some((letter, rest)) = self.rest.split_first() {
            self.rest = rest;
            let bytes = match letter {
                b'b' | b'B' | b'x' => 1,
                b'h' | b'H' => 2,
                b'f' => 4,
                b'l' | b'L' | b'T' | b'd' => 8,
                b's' => 0,
                b'c' => self.number(1)?,
                b'i' | b'I' => self.number(4)?,
                b' ' => continue,
                b'>' | b'<' => {
                    self.is_big = *letter == b'>';
                    continue;
                }
                b'!' => {
                    self.alignment = self.number(ALIGNMENT_DEFAULT)?;
                    if !self.alignment.is_power_of_two() {
                        let alignment = self.alignment;
                        return Err(format!("alignment {alignment} is not a power of 2"));
                    }
                    continue;
                }
                letter => {
                    let (letter, function) = (char::from(*letter), self.function);
                    return Err(format!(
                        "bad argument #1 to '{function}' (invalid format option '{letter}')"
                    ));
                }
            };
            if matches!(letter, b'i' | b'I') && bytes > INTEGER_BYTES_MAX {
                return Err(format!(
                    "integral size {bytes} is larger than limit of {INTEGER_BYTES_MAX}"
                ));
            }
            let letter = *letter;
            return Ok(Some(Item { letter, bytes }));
        }
        Ok(None)
    }

    fn number(&mut self, default: usize) -> Result<usize, String> {
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let count = self.rest.iter().take_while(is_digit).count();
        if count == 0 {
            return Ok(default);
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let digits = String::from_utf8_lossy(digits);
        let number = digits.parse::<i32>().ok();
        number
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| "integral size overflow".to_owned())
    }

    /// Bytes to leave out before an item at `offset`.
    fn padding(&self, item: &Item, offset: usize) -> Result<usize, String> {
        let alignment = item.bytes.min(self.alignment);
        if alignment <= 1 || item.letter == b'c' {
            return Ok(0);
        }
        if !alignment.is_power_of_two() {
            return Err(format!("alignment {alignment} is not a power of 2"));
        }
        Ok(offset.next_multiple_of(alignment) - offset)
    }
}

fn refuse(lua: &Lua, text: &str) -> mlua::Error {
    Raised::at_caller(lua, text).into()
}

fn text_argument(
    lua: &Lua,
    args: &MultiValue,
    at: usize,
    name: &str,
) -> mlua::Result<mlua::LuaString> {
    match args.get(at).map(|value| lua.coerce_string(value.clone())) {
        Some(Ok(Some(text))) => Ok(text),
        _ => Err(bad_argument(lua, args, at, (name, "string"))),
    }
}

fn number_argument(lua: &Lua, args: &MultiValue, at: usize) -> mlua::Result<f64> {
    match args.get(at).map(|value| lua.coerce_number(value.clone())) {
        Some(Ok(Some(number))) => Ok(number),
        _ => Err(bad_argument(lua, args, at, ("pack", "number"))),
    }
}

fn pack(lua: &Lua, args: MultiValue) -> mlua::Result<Value> {
    let text = text_argument(lua, &args, 0, "pack")?;
    let text = text.as_bytes();
    let mut format = Format::new(&text, "pack");
    let mut packed = Vec::new();
    let mut at = 1;
    while let Some(item) = format.next().map_err(|text| refuse(lua, &text))? {
        let padding = format.padding(&item, packed.len());
        let padding = padding.map_err(|text| refuse(lua, &text))?;
        packed.resize(packed.len() + padding, 0);
        match item.letter {
            b'x' => {
                packed.push(0);
                continue;
            }
            b'c' | b's' => {
                let text = text_argument(lua, &args, at, "pack")?;
                let text = text.as_bytes();
                let bytes = if item.bytes == 0 {
                    text.len()
                } else {
                    item.bytes
                };
                let Some(text) = text.get(..bytes) else {
                    let place = at + 2;
                    let text = format!("bad argument #{place} to 'pack' (string too short)");
                    return Err(refuse(lua, &text));
                };
                packed.extend_from_slice(text);
                if item.letter == b's' {
                    packed.push(0);
                }
            }
            letter => {
                let number = number_argument(lua, &args, at)?;
                let bytes = match letter {
                    b'f' => (number as f32).to_le_bytes().to_vec(),
                    b'd' => number.to_le_bytes().to_vec(),
                    _ => integer_bytes(number, item.bytes),
                };
                extend(&mut packed, &bytes, format.is_big);
            }
        }
        at += 1;
    }
    lua.create_string(packed).map(Value::String)
}

/// The lowest bytes of a number, the lowest first.
fn integer_bytes(number: f64, count: usize) -> Vec<u8> {
    let bits = if number < 0.0 {
        (number as i64).cast_unsigned()
    } else {
        number as u64
    };
    let mut bytes = bits.to_le_bytes().to_vec();
    bytes.resize(count, 0);
    bytes
}

fn extend(packed: &mut Vec<u8>, bytes: &[u8], is_big: bool) {
    if is_big {
        packed.extend(bytes.iter().rev());
    } else {
        packed.extend_from_slice(bytes);
    }
}

fn unpack(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let text = text_argument(lua, &args, 0, "unpack")?;
    let data = text_argument(lua, &args, 1, "unpack")?;
    let (text, data) = (text.as_bytes(), data.as_bytes());
    let start = match args.get(2) {
        None | Some(Value::Nil) => 1,
        Some(_) => number_argument(lua, &args, 2)? as i64,
    };
    let Some(mut at) = usize::try_from(start)
        .ok()
        .and_then(|start| start.checked_sub(1))
    else {
        let text = "bad argument #3 to 'unpack' (offset must be 1 or greater)";
        return Err(refuse(lua, text));
    };
    let mut format = Format::new(&text, "unpack");
    let mut values = Vec::new();
    let short = || refuse(lua, "bad argument #2 to 'unpack' (data string too short)");
    while let Some(mut item) = format.next().map_err(|text| refuse(lua, &text))? {
        let padding = format.padding(&item, at);
        at = at.saturating_add(padding.map_err(|text| refuse(lua, &text))?);
        if item.letter == b'c' && item.bytes == 0 {
            item.bytes = match values.pop() {
                Some(Value::Number(size)) => size as usize,
                _ => return Err(refuse(lua, "format 'c0' needs a previous size")),
            };
        }
        let rest = data.get(at..).ok_or_else(short)?;
        if item.letter == b's' {
            let end = rest.iter().position(|byte| *byte == 0);
            let end = end.ok_or_else(|| refuse(lua, "unfinished string in data"))?;
            values.push(Value::String(lua.create_string(&rest[..end])?));
            at += end + 1;
            continue;
        }
        let bytes = rest.get(..item.bytes).ok_or_else(short)?;
        match item.letter {
            b'x' => {}
            b'c' => values.push(Value::String(lua.create_string(bytes)?)),
            letter => values.push(Value::Number(number_of(letter, bytes, format.is_big))),
        }
        at += item.bytes;
    }
    values.push(Value::Integer(at as i64 + 1));
    Ok(MultiValue::from_vec(values))
}

fn number_of(letter: u8, bytes: &[u8], is_big: bool) -> f64 {
    let mut low_first = [0; 8];
    let take = bytes.len().min(8);
    for (at, place) in low_first.iter_mut().take(take).enumerate() {
        *place = bytes[if is_big { bytes.len() - 1 - at } else { at }];
    }
    let bits = u64::from_le_bytes(low_first);
    match letter {
        b'f' => f64::from(f32::from_bits(bits as u32)),
        b'd' => f64::from_bits(bits),
        letter if letter.is_ascii_lowercase() && take > 0 => {
            let unused = 64 - 8 * take as u32;
            ((bits << unused).cast_signed() >> unused) as f64
        }
        _ => bits as f64,
    }
}

fn size(lua: &Lua, args: MultiValue) -> mlua::Result<usize> {
    let text = text_argument(lua, &args, 0, "size")?;
    let text = text.as_bytes();
    let mut format = Format::new(&text, "size");
    let mut bytes = 0usize;
    while let Some(item) = format.next().map_err(|text| refuse(lua, &text))? {
        if item.letter == b's' || (item.letter == b'c' && item.bytes == 0) {
            let letter = char::from(item.letter);
            let text = format!("bad argument #1 to 'size' (option '{letter}' has no fixed size)");
            return Err(refuse(lua, &text));
        }
        let padding = format.padding(&item, bytes);
        bytes += padding.map_err(|text| refuse(lua, &text))? + item.bytes;
    }
    Ok(bytes)
}
