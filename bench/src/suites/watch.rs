//! Looks at a server while a load runs on it, once an interval: what it wrote to its device, and
//! whether it cleaned.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::peers::Running;
use crate::peers::client::info_number;
use crate::results::Point;

/// Counters of a server at one moment; absent are those that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    device_written_bytes: Option<u64>,
    /// Bytes that its cleaner has moved.
    relocated_bytes: Option<f64>,
}

/// Marks at the end of each interval, the first of them at the start.
#[derive(Debug, Default)]
pub(super) struct Watch {
    marks: Vec<Mark>,
}

impl Watch {
    /// Runs `work`, and looks at `server` at its start and after every `interval`.
    pub(super) fn during<T>(
        server: &Running,
        interval: Duration,
        work: impl FnOnce() -> T,
    ) -> (T, Self) {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let looks = scope.spawn(|| Self::look(server, interval, &is_done));
            let done = work();
            is_done.store(true, Ordering::Relaxed);
            looks.thread().unpark();
            let watch = looks.join().expect("the watching thread does not panic");
            (done, watch)
        })
    }

    fn look(server: &Running, interval: Duration, is_done: &AtomicBool) -> Self {
        let started = Instant::now();
        let mut marks = vec![Mark::of(server)];
        let mut due = interval;
        while !is_done.load(Ordering::Relaxed) {
            let left = due.saturating_sub(started.elapsed());
            if left.is_zero() {
                marks.push(Mark::of(server));
                due += interval;
            } else {
                thread::park_timeout(left);
            }
        }
        Self { marks }
    }

    /// Puts what was seen beside the intervals of the load, which begin at the same moment.
    pub(super) fn annotate(&self, points: &mut [Point]) {
        for (point, pair) in points.iter_mut().zip(self.marks.windows(2)) {
            let (was, is) = (pair[0], pair[1]);
            let written = is.device_written_bytes.zip(was.device_written_bytes);
            point.device_written_bytes = written.map(|(is, was)| is.saturating_sub(was));
            let relocated = is.relocated_bytes.zip(was.relocated_bytes);
            point.cleaning = relocated.map(|(is, was)| is > was);
        }
    }
}

impl Mark {
    fn of(server: &Running) -> Self {
        let info = server.info();
        // A RAM-backed file is no device to the kernel; a store that counts for itself is.
        let told = info_number(&info, "device_written_bytes");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of bytes"
        )]
        let told = told.map(|bytes| bytes as u64);
        let counted = server.usage().ok().map(|usage| usage.device_written_bytes);
        Self {
            device_written_bytes: told.or(counted),
            relocated_bytes: info_number(&info, "cleaner_relocated_bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_show_what_grew_in_them() {
        let mark = |written, relocated| Mark {
            device_written_bytes: Some(written),
            relocated_bytes: relocated,
        };
        let watch = Watch {
            marks: vec![
                mark(10, Some(0.0)),
                mark(30, Some(0.0)),
                mark(35, Some(4.0)),
            ],
        };
        let mut points = vec![Point::default(); 3];
        watch.annotate(&mut points);
        let seen: Vec<_> = points
            .iter()
            .map(|point| (point.device_written_bytes, point.cleaning))
            .collect();
        assert_eq!(
            seen,
            [(Some(20), Some(false)), (Some(5), Some(true)), (None, None)]
        );
        let watch = Watch {
            marks: vec![mark(1, None), mark(2, None)],
        };
        watch.annotate(&mut points);
        assert_eq!(points[0].cleaning, None);
    }
}
