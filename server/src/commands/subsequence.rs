//! The longest common subsequence of two byte strings, by the textbook's table.
//!
//! Owns the table, of which only one bit a pair is kept: where the way back leads. Lets others run
//! between rows.

/// Pairs between two chances for other commands of the worker: at 3.5 ns a pair, 30 µs.
const TURN_PAIRS: usize = 8 * 1024;

/// A run of equal bytes that belongs to the subsequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    /// Where it begins in the left string.
    pub(super) left: usize,
    /// Where it begins in the right string.
    pub(super) right: usize,
    /// Bytes, at least one.
    pub(super) len: usize,
}

/// The length of the longest common subsequence.
pub(super) async fn length(left: &[u8], right: &[u8]) -> u32 {
    let mut row = Row::new(right);
    for byte in left {
        row.advance(*byte, |_, _| {}).await;
    }
    row.last()
}

/// For each pair of prefixes where the way back from it leads.
pub(super) struct Table {
    /// One bit a pair, set where the left prefix is the one to shorten.
    shortens_left: Vec<u64>,
    width: usize,
}

impl Table {
    pub(super) async fn compute(left: &[u8], right: &[u8]) -> Self {
        let width = right.len();
        let mut shortens_left = vec![0; (left.len() * width).div_ceil(64)];
        let mut row = Row::new(right);
        for (index, byte) in left.iter().enumerate() {
            let base = index * width;
            row.advance(*byte, |column, is_left| {
                let bit = base + column;
                shortens_left[bit / 64] |= u64::from(is_left) << (bit % 64);
            })
            .await;
        }
        Self {
            shortens_left,
            width,
        }
    }

    /// The runs of one longest common subsequence, from the last to the first: the one that Redis
    /// chooses, which shortens the right string where both ways are equally long.
    pub(super) fn matches(&self, left: &[u8], right: &[u8]) -> Vec<Match> {
        let mut matches: Vec<Match> = Vec::new();
        let (mut i, mut j) = (left.len(), right.len());
        while i > 0 && j > 0 {
            if left[i - 1] != right[j - 1] {
                let bit = (i - 1) * self.width + j - 1;
                if self.shortens_left[bit / 64] >> (bit % 64) & 1 == 1 {
                    i -= 1;
                } else {
                    j -= 1;
                }
                continue;
            }
            match matches.last_mut() {
                Some(run) if run.left == i && run.right == j => {
                    *run = Match {
                        left: i - 1,
                        right: j - 1,
                        len: run.len + 1,
                    };
                }
                _ => matches.push(Match {
                    left: i - 1,
                    right: j - 1,
                    len: 1,
                }),
            }
            (i, j) = (i - 1, j - 1);
        }
        matches
    }
}

/// The table's present row: the lengths for one prefix of the left string and every prefix of the
/// right one.
struct Row<'a> {
    right: &'a [u8],
    lengths: Vec<u32>,
    /// Pairs since the last chance for others.
    pair_count: usize,
}

impl<'a> Row<'a> {
    fn new(right: &'a [u8]) -> Self {
        Self {
            right,
            lengths: vec![0; right.len() + 1],
            pair_count: 0,
        }
    }

    fn last(&self) -> u32 {
        self.lengths[self.right.len()]
    }

    /// Goes on to the prefix that `byte` makes longer. Tells for each column whether the way back
    /// shortens the left string.
    async fn advance(&mut self, byte: u8, mut tell: impl FnMut(usize, bool)) {
        let mut column = 0;
        // lengths[c] above and to the left of the present pair, before it was overwritten
        let mut diagonal = 0;
        while column < self.right.len() {
            let turn_end = self.right.len().min(column + TURN_PAIRS);
            self.pair_count += turn_end - column;
            while column < turn_end {
                let above = self.lengths[column + 1];
                let before = self.lengths[column];
                self.lengths[column + 1] = if self.right[column] == byte {
                    diagonal + 1
                } else {
                    above.max(before)
                };
                tell(column, above > before);
                diagonal = above;
                column += 1;
            }
            if self.pair_count >= TURN_PAIRS {
                self.pair_count = 0;
                tokio::task::yield_now().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &str, right: &str, common: &str, matches: &[(usize, usize, usize)]) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (left, right) = (left.as_bytes(), right.as_bytes());
        assert_eq!(runtime.block_on(length(left, right)) as usize, common.len());
        let found = runtime
            .block_on(Table::compute(left, right))
            .matches(left, right);
        let text: Vec<u8> = found
            .iter()
            .rev()
            .flat_map(|m| left[m.left..m.left + m.len].to_vec())
            .collect();
        assert_eq!(text, common.as_bytes());
        let expected: Vec<Match> = matches
            .iter()
            .map(|&(left, right, len)| Match { left, right, len })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_the_runs_that_redis_finds() {
        check("ohmytext", "mynewtext", "mytext", &[(4, 5, 4), (2, 0, 2)]);
        check("", "abc", "", &[]);
        check("abc", "abc", "abc", &[(0, 0, 3)]);
        check("abc", "xyz", "", &[]);
        check("aXbXc", "abc", "abc", &[(4, 2, 1), (2, 1, 1), (0, 0, 1)]);
    }

    #[test]
    fn yields_inside_long_rows() {
        let long = "ab".repeat(TURN_PAIRS);
        check("b", &long, "b", &[(0, long.len() - 1, 1)]);
    }
}
