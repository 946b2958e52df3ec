//! What the cleaner is doing, for those who watch it, and the operator's hand on it.
//!
//! Owns the switch and the figures that only the cleaner sets.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::cleaner::pace::Pace;
use crate::error::StoreError;
use crate::store::{CLEANER_SEGMENTS, OPEN_SEGMENTS, Store};

/// What the cleaner is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CleanerState {
    /// Enough segments are free.
    #[default]
    Idle = 0,
    /// It makes free segments, in step with what clients write.
    Cleaning = 1,
    /// It makes free segments as fast as it can: clients have none left to open.
    Emergency = 2,
    /// An operator paused it: no segment is cleaned. A turn that had begun is finished.
    Paused = 3,
    /// A write failed; nothing is written until restart.
    Latched = 4,
}

impl CleanerState {
    /// The state in a word, as INFO shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Cleaning => "cleaning",
            Self::Emergency => "emergency",
            Self::Paused => "paused",
            Self::Latched => "latched",
        }
    }
}

/// The cleaner's figures: counts and bytes since the start or the last reset of the statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CleanerStats {
    /// What it is doing.
    pub state: CleanerState,
    /// Turns: choices of victims that were cleaned together.
    pub turns: u64,
    /// Segments whose survivors were moved.
    pub segments_cleaned: u64,
    /// Segments made free.
    pub segments_freed: u64,
    /// Segments set aside since the start because they are damaged; they stay in use.
    pub segments_damaged: u64,
    /// Bytes read from the devices.
    pub read_bytes: u64,
    /// Bytes written to the devices.
    pub written_bytes: u64,
    /// Bytes of records that were live and were moved.
    pub relocated_bytes: u64,
    /// Bytes of records that were dead and are gone.
    pub dropped_bytes: u64,
    /// Bytes of log written for each byte of clients'; 0 before anything was written.
    pub write_amplification: f64,
    /// Tombstones that were moved, since something older may still be there.
    pub tombstones_carried: u64,
    /// Tombstones that are gone.
    pub tombstones_dropped: u64,
    /// Bytes that it may read or write before it waits for more load; below zero: it waits.
    pub credit_bytes: i64,
    /// Turns that began when clients had no segment left to open.
    pub emergencies: u64,
    /// Writes that were refused for want of room while it was paused.
    pub writes_refused: u64,
    /// Why the last turn or segment failed, if any did since the start.
    pub last_error: Option<String>,
}

/// The cleaner as others see it.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    pub(super) pace: Pace,
    is_paused: AtomicBool,
    /// Whether a refused write was logged since the pause began.
    is_refusal_logged: AtomicBool,
    /// A turn is under way: what [`CleanerState`] it is in, or idle.
    turn: AtomicU8,
    turn_ended: Notify,
    damaged: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Cleaner {
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::SeqCst)
    }

    fn is_busy(&self) -> bool {
        self.turn.load(Ordering::SeqCst) != CleanerState::Idle as u8
    }

    pub(super) fn begin_turn(&self, is_emergency: bool) {
        let state = if is_emergency {
            CleanerState::Emergency
        } else {
            CleanerState::Cleaning
        };
        self.turn.store(state as u8, Ordering::SeqCst);
    }

    pub(super) fn end_turn(&self) {
        self.turn.store(CleanerState::Idle as u8, Ordering::SeqCst);
        self.turn_ended.notify_waiters();
    }

    /// Waits until no turn is under way.
    pub(crate) async fn wait_idle(&self) {
        loop {
            let turn_ended = self.turn_ended.notified();
            if !self.is_busy() {
                return;
            }
            turn_ended.await;
        }
    }

    pub(super) fn note_damaged(&self, error: &StoreError) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
        self.note_error(error);
    }

    pub(super) fn note_error(&self, error: &StoreError) {
        *self.last_error.lock() = Some(error.to_string());
    }

    fn state(&self, is_latched: bool) -> CleanerState {
        if is_latched {
            CleanerState::Latched
        } else if self.is_paused() {
            CleanerState::Paused
        } else if self.turn.load(Ordering::SeqCst) == CleanerState::Emergency as u8 {
            CleanerState::Emergency
        } else if self.is_busy() {
            CleanerState::Cleaning
        } else {
            CleanerState::Idle
        }
    }
}

