//! Asks the kernel which alignment direct I/O needs. Owns the one system call that the standard
//! library lacks; must never be asked about a closed descriptor.
#![expect(
    unsafe_code,
    reason = "statx with STATX_DIOALIGN has no safe form in the standard library"
)]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// What direct I/O to a file or device needs.
pub(super) struct DirectIo {
    /// Memory is aligned to this many bytes.
    pub(super) memory_align: u32,
    /// Offsets and lengths are multiples of this many bytes; 0: no direct I/O.
    pub(super) offset_align: u32,
}

/// `None` when the kernel or the file system does not tell.
pub(super) fn direct_io(file: &File) -> io::Result<Option<DirectIo>> {
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the descriptor is open, the path is an empty C string, and `answer` has room for it.
    let result = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            answer.as_mut_ptr(),
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all-zero bytes are a valid `statx`, and the kernel only put valid fields over them.
    let answer = unsafe { answer.assume_init() };
    let told = answer.stx_mask & libc::STATX_DIOALIGN != 0;
    Ok(told.then_some(DirectIo {
        memory_align: answer.stx_dio_mem_align,
        offset_align: answer.stx_dio_offset_align,
    }))
}
