//! Inline requests: a line of words as typed into telnet, with Redis's quoting.
//!
//! Owns only the splitting of one line.

use bytes::Bytes;

use super::{Args, ProtocolError};

/// The words of a line with this quoting; nothing where a quote is not closed.
pub fn split_words(line: &[u8]) -> Option<Args> {
    let mut words = Args::new();
    let line = Bytes::copy_from_slice(line);
    split_line(&line, &mut words).ok().map(|()| words)
}

/// Splits a line (without its end) into arguments.
///
/// Words are separated by white space. A double-quoted word knows `\n`, `\r`, `\t`, `\b`, `\a`,
/// `\xHH` and takes any other escaped byte as it is; a single-quoted one knows only `\'`. A closing
/// quote must be followed by white space or the line's end.
pub(super) fn split_line(line: &Bytes, args: &mut Args) -> Result<(), ProtocolError> {
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        if at == line.len() {
            return Ok(());
        }
        at = split_word(line, at, args)?;
    }
}

/// Takes the word that begins at `start` and returns where it ends.
fn split_word(line: &Bytes, start: usize, args: &mut Args) -> Result<usize, ProtocolError> {
    let mut plain_end = start;
    while line
        .get(plain_end)
        .is_some_and(|byte| !is_space(*byte) && !is_quote(*byte))
    {
        plain_end += 1;
    }
    if line.get(plain_end).is_none_or(|byte| is_space(*byte)) {
        args.push(line.slice(start..plain_end));
        return Ok(plain_end);
    }
    let mut word = line[start..plain_end].to_vec();
    let mut at = plain_end;
    while let Some(byte) = line.get(at).copied().filter(|byte| !is_space(*byte)) {
        at += 1;
        match byte {
            b'"' | b'\'' => {
                at = unquote(line, at, byte, &mut word)?;
                // what follows a closing quote begins another word, or nothing may follow
                if line.get(at).is_some_and(|byte| !is_space(*byte)) {
                    return Err(ProtocolError::UnbalancedQuotes);
                }
                break;
            }
            plain => word.push(plain),
        }
    }
    args.push(Bytes::from(word));
    Ok(at)
}

/// Appends what stands between the quote before `at` and its partner; returns what follows that.
fn unquote(
    line: &[u8],
    mut at: usize,
    quote: u8,
    word: &mut Vec<u8>,
) -> Result<usize, ProtocolError> {
    loop {
        let byte = *line.get(at).ok_or(ProtocolError::UnbalancedQuotes)?;
        at += 1;
        if byte == quote {
            return Ok(at);
        }
        if byte != b'\\' {
            word.push(byte);
            continue;
        }
        let rest = &line[at..];
        at += if quote == b'"' {
            unescape(rest, word)
        } else {
            unescape_single(rest, word)
        };
    }
}

/// Appends what the bytes after a backslash in double quotes stand for; returns how many they are.
fn unescape(rest: &[u8], word: &mut Vec<u8>) -> usize {
    if let [b'x', high, low, ..] = rest
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        word.push(high << 4 | low);
        return 3;
    }
    let Some(byte) = rest.first() else {
        word.push(b'\\');
        return 0;
    };
    word.push(match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => *other,
    });
    1
}

/// The same in single quotes, where only the quote itself can be escaped.
fn unescape_single(rest: &[u8], word: &mut Vec<u8>) -> usize {
    if rest.first() == Some(&b'\'') {
        word.push(b'\'');
        return 1;
    }
    word.push(b'\\');
    0
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&[u8]]) {
        let mut args = Args::new();
        split_line(&Bytes::copy_from_slice(line.as_bytes()), &mut args).unwrap();
        assert_eq!(&args[..], expected);
    }

    #[test]
    fn splits_words_and_quotes() {
        check("", &[]);
        check("   ", &[]);
        check(" set  a\tb ", &[b"set", b"a", b"b"]);
        check(r#"set k "a b\x41\n\q""#, &[b"set", b"k", b"a bA\nq"]);
        check(r"set k 'a\'b\n'", &[b"set", b"k", br"a'b\n"]);
        check(r#"pre"fix ed" x"#, &[b"prefix ed", b"x"]);
        check(r#""" ''"#, &[b"", b""]);
        check(r#""\xzz""#, &[b"xzz"]);
    }

    #[test]
    fn refuses_unbalanced_quotes() {
        for line in [r#"set "a"#, "set 'a", r#""a"b"#, r"'a'b", r#""a\"#] {
            let mut args = Args::new();
            let line = Bytes::copy_from_slice(line.as_bytes());
            assert_eq!(
                split_line(&line, &mut args),
                Err(ProtocolError::UnbalancedQuotes)
            );
        }
    }
}
