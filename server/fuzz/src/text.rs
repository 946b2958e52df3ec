//! Patterns that clients send.

use cellar_server::keyspace::is_match;

use crate::input::Input;
use crate::{MUTATIONS, Target};

/// A glob pattern and a text.
pub(crate) const GLOB: Target = Target {
    name: "glob",
    seeds,
    run,
    mutations: MUTATIONS,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        "3h?llohello",
        "2a*aaab",
        "5[a-c]b",
        "4[^a]x",
        "2[a",
        "1\\",
        "3*\\*a*",
    ]
    .iter()
    .map(|text| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[0] -= b'0';
        bytes
    })
    .collect()
}

/// Any pattern is answered; an escaped text is matched by itself, by itself between stars, and by
/// no longer text.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let pattern_bytes = usize::from(input.u8());
    let pattern = input.bytes(pattern_bytes);
    let text = input.rest();
    let plain = is_match(pattern, text);
    if !text.is_empty() {
        let doubled: Vec<u8> = pattern
            .iter()
            .flat_map(|byte| match byte {
                b'*' => vec![b'*', b'*'],
                other => vec![*other],
            })
            .collect();
        // Inside a class or after a backslash a star is a literal.
        if !pattern.contains(&b'[') && !pattern.contains(&b'\\') {
            assert_eq!(is_match(&doubled, text), plain, "a doubled star");
        }
        let escaped: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
        assert!(is_match(&escaped, text), "a text matches itself");
        assert!(
            is_match(&[b"*", &escaped[..], b"*"].concat(), text),
            "between stars"
        );
        assert!(!is_match(&escaped, &[text, b"x"].concat()), "a longer text");
    }
}
