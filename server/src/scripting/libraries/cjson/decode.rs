//! JSON as values of Lua.
//!
//! Owns the grammar and what is said where a text leaves it.

use mlua::{Lua, Value};

use super::Settings;

/// The outer error is Lua's, such as a want of memory.
type Read = mlua::Result<Result<Value, String>>;

/// The value of a JSON text, or what is wrong with that.
pub(super) fn value_of(lua: &Lua, text: &[u8], settings: &Settings) -> Read {
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Ok(Err(
            "JSON parser does not support UTF-16 or UTF-32".to_owned()
        ));
    }
    let mut decoder = Decoder {
        lua,
        text,
        at: 0,
        settings,
    };
    let first = decoder.token();
    let value = decoder.value(first, 0)?;
    if value.is_err() {
        return Ok(value);
    }
    let last = decoder.token();
    Ok(match last.kind {
        Kind::End => value,
        _ => Err(last.unexpected("the end")),
    })
}

enum Kind {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Flaw(&'static str),
}

struct Token {
    kind: Kind,
    at: usize,
}

impl Token {
    fn unexpected(&self, expected: &str) -> String {
        let found = match &self.kind {
            Kind::ObjectBegin => "T_OBJ_BEGIN",
            Kind::ObjectEnd => "T_OBJ_END",
            Kind::ArrayBegin => "T_ARR_BEGIN",
            Kind::ArrayEnd => "T_ARR_END",
            Kind::String(_) => "T_STRING",
            Kind::Number(_) => "T_NUMBER",
            Kind::Boolean(_) => "T_BOOLEAN",
            Kind::Null => "T_NULL",
            Kind::Colon => "T_COLON",
            Kind::Comma => "T_COMMA",
            Kind::End => "T_END",
            Kind::Flaw(text) => text,
        };
        let place = self.at + 1;
        format!("Expected {expected} but found {found} at character {place}")
    }
}

struct Decoder<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    at: usize,
    settings: &'a Settings,
}

