//! A worker's access to a file or block device through the thread's ring. Owns the worker's
//! descriptor; must never send what the geometry refuses.

use std::rc::Rc;

use super::super::buffer::IoBuffer;
use super::super::error::Operation;
use super::super::memory::HEAP;
use super::super::operation::{Io, Payload};
use super::super::shared::BufferSlice;
use super::super::{Channel, Geometry, WriteSync};
use super::Kind;
use super::request::{Action, Request, Target};
use super::ring::Ring;
use crate::units::Extent;

pub(super) struct UringChannel {
    pub(super) ring: Rc<Ring>,
    pub(super) target: Rc<Target>,
    pub(super) geometry: Geometry,
    pub(super) kind: Kind,
}

impl UringChannel {
    fn request(&self, action: Action, offset: u64, bytes: u64) -> Request {
        let started_us = self.ring.clock().monotonic_us();
        Request::new(
            action,
            Rc::clone(&self.target),
            Extent { offset, bytes },
            started_us,
        )
    }
}

impl Channel for UringChannel {
    fn buffer(&self, bytes: usize) -> IoBuffer {
        IoBuffer::new(
            &HEAP,
            bytes.next_multiple_of(self.geometry.block_bytes as usize),
        )
    }

    fn read(&self, offset: u64, buffer: IoBuffer) -> Io<IoBuffer> {
        let bytes = buffer.len() as u64;
        if let Err(error) = self.geometry.check(Operation::Read, offset, bytes) {
            return Io::answered(Err(error));
        }
        let request = self.request(Action::Read(buffer.start()), offset, bytes);
        self.ring.start(request, Payload::Buffer(buffer))
    }

    fn write(&self, offset: u64, source: BufferSlice, sync: WriteSync) -> Io<()> {
        let bytes = source.bytes() as u64;
        if let Err(error) = self.geometry.check(Operation::Write, offset, bytes) {
            return Io::answered(Err(error));
        }
        let request = self.request(Action::Write(source.start(), sync), offset, bytes);
        self.ring.start(request, Payload::Shared(source))
    }

    fn write_buffer(&self, offset: u64, buffer: IoBuffer, sync: WriteSync) -> Io<IoBuffer> {
        let bytes = buffer.len() as u64;
        if let Err(error) = self.geometry.check(Operation::Write, offset, bytes) {
            return Io::answered(Err(error));
        }
        let request = self.request(Action::Write(buffer.start(), sync), offset, bytes);
        self.ring.start(request, Payload::Buffer(buffer))
    }

    fn flush(&self) -> Io<()> {
        self.ring
            .start(self.request(Action::Flush, 0, 0), Payload::None)
    }

    fn allocate(&self, offset: u64, bytes: u64) -> Io<()> {
        if let Err(error) = self.geometry.check(Operation::Allocate, offset, bytes) {
            return Io::answered(Err(error));
        }
        match self.kind {
            Kind::File => self
                .ring
                .start(self.request(Action::Allocate, offset, bytes), Payload::None),
            Kind::Block => Io::answered(Ok(())),
        }
    }

    fn discard(&self, offset: u64, bytes: u64) -> Io<()> {
        if let Err(error) = self.geometry.check(Operation::Discard, offset, bytes) {
            return Io::answered(Err(error));
        }
        self.ring
            .start(self.request(Action::Discard, offset, bytes), Payload::None)
    }

    fn end_of_turn(&self) {
        self.ring.end_of_turn();
    }

    fn submit(&self) {
        self.ring.submit();
    }
}
