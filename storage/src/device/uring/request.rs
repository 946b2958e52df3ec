//! One request to the kernel: how it is put, and what its result means. Owns the bound on
//! resubmissions and the meaning of error numbers; must never touch the ring.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use io_uring::{opcode, squeue, types};

use super::super::WriteSync;
use super::super::counters::ChannelCounters;
use super::super::error::{DeviceError, Operation};
use crate::units::Extent;

/// A request is put to the kernel at most this often. Transfers are at most a few MiB and a kernel
/// that transfers less than a sixteenth of it at a time, or says EAGAIN that often, is broken.
const ATTEMPTS_MAX: u32 = 16;

/// One request moves at most this many bytes at a time: the kernel's count is 31 bits.
const STEP_BYTES_MAX: u64 = 1 << 30;

/// Where a worker's requests to one device go.
pub(super) struct Target {
    /// The worker's own descriptor.
    pub(super) file: File,
    /// The device's own descriptor, whose lock keeps other processes out.
    pub(super) _held: Arc<File>,
    /// The device's name.
    pub(super) name: Arc<str>,
    /// The device's block.
    pub(super) block_bytes: u32,
    /// What this worker did there.
    pub(super) counters: Arc<ChannelCounters>,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Read(NonNull<u8>),
    Write(NonNull<u8>, WriteSync),
    Flush,
    Allocate,
    Discard,
}

impl Action {
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Read(_) => Operation::Read,
            Self::Write(..) => Operation::Write,
            Self::Flush => Operation::Flush,
            Self::Allocate => Operation::Allocate,
            Self::Discard => Operation::Discard,
        }
    }
}

/// A request and how far it came.
pub(super) struct Request {
    pub(super) action: Action,
    pub(super) target: Rc<Target>,
    pub(super) extent: Extent,
    /// Bytes transferred so far.
    pub(super) done_bytes: u64,
    attempts: u32,
    /// When it was asked for, in the clock's microseconds.
    pub(super) started_us: u64,
    /// Its caller was told that it timed out.
    pub(super) expired: bool,
}

/// What to do after the kernel answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Put it again, from where it stands.
    Again,
    /// A read met the end of the file: the rest is zeros.
    EndOfFile,
    /// It is over.
    Over(Result<(), DeviceError>),
}

impl Request {
    pub(super) fn new(action: Action, target: Rc<Target>, extent: Extent, started_us: u64) -> Self {
        Self {
            action,
            target,
            extent,
            done_bytes: 0,
            attempts: 0,
            started_us,
            expired: false,
        }
    }

