//! CLIENT INFO, LIST and KILL: clients by what they are.
//!
//! Owns the filters.

use std::sync::Arc;

use bytes::Bytes;

use crate::client::{Client, ClientFlag};
use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// `CLIENT INFO`
pub fn info(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let now_us = cx.shared.clock.monotonic_us();
    reply.verbatim(
        "txt",
        &format!("{}\n", cx.session.client().describe(now_us)),
    );
    Ok(())
}

/// `CLIENT LIST [TYPE NORMAL | MASTER | REPLICA | PUBSUB] [ID client-id ...]`
pub fn list(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let clients = match &args[2..] {
        [] => cx.shared.clients.list(),
        [option, name] if option.eq_ignore_ascii_case(b"type") => {
            let wanted = ClientType::parse(name)?;
            let mut clients = cx.shared.clients.list();
            clients.retain(|client| ClientType::of(client) == wanted);
            clients
        }
        [option, ids @ ..] if option.eq_ignore_ascii_case(b"id") && !ids.is_empty() => {
            clients_by_id(cx, ids)?
        }
        _ => return Err(CommandError::Syntax),
    };
    let now_us = cx.shared.clock.monotonic_us();
    let lines: String = clients
        .iter()
        .flat_map(|client| [client.describe(now_us), "\n".into()])
        .collect();
    reply.verbatim("txt", &lines);
    Ok(())
}

fn clients_by_id(cx: &Cx, ids: &[Bytes]) -> Result<Vec<Arc<Client>>, CommandError> {
    let mut clients = Vec::new();
    for id in ids {
        let id = parse_i64(id).and_then(|id| u64::try_from(id).ok());
        let id = id.ok_or_else(|| CommandError::other("ERR Invalid client ID"))?;
        clients.extend(cx.shared.clients.get(id));
    }
    Ok(clients)
}

/// What a client is to the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientType {
    /// It sends commands.
    Normal,
    /// It is subscribed to something.
    Pubsub,
    /// A replica or a primary: there is none.
    Other,
}

impl ClientType {
    fn of(client: &Client) -> Self {
        if client.flags().has(ClientFlag::Pubsub) {
            Self::Pubsub
        } else {
            Self::Normal
        }
    }

    fn parse(name: &[u8]) -> Result<Self, CommandError> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Self::Normal),
            b"pubsub" => Ok(Self::Pubsub),
            b"master" | b"slave" | b"replica" => Ok(Self::Other),
            _ => {
                let name = String::from_utf8_lossy(name);
                Err(CommandError::other(format!(
                    "ERR Unknown client type '{name}'"
                )))
            }
        }
    }
}

/// Which clients CLIENT KILL means.
#[derive(Default)]
struct KillFilter {
    id: Option<u64>,
    client_type: Option<ClientType>,
    peer: Option<Bytes>,
    local: Option<Bytes>,
    skips_me: bool,
}

impl KillFilter {
    fn matches(&self, client: &Client, me: u64) -> bool {
        let address = client.address();
        self.id.is_none_or(|id| id == client.id())
            && self
                .client_type
                .is_none_or(|wanted| wanted == ClientType::of(client))
            && self
                .peer
                .as_ref()
                .is_none_or(|peer| address.peer.as_bytes() == peer)
            && self
                .local
                .as_ref()
                .is_none_or(|local| address.local.as_bytes() == local)
            && !(self.skips_me && client.id() == me)
    }

    fn parse(options: &[Bytes]) -> Result<Self, CommandError> {
        let mut filter = Self {
            skips_me: true,
            ..Self::default()
        };
        let (pairs, rest) = options.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(CommandError::Syntax);
        }
        for [name, value] in pairs {
            filter.add(name, value)?;
        }
        Ok(filter)
    }

    fn add(&mut self, name: &[u8], value: &Bytes) -> Result<(), CommandError> {
        match name.to_ascii_lowercase().as_slice() {
            b"id" => {
                let id = parse_i64(value)
                    .filter(|id| *id > 0)
                    .ok_or_else(|| CommandError::other("ERR client-id should be greater than 0"))?;
                self.id = Some(id.unsigned_abs());
            }
            b"type" => self.client_type = Some(ClientType::parse(value)?),
            b"addr" => self.peer = Some(value.clone()),
            b"laddr" => self.local = Some(value.clone()),
            b"user" if value == "default" => {}
            b"user" => {
                let name = String::from_utf8_lossy(value);
                return Err(CommandError::other(format!("ERR No such user '{name}'")));
            }
            b"skipme" if value.eq_ignore_ascii_case(b"yes") => self.skips_me = true,
            b"skipme" if value.eq_ignore_ascii_case(b"no") => self.skips_me = false,
            _ => return Err(CommandError::Syntax),
        }
        Ok(())
    }
}

/// `CLIENT KILL ip:port | [ID id] [TYPE type] [USER name] [ADDR addr] [LADDR addr] [SKIPME yes|no]`
pub fn kill(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let is_old_form = args.len() == 3;
    let filter = if is_old_form {
        KillFilter {
            peer: Some(args[2].clone()),
            ..KillFilter::default()
        }
    } else {
        KillFilter::parse(&args[2..])?
    };
    let me = cx.session.id();
    let mut count = 0;
    for client in cx.shared.clients.list() {
        if filter.matches(&client, me) {
            count += 1;
            end(cx, &client);
        }
    }
    match (is_old_form, count) {
        (true, 0) => return Err(CommandError::other("ERR No such client")),
        (true, _) => reply.ok(),
        (false, count) => reply.integer(count),
    }
    Ok(())
}

/// Closes another connection at once, one's own after the reply.
fn end(cx: &Cx, client: &Client) {
    if client.id() == cx.session.id() {
        client.flags().set(ClientFlag::CloseAfterReply, true);
        cx.session.close_after_reply();
    } else {
        client.kill();
    }
}
