//! When a key expires: from the arguments of commands to milliseconds since the Unix epoch.
//!
//! Owns the units and the checks against overflow.

use crate::command::CommandError;

/// How an expiry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeForm {
    /// Counts seconds, not milliseconds.
    pub(super) is_seconds: bool,
    /// Counts from the Unix epoch, not from now.
    pub(super) is_absolute: bool,
}

impl TimeForm {
    pub(super) const SECONDS: Self = Self {
        is_seconds: true,
        is_absolute: false,
    };
    pub(super) const MILLISECONDS: Self = Self {
        is_seconds: false,
        is_absolute: false,
    };
    pub(super) const UNIX_SECONDS: Self = Self {
        is_seconds: true,
        is_absolute: true,
    };
    pub(super) const UNIX_MILLISECONDS: Self = Self {
        is_seconds: false,
        is_absolute: true,
    };

    /// The deadline of `amount`, in milliseconds since the Unix epoch; it may lie in the past, even
    /// before the epoch. Nothing where it overflows.
    pub(super) fn deadline(self, amount: i64, now_ms: u64) -> Option<i64> {
        let amount = if self.is_seconds {
            amount.checked_mul(1000)?
        } else {
            amount
        };
        if self.is_absolute {
            return Some(amount);
        }
        amount.checked_add_unsigned(now_ms)
    }

    /// The deadline of an amount that has to be positive, as all options of SET and GETEX.
    pub(super) fn positive_deadline(
        self,
        amount: i64,
        now_ms: u64,
        command: &'static str,
    ) -> Result<u64, CommandError> {
        if amount <= 0 {
            return Err(invalid_expire_time(command));
        }
        match self.deadline(amount, now_ms).map(u64::try_from) {
            Some(Ok(deadline)) => Ok(deadline),
            _ => Err(invalid_expire_time(command)),
        }
    }
}

/// The error for a time that is not positive or overflows.
pub(super) fn invalid_expire_time(command: &'static str) -> CommandError {
    CommandError::other(format!("ERR invalid expire time in '{command}' command"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_700_000_000_000;

    fn check(form: TimeForm, amount: i64, expected: Option<i64>) {
        assert_eq!(form.deadline(amount, NOW_MS), expected, "{form:?} {amount}");
    }

    #[test]
    fn adds_now_to_relative_times() {
        check(TimeForm::SECONDS, 10, Some(1_700_000_010_000));
        check(TimeForm::MILLISECONDS, -1, Some(1_699_999_999_999));
        check(TimeForm::UNIX_SECONDS, 5, Some(5_000));
        check(TimeForm::UNIX_MILLISECONDS, -5, Some(-5));
    }

    #[test]
    fn notices_overflow() {
        check(TimeForm::SECONDS, i64::MAX / 1000, None);
        check(TimeForm::SECONDS, i64::MIN, None);
        check(TimeForm::MILLISECONDS, i64::MAX, None);
        check(
            TimeForm::UNIX_SECONDS,
            i64::MAX / 1000,
            Some(i64::MAX / 1000 * 1000),
        );
        check(TimeForm::UNIX_MILLISECONDS, i64::MAX, Some(i64::MAX));
    }

    #[test]
    fn options_need_positive_times() {
        let positive = |amount| {
            TimeForm::SECONDS
                .positive_deadline(amount, NOW_MS, "set")
                .map_err(|e| e.to_string())
        };
        let refused = Err("ERR invalid expire time in 'set' command".to_owned());
        assert_eq!(positive(1), Ok(1_700_000_001_000));
        assert_eq!(positive(0), refused);
        assert_eq!(positive(-1), refused);
        assert_eq!(positive(i64::MAX), refused);
    }
}
