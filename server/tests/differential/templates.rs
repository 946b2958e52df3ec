//! Requests from templates: words, slots that are filled from pools, and choices.
//!
//! Owns the notation: `{a|b}` is one of these texts; a word for which there are values is one of
//! them; any other word stands as it is.

use super::random::Random;

pub(crate) type Pool = &'static [&'static [u8]];

/// Values drawn from the pool of a slot.
pub(crate) fn drawn(
    pool: impl Fn(&str) -> Option<Pool>,
) -> impl Fn(&str, &mut Random) -> Option<Vec<u8>> {
    move |slot, random| pool(slot).map(|pool| random.pick(pool).to_vec())
}

/// The arguments that a template stands for; `value` draws one for a slot.
pub(crate) fn fill(
    template: &str,
    random: &mut Random,
    value: impl Fn(&str, &mut Random) -> Option<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let mut arguments = Vec::new();
    let words = |text: &str| -> Vec<Vec<u8>> {
        let words = text.split_whitespace();
        words.map(|word| word.as_bytes().to_vec()).collect()
    };
    let mut rest = template;
    while !rest.is_empty() {
        if let Some(choice) = rest.strip_prefix('{') {
            let (choices, behind) = choice.split_once('}').expect("a choice is closed");
            let choices: Vec<&str> = choices.split('|').collect();
            arguments.extend(words(random.pick::<&str>(&choices)));
            rest = behind.trim_start();
            continue;
        }
        let (slot, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = behind;
        match value(slot, random) {
            Some(value) => arguments.push(value),
            None => arguments.extend(words(slot)),
        }
    }
    arguments
}
