//! `bit`: operations on the 32 bits of a number.
//!
//! Owns the reduction of any number to its lowest 32 bits. Results are signed.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a callback of Lua owns its arguments"
)]

use mlua::{Function, Lua, MultiValue, Table};

use super::bad_argument;

/// Added to a number it leaves the number's lowest 32 bits at the low end of its mantissa.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The library.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("tobit", unary(lua, "tobit", |bits| bits)?)?;
    table.raw_set("bnot", unary(lua, "bnot", |bits| !bits)?)?;
    table.raw_set("bswap", unary(lua, "bswap", u32::swap_bytes)?)?;
    table.raw_set("band", folded(lua, "band", |a, b| a & b)?)?;
    table.raw_set("bor", folded(lua, "bor", |a, b| a | b)?)?;
    table.raw_set("bxor", folded(lua, "bxor", |a, b| a ^ b)?)?;
    table.raw_set("lshift", shift(lua, "lshift", |bits, by| bits << by)?)?;
    table.raw_set("rshift", shift(lua, "rshift", |bits, by| bits >> by)?)?;
    let arithmetic = |bits: u32, by: u32| (bits.cast_signed() >> by).cast_unsigned();
    table.raw_set("arshift", shift(lua, "arshift", arithmetic)?)?;
    table.raw_set("rol", shift(lua, "rol", u32::rotate_left)?)?;
    table.raw_set("ror", shift(lua, "ror", u32::rotate_right)?)?;
    table.raw_set("tohex", lua.create_function(tohex)?)?;
    Ok(table)
}

fn unary(lua: &Lua, name: &'static str, apply: fn(u32) -> u32) -> mlua::Result<Function> {
    lua.create_function(move |lua, args: MultiValue| {
        let value = bits(lua, &args, 0, name)?;
        Ok(signed(apply(value)))
    })
}

fn folded(lua: &Lua, name: &'static str, apply: fn(u32, u32) -> u32) -> mlua::Result<Function> {
    lua.create_function(move |lua, args: MultiValue| {
        let mut folded = bits(lua, &args, 0, name)?;
        for at in 1..args.len() {
            folded = apply(folded, bits(lua, &args, at, name)?);
        }
        Ok(signed(folded))
    })
}

fn shift(lua: &Lua, name: &'static str, apply: fn(u32, u32) -> u32) -> mlua::Result<Function> {
    lua.create_function(move |lua, args: MultiValue| {
        let value = bits(lua, &args, 0, name)?;
        let by = bits(lua, &args, 1, name)?;
        Ok(signed(apply(value, by & 31)))
    })
}

/// `bit.tohex(x [, digits])`: a negative count asks for capitals.
fn tohex(lua: &Lua, args: MultiValue) -> mlua::Result<String> {
    let value = bits(lua, &args, 0, "tohex")?;
    let digits = match args.len() {
        0 | 1 => 8,
        _ => bits(lua, &args, 1, "tohex")?.cast_signed(),
    };
    let count = (digits.unsigned_abs() as usize).min(8);
    let all = if digits < 0 {
        format!("{value:08X}")
    } else {
        format!("{value:08x}")
    };
    Ok(all[8 - count..].to_owned())
}

fn bits(lua: &Lua, args: &MultiValue, at: usize, name: &str) -> mlua::Result<u32> {
    let number = args.get(at).map(|value| lua.coerce_number(value.clone()));
    if let Some(Ok(Some(number))) = number {
        return Ok((number + SHIFT).to_bits() as u32);
    }
    Err(bad_argument(lua, args, at, (name, "number")))
}

fn signed(bits: u32) -> i32 {
    bits.cast_signed()
}
