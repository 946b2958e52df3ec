//! The thread that writes the log's lines.
//!
//! Owns the queue before it. A full queue loses lines, and says how many.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Lines that may wait to be written: a burst of every client's closing fits.
const LINE_COUNT_MAX: usize = 16 * 1024;

enum Message {
    Line(Vec<u8>),
    End,
}

/// Takes lines; cheap to clone.
#[derive(Clone)]
pub(super) struct LineSender {
    queue: SyncSender<Message>,
    lost_count: Arc<AtomicU64>,
}

/// The thread that writes them.
pub struct LogThread {
    queue: SyncSender<Message>,
    thread: JoinHandle<()>,
}

impl LogThread {
    /// Writes what is left and ends.
    pub fn finish(self) {
        // a thread that is gone has nothing left to write
        drop(self.queue.send(Message::End));
        drop(self.thread.join());
    }
}

/// Starts the thread.
pub(super) fn start(target: Box<dyn Write + Send>) -> io::Result<(LineSender, LogThread)> {
    let (queue, lines) = sync_channel(LINE_COUNT_MAX);
    let lost_count = Arc::new(AtomicU64::new(0));
    let lost = Arc::clone(&lost_count);
    let thread = std::thread::Builder::new()
        .name("cellar-log".into())
        .spawn(move || write_lines(target, &lines, &lost))?;
    Ok((
        LineSender {
            queue: queue.clone(),
            lost_count,
        },
        LogThread { queue, thread },
    ))
}

fn write_lines(mut target: Box<dyn Write + Send>, lines: &Receiver<Message>, lost: &AtomicU64) {
    while let Ok(Message::Line(line)) = lines.recv() {
        let lost_count = lost.swap(0, Relaxed);
        if lost_count > 0 {
            // nobody is left to be told that the log cannot be written
            drop(writeln!(target, "{lost_count} lines of the log were lost"));
        }
        drop(target.write_all(&line).and_then(|()| target.flush()));
    }
}

impl Write for LineSender {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line.to_vec())) {
            self.lost_count.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