    /// The kernel's form of what is left to do.
    pub(super) fn entry(&self) -> squeue::Entry {
        let descriptor = types::Fd(self.target.file.as_raw_fd());
        let offset = self.extent.offset + self.done_bytes;
        let bytes = (self.extent.bytes - self.done_bytes).min(STEP_BYTES_MAX) as u32;
        let address = |start: NonNull<u8>| start.as_ptr().wrapping_add(self.done_bytes as usize);
        match self.action {
            Action::Read(start) => opcode::Read::new(descriptor, address(start), bytes)
                .offset(offset)
                .build(),
            Action::Write(start, sync) => {
                let flags = match sync {
                    WriteSync::None => 0,
                    WriteSync::Durable => libc::RWF_DSYNC,
                };
                let write = opcode::Write::new(descriptor, address(start), bytes).offset(offset);
                write.rw_flags(flags).build()
            }
            Action::Flush => opcode::Fsync::new(descriptor)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Action::Allocate => opcode::Fallocate::new(descriptor, self.extent.bytes)
                .offset(offset)
                .build(),
            Action::Discard => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                let punch = opcode::Fallocate::new(descriptor, self.extent.bytes).offset(offset);
                punch.mode(mode).build()
            }
        }
    }

    /// Takes the kernel's answer: bytes transferred, or a negative error number.
    pub(super) fn advance(&mut self, result: i32) -> Step {
        self.attempts += 1;
        if result < 0 {
            return self.failed(-result);
        }
        match self.action {
            Action::Flush | Action::Allocate | Action::Discard => Step::Over(Ok(())),
            Action::Read(_) | Action::Write(..) => {
                self.transferred(u64::from(result.unsigned_abs()))
            }
        }
    }

    fn transferred(&mut self, bytes: u64) -> Step {
        let block_bytes = u64::from(self.target.block_bytes);
        if self.done_bytes + bytes >= self.extent.bytes {
            self.done_bytes = self.extent.bytes;
            return Step::Over(Ok(()));
        }
        if matches!(self.action, Action::Read(_))
            && (bytes == 0 || !bytes.is_multiple_of(block_bytes))
        {
            self.done_bytes += bytes;
            return Step::EndOfFile;
        }
        // The next step starts at a whole block, as direct I/O wants it.
        self.done_bytes += bytes - bytes % block_bytes;
        if self.attempts < ATTEMPTS_MAX {
            Step::Again
        } else {
            Step::Over(Err(self.error(libc::EIO)))
        }
    }

    fn failed(&self, errno: i32) -> Step {
        let again = matches!(errno, libc::EAGAIN | libc::EINTR);
        if again && self.attempts < ATTEMPTS_MAX {
            return Step::Again;
        }
        if errno == libc::EOPNOTSUPP && matches!(self.action, Action::Discard) {
            return Step::Over(Ok(())); // giving room back is a favour
        }
        Step::Over(Err(self.error(errno)))
    }

    fn error(&self, errno: i32) -> DeviceError {
        DeviceError::from_errno(
            &self.target.name,
            self.action.operation(),
            self.extent,
            errno,
        )
    }

    /// What its caller is told when it takes too long.
    pub(super) fn timed_out(&self) -> DeviceError {
        let device = Arc::clone(&self.target.name);
        DeviceError::TimedOut {
            device,
            operation: self.action.operation(),
            extent: self.extent,
        }
    }

    /// Counts its end.
    pub(super) fn count(&self, succeeded: bool) {
        self.target
            .counters
            .count(self.action.operation(), self.extent.bytes, succeeded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(action: Action) -> Request {
        let file = File::open("/dev/null").unwrap();
        let held = Arc::new(file.try_clone().unwrap());
        let counters = Arc::new(ChannelCounters::default());
        let target = Target {
            file,
            _held: held,
            name: Arc::from("test"),
            block_bytes: 512,
            counters,
        };
        Request::new(
            action,
            Rc::new(target),
            Extent {
                offset: 0,
                bytes: 4096,
            },
            0,
        )
    }

    fn errno(step: Step) -> i32 {
        match step {
            Step::Over(Err(DeviceError::Io { errno, .. })) => errno,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn short_transfers_go_on_from_a_whole_block() {
        let mut write = request(Action::Write(NonNull::dangling(), WriteSync::None));
        assert_eq!(write.advance(1300), Step::Again);
        assert_eq!(write.done_bytes, 1024);
        assert_eq!(write.advance(3072), Step::Over(Ok(())));
        let mut read = request(Action::Read(NonNull::dangling()));
        assert_eq!(read.advance(1024), Step::Again);
        assert_eq!(read.advance(3072), Step::Over(Ok(())));
    }

    #[test]
    fn the_end_of_the_file_is_no_error_for_a_read() {
        let mut read = request(Action::Read(NonNull::dangling()));
        assert_eq!(read.advance(512), Step::Again);
        assert_eq!(read.advance(0), Step::EndOfFile);
        assert_eq!(read.done_bytes, 512);
        // A file that does not end at a block, as one cut by hand.
        let mut read = request(Action::Read(NonNull::dangling()));
        assert_eq!(read.advance(700), Step::EndOfFile);
        assert_eq!(read.done_bytes, 700);
    }

    #[test]
    fn resubmission_is_bounded() {
        for stubborn in [0, -libc::EAGAIN, -libc::EINTR] {
            let mut write = request(Action::Write(NonNull::dangling(), WriteSync::None));
            let again = (0..2 * ATTEMPTS_MAX).find(|_| write.advance(stubborn) != Step::Again);
            assert_eq!(again, Some(ATTEMPTS_MAX - 1));
        }
        let mut write = request(Action::Write(NonNull::dangling(), WriteSync::None));
        write.attempts = ATTEMPTS_MAX - 1;
        assert_eq!(errno(write.advance(0)), libc::EIO);
    }

    #[test]
    fn errors_keep_their_number_and_a_full_device_its_name() {
        assert_eq!(errno(request(Action::Flush).advance(-libc::EIO)), libc::EIO);
        let full = request(Action::Allocate).advance(-libc::ENOSPC);
        assert!(matches!(full, Step::Over(Err(DeviceError::NoSpace { .. }))));
        assert_eq!(
            request(Action::Discard).advance(-libc::EOPNOTSUPP),
            Step::Over(Ok(()))
        );
        assert_eq!(
            errno(request(Action::Allocate).advance(-libc::EOPNOTSUPP)),
            libc::EOPNOTSUPP
        );
    }
}