impl Store {
    /// Stops cleaning after the turn that is under way. Reads and writes go on while there are free
    /// segments; then writes, removals too, fail with [`StoreError::OutOfSpace`] instead of
    /// waiting, until [`Store::resume_cleaner`].
    pub fn pause_cleaner(&self) {
        let cleaner = self.cleaner();
        cleaner.is_refusal_logged.store(false, Ordering::SeqCst);
        if !cleaner.is_paused.swap(true, Ordering::SeqCst) {
            tracing::info!("the cleaner is paused");
        }
        // Whoever waits for room finds out whether it comes.
        self.log().room().notify_waiters();
    }

    /// Lets the cleaner go on.
    pub fn resume_cleaner(&self) {
        if self.cleaner().is_paused.swap(false, Ordering::SeqCst) {
            tracing::info!("the cleaner goes on");
        }
        self.clean_wanted().notify_one();
    }

    /// What the cleaner did and does.
    pub fn cleaner_stats(&self) -> CleanerStats {
        let (cleaner, counters) = (self.cleaner(), self.counters());
        CleanerStats {
            state: cleaner.state(self.log().is_latched()),
            turns: counters.cleaner_turns.get(),
            segments_cleaned: counters.cleaner_segments.get(),
            segments_freed: counters.cleaner_freed_bytes.get() / u64::from(self.segment_bytes()),
            segments_damaged: cleaner.damaged.load(Ordering::Relaxed),
            read_bytes: counters.cleaner_read_bytes.get(),
            written_bytes: counters.cleaner_written_bytes.get(),
            relocated_bytes: counters.cleaner_relocated_bytes.get(),
            dropped_bytes: counters.cleaner_dropped_bytes.get(),
            write_amplification: self.cleaner_amplification(),
            tombstones_carried: counters.tombstones_carried.get(),
            tombstones_dropped: counters.tombstones_dropped.get(),
            credit_bytes: cleaner.pace.credit_bytes(),
            emergencies: counters.cleaner_emergencies.get(),
            writes_refused: counters.writes_refused_paused.get(),
            last_error: cleaner.last_error.lock().clone(),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio of bytes far below 2^52"
    )]
    fn cleaner_amplification(&self) -> f64 {
        let since = self.counters().lsn_at_reset.get();
        let hot = self.log().tail().get().saturating_sub(since);
        if hot == 0 {
            return 0.0;
        }
        1.0 + self.counters().cleaner_relocated_bytes.get() as f64 / hot as f64
    }

    /// Fails when a writer without room would wait for ever, perhaps: for a paused cleaner, or for
    /// one to which damage, or devices that give no segment, have left nothing to clean.
    pub(crate) fn check_room_comes(&self) -> Result<(), StoreError> {
        let (cleaner, segments) = (self.cleaner(), self.segments());
        if cleaner.is_busy()
            || self.log().has_open_segment()
            || segments.free_count() > CLEANER_SEGMENTS
        {
            return Ok(());
        }
        let reason = if cleaner.is_paused() {
            self.counters().writes_refused_paused.add(1);
            "the cleaner is paused"
        } else if segments.usable_count() <= CLEANER_SEGMENTS + OPEN_SEGMENTS {
            "the devices give no more, or damage keeps all others from being cleaned \
             (`cellar check --repair` gives them up)"
        } else {
            return Ok(());
        };
        if !cleaner.is_refusal_logged.swap(true, Ordering::SeqCst) {
            tracing::warn!("no segment is free and {reason}: writes are refused");
        }
        Err(StoreError::OutOfSpace)
    }
}
