//! CELLAR: what an operator does to the store beneath the keys.
//!
//! Owns the words; what they do is the store's.

use cellar_storage::Store;

use crate::command::{CommandError, Cx};
use crate::info::{Figure, Figures, cleaner_figures, scrub_figures};
use crate::resp::{Args, ReplyBuf};

/// `CELLAR CLEANER PAUSE | RESUME | STATS`
pub fn cleaner(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let store: &Store = cx.store.store();
    match args[2].to_ascii_lowercase().as_slice() {
        b"pause" => {
            tracing::info!(client = cx.session.id(), "told to pause the cleaner");
            store.pause_cleaner();
            reply.ok();
        }
        b"resume" => {
            tracing::info!(client = cx.session.id(), "told to let the cleaner go on");
            store.resume_cleaner();
            reply.ok();
        }
        b"stats" => {
            let figures = cleaner_figures(store.cleaner_stats());
            reply.map(figures.len());
            write(reply, figures);
        }
        _ => return Err(CommandError::Syntax),
    }
    Ok(())
}

/// `CELLAR SCRUB START | STOP | STATUS`
pub fn scrub(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let store: &Store = cx.store.store();
    match args[2].to_ascii_lowercase().as_slice() {
        b"start" => {
            store
                .start_scrub()
                .map_err(|_| CommandError::other("ERR A scrub is in progress"))?;
            tracing::info!(client = cx.session.id(), "told to start a scrub");
            reply.ok();
        }
        b"stop" => {
            if !store.stop_scrub() {
                return Err(CommandError::other("ERR No scrub in progress"));
            }
            tracing::info!(client = cx.session.id(), "told to stop the scrub");
            reply.ok();
        }
        b"status" => write_scrub(store, reply),
        _ => return Err(CommandError::Syntax),
    }
    Ok(())
}

fn write_scrub(store: &Store, reply: &mut ReplyBuf) {
    let status = store.scrub_status();
    let figures = scrub_figures(&status);
    reply.map(figures.len() + 1);
    write(reply, figures);
    reply.bulk(b"last_damage");
    let places: Vec<String> = status.last_damage.iter().map(ToString::to_string).collect();
    reply.bulk_array(&places);
}

fn write(reply: &mut ReplyBuf, figures: Figures) {
    for (name, value) in figures {
        reply.bulk(name.as_bytes());
        match value {
            Figure::Count(count) => reply.integer(count.cast_signed()),
            Figure::Signed(number) => reply.integer(number),
            Figure::Ratio(ratio) => reply.double(ratio),
            Figure::Text(text) => reply.bulk(text.as_bytes()),
        }
    }
}