impl Decoder<'_> {
    fn value(&mut self, token: Token, depth: i64) -> Read {
        Ok(Ok(match token.kind {
            Kind::String(text) => Value::String(self.lua.create_string(text)?),
            Kind::Number(number) => Value::Number(number),
            Kind::Boolean(is_true) => Value::Boolean(is_true),
            Kind::Null => Value::NULL,
            Kind::ObjectBegin => return self.object(depth + 1),
            Kind::ArrayBegin => return self.array(depth + 1),
            _ => return Ok(Err(token.unexpected("value"))),
        }))
    }

    fn too_deep(&self, depth: i64) -> Option<String> {
        let at = self.at;
        (depth > self.settings.decode_depth_max.get())
            .then(|| format!("Found too many nested data structures ({depth}) at character {at}"))
    }

    fn object(&mut self, depth: i64) -> Read {
        if let Some(text) = self.too_deep(depth) {
            return Ok(Err(text));
        }
        let table = self.lua.create_table()?;
        let mut token = self.token();
        if matches!(token.kind, Kind::ObjectEnd) {
            return Ok(Ok(Value::Table(table)));
        }
        loop {
            let Kind::String(key) = token.kind else {
                return Ok(Err(token.unexpected("object key string")));
            };
            let colon = self.token();
            if !matches!(colon.kind, Kind::Colon) {
                return Ok(Err(colon.unexpected("colon")));
            }
            let first = self.token();
            match self.value(first, depth)? {
                Ok(value) => table.raw_set(self.lua.create_string(key)?, value)?,
                flaw => return Ok(flaw),
            }
            let next = self.token();
            match next.kind {
                Kind::ObjectEnd => return Ok(Ok(Value::Table(table))),
                Kind::Comma => token = self.token(),
                _ => return Ok(Err(next.unexpected("comma or object end"))),
            }
        }
    }

    fn array(&mut self, depth: i64) -> Read {
        if let Some(text) = self.too_deep(depth) {
            return Ok(Err(text));
        }
        let table = self.lua.create_table()?;
        let mut token = self.token();
        if matches!(token.kind, Kind::ArrayEnd) {
            return Ok(Ok(Value::Table(table)));
        }
        for index in 1.. {
            match self.value(token, depth)? {
                Ok(value) => table.raw_set(index, value)?,
                flaw => return Ok(flaw),
            }
            let next = self.token();
            match next.kind {
                Kind::ArrayEnd => break,
                Kind::Comma => token = self.token(),
                _ => return Ok(Err(next.unexpected("comma or array end"))),
            }
        }
        Ok(Ok(Value::Table(table)))
    }

    fn token(&mut self) -> Token {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let at = self.at;
        let single = match self.peek() {
            b'{' => Kind::ObjectBegin,
            b'}' => Kind::ObjectEnd,
            b'[' => Kind::ArrayBegin,
            b']' => Kind::ArrayEnd,
            b':' => Kind::Colon,
            b',' => Kind::Comma,
            // a zero byte is the end of the text, as for C
            0 => {
                let kind = Kind::End;
                return Token { kind, at };
            }
            b'"' => return self.string(),
            _ => return self.word(),
        };
        self.at += 1;
        Token { kind: single, at }
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn word(&mut self) -> Token {
        let at = self.at;
        let rest = &self.text[at..];
        let may_be_invalid = self.settings.invalid_decoded.get();
        let is_number = matches!(rest[0], b'-' | b'0'..=b'9');
        if is_number && !may_be_invalid && is_invalid_number(rest) {
            let kind = Kind::Flaw("invalid number");
            return Token { kind, at };
        }
        if is_number || (may_be_invalid && is_invalid_number(rest)) {
            return match number_at(rest) {
                Some((number, length)) => {
                    self.at += length;
                    let kind = Kind::Number(number);
                    Token { kind, at }
                }
                None => Token {
                    kind: Kind::Flaw("invalid number"),
                    at,
                },
            };
        }
        let (kind, length) = if rest.starts_with(b"true") {
            (Kind::Boolean(true), 4)
        } else if rest.starts_with(b"false") {
            (Kind::Boolean(false), 5)
        } else if rest.starts_with(b"null") {
            (Kind::Null, 4)
        } else {
            (Kind::Flaw("invalid token"), 0)
        };
        self.at += length;
        Token { kind, at }
    }

    fn string(&mut self) -> Token {
        let start = self.at;
        self.at += 1;
        let mut text = Vec::new();
        let flaw = loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    let kind = Kind::String(text);
                    return Token { kind, at: start };
                }
                0 if self.at >= self.text.len() => break "unexpected end of string",
                0 => break "unexpected end of string",
                b'\\' => match self.escape(&mut text) {
                    Ok(()) => {}
                    Err(flaw) => break flaw,
                },
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        };
        let kind = Kind::Flaw(flaw);
        Token { kind, at: self.at }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), &'static str> {
        let byte = match self.text.get(self.at + 1) {
            Some(b'"') => b'"',
            Some(b'\\') => b'\\',
            Some(b'/') => b'/',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(text).ok_or("invalid unicode escape code"),
            _ => return Err("invalid escape code"),
        };
        text.push(byte);
        self.at += 2;
        Ok(())
    }

    fn unicode(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let mut code = self.code_at(self.at)?;
        let mut length = 6;
        if (0xdc00..0xe000).contains(&code) {
            return None;
        }
        if (0xd800..0xdc00).contains(&code) {
            let low = self.code_at(self.at + length)?;
            if !(0xdc00..0xe000).contains(&low) {
                return None;
            }
            code = 0x1_0000 + ((code & 0x3ff) << 10 | low & 0x3ff);
            length *= 2;
        }
        let letter = char::from_u32(code)?;
        let mut room = [0; 4];
        text.extend_from_slice(letter.encode_utf8(&mut room).as_bytes());
        self.at += length;
        Some(())
    }

    /// The code of `\uXXXX` at a place.
    fn code_at(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |code, digit| {
            Some(code << 4 | char::from(*digit).to_digit(16)?)
        })
    }
}

/// Whether it is a number for C but not for JSON.
fn is_invalid_number(text: &[u8]) -> bool {
    if text[0] == b'+' {
        return true;
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
        [b'0'..=b'9', ..] => false,
        _ => {
            let word = &digits[..digits.len().min(3)];
            word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
        }
    }
}

/// The number that a text begins with as C's `strtod` reads it, and its length.
fn number_at(text: &[u8]) -> Option<(f64, usize)> {
    let sign_length = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let sign = if text.first() == Some(&b'-') {
        -1.0
    } else {
        1.0
    };
    let digits = &text[sign_length..];
    for (word, number) in [
        (&b"infinity"[..], f64::INFINITY),
        (b"inf", f64::INFINITY),
        (b"nan", f64::NAN),
    ] {
        let found = digits.get(..word.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(word)) {
            return Some((sign * number, sign_length + word.len()));
        }
    }
    if let [b'0', b'x' | b'X', hex @ ..] = digits {
        let count = hex
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if count > 0 {
            let number = hex[..count].iter().fold(0.0, |number, digit| {
                let digit = char::from(*digit).to_digit(16).unwrap_or(0);
                number * 16.0 + f64::from(digit)
            });
            return Some((sign * number, sign_length + 2 + count));
        }
    }
    let length = decimal_length(digits)?;
    let digits = std::str::from_utf8(&digits[..length]).ok()?;
    let number: f64 = digits.parse().ok()?;
    Some((sign * number, sign_length + length))
}

/// Bytes of the decimal number that a text begins with.
fn decimal_length(text: &[u8]) -> Option<usize> {
    let digits_at = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = digits_at(0);
    let mut length = whole;
    if text.get(length) == Some(&b'.') {
        let fraction = digits_at(length + 1);
        if whole + fraction > 0 {
            length += 1 + fraction;
        }
    }
    if length == 0 {
        return None;
    }
    if matches!(text.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits_at(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    Some(length)
}
