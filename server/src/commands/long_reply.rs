//! Replies that may be as long as a collection: their beginning is encoded at once, what follows
//! while the client takes it.
//!
//! ```text
//!   up to BEGINNING_BYTES   under the key's lock, into the reply
//!   then pin()              the pages stay what they are, the lock is let go
//!   the rest                portion by portion, as the socket takes them
//! ```
//!
//! Owns that neither memory nor a lock grows with the collection or waits for a client. A reply
//! that breaks off in its second part closes the connection: no error can be told any more.

use crate::command::CommandError;
use crate::resp::{Broken, Outlet, ReplyBuf};

/// Bytes of a reply that are encoded before its elements are pinned: most replies are shorter, and
/// to pin costs a look at the index for each page of the collection.
const BEGINNING_BYTES: usize = 256 * 1024;

/// The elements of a reply.
pub(super) trait Elements: 'static {
    /// Encodes the next elements; false where there are none any more.
    async fn encode_next(&mut self, reply: &mut ReplyBuf) -> Result<bool, CommandError>;

    /// Has them stay what they are, and lets their key's lock go.
    async fn pin(&mut self);
}

/// Answers with all elements; what stands before them, their number, is encoded already.
pub(super) async fn answer(
    mut elements: impl Elements,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let before = reply.memory_bytes();
    while elements.encode_next(reply).await? {
        if reply.memory_bytes() - before >= BEGINNING_BYTES {
            elements.pin().await;
            reply.portions(|outlet| go_on(elements, outlet));
            return Ok(());
        }
    }
    Ok(())
}

async fn go_on(mut elements: impl Elements, outlet: Outlet) -> Result<(), Broken> {
    loop {
        let mut portion = outlet.take();
        let is_more = elements.encode_next(&mut portion).await?;
        outlet.put(portion);
        if !is_more {
            return Ok(());
        }
        outlet.room().await;
    }
}
