//! Redis's glob patterns: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a literal byte.
//!
//! Owns matching, which takes at most `pattern × text` steps and no memory. Bytes, not characters.

/// Whether `pattern` matches all of `text`.
///
/// Two corners are as in Redis: an empty text is matched by the empty pattern only, not by `*`
/// (KEYS and SCAN treat a lone `*` as no pattern at all), and a class without its `]` ends with
/// the pattern.
pub fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut pattern_at, mut text_at) = (0, 0);
    // after a `*`: where its rest begins, and the first byte of text that it has not swallowed
    let mut star: Option<(usize, usize)> = None;
    while text_at < text.len() {
        let step = match pattern.get(pattern_at) {
            Some(b'*') => {
                pattern_at += 1;
                if pattern_at == pattern.len() {
                    return true;
                }
                star = Some((pattern_at, text_at));
                continue;
            }
            Some(_) => match_one(&pattern[pattern_at..], text[text_at]),
            None => None,
        };
        match (step, star) {
            (Some(consumed), _) => {
                pattern_at += consumed;
                text_at += 1;
            }
            (None, Some((rest, swallowed))) => {
                star = Some((rest, swallowed + 1));
                (pattern_at, text_at) = (rest, swallowed + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[pattern_at..].iter().all(|byte| *byte == b'*')
}

/// Whether the pattern's first element, which is no `*`, matches `byte`: its length, or nothing.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => {
            let (matched, len) = match_class(class, byte);
            matched.then_some(len + 1)
        }
        [b'\\', literal, ..] => (*literal == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// Whether the class whose `[` stands before `class` contains `byte`, and its length with the `]`.
fn match_class(class: &[u8], byte: u8) -> (bool, usize) {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    loop {
        match class[at..] {
            [] => return (found != negated, at),
            [b']', ..] => return (found != negated, at + 1),
            [b'\\', literal, ..] => {
                found |= literal == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                found |= (from.min(to)..=from.max(to)).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                found |= literal == byte;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_match;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        for text in matching {
            assert!(
                is_match(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        for text in others {
            assert!(
                !is_match(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn literals_and_wildcards() {
        check("", &[""], &["a"]);
        check("*", &["a", "abc"], &[""]);
        check("h?llo", &["hello", "hallo"], &["hllo", "heello"]);
        check("h*llo", &["hllo", "heeeello"], &["hell", "xhllo"]);
        check("*a*b*", &["ab", "xaxbx", "aab"], &["ba", "a", "b"]);
        check("a**", &["a", "ab"], &["", "b"]);
        check("*abc", &["abc", "ababc", "abcabc"], &["abcd"]);
    }

    #[test]
    fn classes() {
        check("h[ae]llo", &["hello", "hallo"], &["hillo", "hllo"]);
        check("h[^e]llo", &["hallo", "hbllo"], &["hello"]);
        check("[a-c]", &["a", "b", "c"], &["d", "-", ""]);
        check("[c-a]", &["a", "b", "c"], &["d"]);
        check("[a\\]b]", &["a", "]", "b"], &["\\"]);
        check("[]a]", &[], &["]", "a", "]a]"]);
        check("[^]", &["x"], &["^x"]);
    }

    #[test]
    fn classes_without_an_end() {
        check("[ab", &["a", "b"], &["c", "[ab"]);
        check("[", &[], &["[", "a"]);
        check("[^", &["x"], &[""]);
        check("[a-", &["a", "-"], &["b"]);
    }

    #[test]
    fn escapes() {
        check("a\\*", &["a*"], &["ab", "a\\*"]);
        check("a\\?b", &["a?b"], &["axb"]);
        check("a\\", &["a\\"], &["a"]);
        check("\\[a]", &["[a]"], &["a"]);
    }

    #[test]
    fn long_failures_take_few_steps() {
        let pattern = "*a".repeat(60) + "b";
        assert!(!is_match(pattern.as_bytes(), "a".repeat(20_000).as_bytes()));
    }

    #[test]
    fn bytes_beyond_ascii() {
        assert!(is_match(b"\xff?\x00*", b"\xff\xfe\x00"));
        assert!(is_match(b"[\x80-\xff]", b"\x90"));
    }
}
