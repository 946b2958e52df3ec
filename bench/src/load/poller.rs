//! Waits for sockets, or until an operation is due.
//!
//! Owns the epoll instance and its timer. Must never wait past `WAIT_MAX`, so that a cancelled load
//! ends.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timer::Expiration;
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags, TimerSetTimeFlags};

/// How long a wait lasts at most.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// A wait shorter than this is not worth a timer: the kernel takes about as long to wake a thread.
const SPIN_NS_MAX: u64 = 20_000;
/// Events taken at once: more come with the next wait.
const EVENTS_MAX: usize = 256;
/// The timer's mark among the connections' numbers.
const TIMER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Poller {
    epoll: Epoll,
    timer: TimerFd,
    events: [EpollEvent; EVENTS_MAX],
    event_count: usize,
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) connection: usize,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
}

impl Poller {
    pub(super) fn new() -> nix::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        // Edge-triggered, so that the timer need not be read.
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(&timer, EpollEvent::new(edge, TIMER))?;
        Ok(Self {
            epoll,
            timer,
            events: [EpollEvent::empty(); EVENTS_MAX],
            event_count: 0,
        })
    }

    pub(super) fn add(&self, connection: usize, socket: impl AsFd) -> nix::Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, connection as u64);
        self.epoll.add(socket, event)
    }

    /// Whether to tell when the socket takes more.
    pub(super) fn await_write(
        &self,
        connection: usize,
        socket: impl AsFd,
        is_awaited: bool,
    ) -> nix::Result<()> {
        let mut flags = EpollFlags::EPOLLIN;
        flags.set(EpollFlags::EPOLLOUT, is_awaited);
        self.epoll
            .modify(socket, &mut EpollEvent::new(flags, connection as u64))
    }

    /// Waits until a socket is ready or `wait_ns` is over, if it is given; how many events there
    /// are.
    pub(super) fn wait(&mut self, wait_ns: Option<u64>) -> nix::Result<usize> {
        let timeout = match wait_ns {
            Some(0..SPIN_NS_MAX) => EpollTimeout::ZERO,
            Some(wait_ns) => {
                let time = TimeSpec::from_duration(Duration::from_nanos(wait_ns).min(WAIT_MAX));
                self.timer
                    .set(Expiration::OneShot(time), TimerSetTimeFlags::empty())?;
                EpollTimeout::NONE
            }
            None => EpollTimeout::from(WAIT_MAX.as_millis() as u16),
        };
        self.event_count = match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(error),
        };
        Ok(self.event_count)
    }

    /// One of the last wait's events; None of the timer's.
    pub(super) fn event(&self, index: usize) -> Option<Event> {
        let event = &self.events[..self.event_count][index];
        let flags = event.events();
        (event.data() != TIMER).then(|| Event {
            connection: event.data() as usize,
            // A hang-up or an error shows in what a read returns.
            is_readable: flags != EpollFlags::EPOLLOUT,
            is_writable: flags.contains(EpollFlags::EPOLLOUT),
        })
    }
}
