//! Errors that functions of the server raise in a script.
//!
//! Owns what a script sees of them: Redis's functions raise tables of one field, libraries raise
//! texts that begin with the place of the caller.

use mlua::Lua;

/// An error on its way to whoever catches it.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Raised {
    text: String,
    origin: Origin,
}

/// Where an error comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A library.
    Library,
    /// One of Redis's functions.
    Function,
    /// A command, which was counted as one that failed.
    Command,
}

impl Raised {
    /// An error of one of Redis's functions, its code included.
    pub(super) fn of_redis(text: String) -> Self {
        Self {
            text,
            origin: Origin::Function,
        }
    }

    /// An error that a command has answered.
    pub(super) fn of_command(text: String) -> Self {
        Self {
            text,
            origin: Origin::Command,
        }
    }

    /// An error of a library, with the place where its function was called.
    pub(super) fn at_caller(lua: &Lua, text: &str) -> Self {
        let place = lua.inspect_stack(1, |frame| {
            let source = frame.source();
            let name = source.short_src.filter(|_| source.what != "C")?;
            Some(format!("{name}:{}: ", frame.current_line()?))
        });
        let place = place.flatten().unwrap_or_default();
        Self {
            text: format!("{place}{text}"),
            origin: Origin::Library,
        }
    }

    /// Where an error comes from.
    pub(super) fn origin(error: &mlua::Error) -> Origin {
        match error {
            mlua::Error::CallbackError { cause, .. } => Self::origin(cause),
            mlua::Error::ExternalError(error) => error
                .downcast_ref::<Self>()
                .map_or(Origin::Library, |raised| raised.origin),
            _ => Origin::Library,
        }
    }
}

impl From<Raised> for mlua::Error {
    fn from(raised: Raised) -> Self {
        Self::external(raised)
    }
}

/// An error's text without the names of its kinds.
pub(super) fn plain_text(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => plain_text(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        mlua::Error::ExternalError(error) => error.to_string(),
        error => error.to_string(),
    }
}
