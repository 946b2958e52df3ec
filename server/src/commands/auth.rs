//! AUTH and HELLO: who the client is and which protocol it speaks.
//!
//! Owns the check of the password. There is one user, `default`.

use bytes::Bytes;

use super::client::check_label;
use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::resp::{Args, Protocol, ReplyBuf};
use crate::stats::Metric;
use crate::version::REDIS_VERSION;

const USER: &[u8] = b"default";

const WRONG_PASSWORD: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD_SET: &str = "ERR AUTH <password> called without any password configured for \
the default user. Are you sure your configuration is correct?";
const HELLO_NEEDS_AUTH: &str = "NOAUTH HELLO must be called with the client already \
authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate \
the client and select the RESP protocol version at the same time";

/// `AUTH [username] password`
pub fn auth(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match &args[1..] {
        [_] if !cx.shared.config.fast.needs_password() => {
            return Err(CommandError::other(NO_PASSWORD_SET));
        }
        [password] => authenticate(cx, USER, password)?,
        [user, password] => authenticate(cx, user, password)?,
        _ => return Err(CommandError::Syntax),
    }
    reply.ok();
    Ok(())
}

fn authenticate(cx: &Cx, user: &[u8], password: &[u8]) -> Result<(), CommandError> {
    let is_right = cx.shared.config.read(|config| {
        let wanted = config.security.requirepass.as_bytes();
        wanted.is_empty() || is_same(wanted, password)
    });
    if user != USER || !is_right {
        cx.session.count(Metric::AuthFailures, 1);
        return Err(CommandError::other(WRONG_PASSWORD));
    }
    cx.session.set_authenticated(true);
    Ok(())
}

/// Compares in a time that does not tell how much is right.
fn is_same(wanted: &[u8], given: &[u8]) -> bool {
    let differences = given
        .iter()
        .zip(wanted.iter().cycle())
        .fold(0, |differences, (given, wanted)| {
            differences | (given ^ wanted)
        });
    differences == 0 && wanted.len() == given.len()
}

/// What HELLO asks for beside the version.
#[derive(Default)]
struct HelloOptions {
    credentials: Option<(Bytes, Bytes)>,
    name: Option<Bytes>,
}

/// `HELLO [protover [AUTH username password] [SETNAME clientname]]`
pub fn hello(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let protocol = match args.get(1) {
        Some(version) => Some(parse_version(version)?),
        None => None,
    };
    let options = parse_hello_options(args)?;
    if let Some((user, password)) = &options.credentials {
        authenticate(cx, user, password)?;
    }
    if !cx.session.is_authenticated() {
        return Err(CommandError::other(HELLO_NEEDS_AUTH));
    }
    if let Some(name) = options.name {
        check_label(&name, "Client names")?;
        cx.session
            .client()
            .set_labels(|labels| labels.name = Bytes::copy_from_slice(&name));
    }
    if let Some(protocol) = protocol {
        cx.session.set_protocol(protocol);
        reply.set_protocol(protocol);
    }
    greet(cx, reply);
    Ok(())
}

fn parse_version(text: &[u8]) -> Result<Protocol, CommandError> {
    match parse_i64(text) {
        Some(2) => Ok(Protocol::Resp2),
        Some(3) => Ok(Protocol::Resp3),
        Some(_) => Err(CommandError::other("NOPROTO unsupported protocol version")),
        None => Err(CommandError::other(
            "ERR Protocol version is not an integer or out of range",
        )),
    }
}

fn parse_hello_options(args: &Args) -> Result<HelloOptions, CommandError> {
    let mut options = HelloOptions::default();
    let mut rest = args.get(2..).unwrap_or_default();
    while let [option, tail @ ..] = rest {
        rest = match tail {
            [user, password, tail @ ..] if option.eq_ignore_ascii_case(b"auth") => {
                options.credentials = Some((user.clone(), password.clone()));
                tail
            }
            [name, tail @ ..] if option.eq_ignore_ascii_case(b"setname") => {
                options.name = Some(name.clone());
                tail
            }
            _ => {
                let option = String::from_utf8_lossy(option);
                let text = format!("ERR Syntax error in HELLO option '{option}'");
                return Err(CommandError::other(text));
            }
        };
    }
    Ok(options)
}

fn greet(cx: &Cx, reply: &mut ReplyBuf) {
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(i64::from(cx.protocol().version()));
    reply.bulk(b"id");
    reply.integer(cx.session.id().cast_signed());
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn compares_whole_passwords() {
        assert!(is_same(b"abc", b"abc"));
        for given in [&b""[..], b"ab", b"abd", b"abcabc", b"abcd"] {
            assert!(!is_same(b"abc", given));
        }
    }
}
