//! The first line of a library: `#!lua name=mylib`.
//!
//! Owns the texts about it.

use super::catalog::is_name;
use crate::command::CommandError;
use crate::resp::split_words;

/// The library's name, and where its Lua begins: at the end of the first line, so that lines count
/// as their author counts them.
pub(crate) fn library_name(text: &[u8]) -> Result<(String, usize), CommandError> {
    let refuse = |text: &str| Err(CommandError::other(format!("ERR {text}")));
    if !text.starts_with(b"#!") {
        return refuse("Missing library metadata");
    }
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return refuse("Invalid library metadata");
    };
    let Some(words) = split_words(&text[..end]) else {
        return refuse("Invalid library metadata");
    };
    let mut words = words.iter().map(|word| String::from_utf8_lossy(word));
    let first = words.next().unwrap_or_default();
    let engine = first.strip_prefix("#!").unwrap_or_default();
    let mut name = None;
    for word in words {
        let Some(given) = word.strip_prefix("name=") else {
            return refuse(&format!("Invalid metadata value given: {word}"));
        };
        if name.is_some() {
            return refuse("Invalid metadata value, name argument was given multiple times");
        }
        name = Some(given.to_owned());
    }
    let Some(name) = name else {
        return refuse("Library name was not given");
    };
    if !is_name(name.as_bytes()) {
        return refuse(
            "Library names can only contain letters, numbers, or underscores(_) and must be at \
             least one character long",
        );
    }
    if !engine.eq_ignore_ascii_case("lua") {
        return refuse(&format!("Engine '{engine}' not found"));
    }
    Ok((name, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, usize), &str>) {
        let found = library_name(text.as_bytes()).map_err(|error| error.to_string());
        let expected = expected.map(|(name, end)| (name.to_owned(), end));
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn the_first_line_names_the_library() {
        check("#!lua name=a_1\nx", Ok(("a_1", 14)));
        check("#!LUA name=a\n", Ok(("a", 12)));
        check("#!lua name=\"a\"\n", Ok(("a", 14)));
        check("#!lua name=\"a\n", Err("ERR Invalid library metadata"));
        check("#! name=a\n", Err("ERR Engine '' not found"));
        check("x", Err("ERR Missing library metadata"));
        check("#!lua\nx", Err("ERR Library name was not given"));
        check("#!js name=c\nx", Err("ERR Engine 'js' not found"));
        check(
            "#!lua name=c foo=1\nx",
            Err("ERR Invalid metadata value given: foo=1"),
        );
    }
}
