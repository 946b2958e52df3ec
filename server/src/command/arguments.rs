//! The arguments of a command as COMMAND DOCS describes them.
//!
//! Owns the reading of the table's notation: `key` is a value, `[..]` is optional, `A | B` is a
//! choice, which `(..)` sets apart, `...` repeats what stands before it, words in capitals are sent
//! as they are.

use super::CommandSpec;
use crate::resp::ReplyBuf;

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    name: String,
    kind: Kind,
    token: Option<String>,
    is_optional: bool,
    is_multiple: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A value, with its type's name.
    Value(&'static str),
    /// A word that is sent as it is.
    Token,
    /// One of these.
    Choice(Vec<Argument>),
    /// All of these.
    Block(Vec<Argument>),
}

/// The arguments of a command, as its row's notation has them.
pub fn arguments_of(spec: &CommandSpec) -> Vec<Argument> {
    let mut reader = Reader {
        tokens: tokenize(spec.syntax),
        at: 0,
    };
    match reader.read_choice() {
        Argument {
            kind: Kind::Block(items),
            is_multiple: false,
            is_optional: false,
            ..
        } => items,
        argument => vec![argument],
    }
}

fn tokenize(syntax: &str) -> Vec<String> {
    let spaced = syntax
        .replace('[', " [ ")
        .replace(']', " ] ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('|', " | ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Reader {
    tokens: Vec<String>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    /// Alternatives up to the end or the closing bracket.
    fn read_choice(&mut self) -> Argument {
        let mut alternatives = vec![self.read_sequence()];
        while self.peek() == Some("|") {
            self.at += 1;
            alternatives.push(self.read_sequence());
        }
        if alternatives.len() == 1 {
            return alternatives.remove(0);
        }
        Argument::group(Kind::Choice(alternatives))
    }

    /// Items up to the end, a bar or the closing bracket.
    fn read_sequence(&mut self) -> Argument {
        let mut items: Vec<Argument> = Vec::new();
        let mut is_multiple = false;
        while let Some(token) = self
            .peek()
            .filter(|token| !matches!(*token, "|" | "]" | ")"))
        {
            if token == "..." {
                self.at += 1;
                is_multiple = true;
                continue;
            }
            let item = self.read_item();
            join(&mut items, item);
        }
        let mut sequence = if items.len() == 1 {
            items.remove(0)
        } else {
            Argument::group(Kind::Block(items))
        };
        sequence.is_multiple |= is_multiple;
        sequence
    }

    fn read_item(&mut self) -> Argument {
        let token = self.tokens[self.at].clone();
        self.at += 1;
        if token == "[" {
            let mut inner = self.read_choice();
            if self.peek() == Some("]") {
                self.at += 1;
            }
            inner.is_optional = true;
            return inner;
        }
        if token == "(" {
            let inner = self.read_choice();
            if self.peek() == Some(")") {
                self.at += 1;
            }
            return inner;
        }
        Argument::single(&token)
    }
}

/// Adds an item: a value behind a token is one argument with it (`EX seconds`), and a repetition
/// of what stands before makes that repeat (`key [key ...]`).
fn join(items: &mut Vec<Argument>, item: Argument) {
    if let Some(last) = items.last_mut()
        && last.kind == Kind::Token
        && !last.is_optional
        && matches!(item.kind, Kind::Value(_))
        && !item.is_optional
    {
        let token = last.token.take();
        *last = Argument { token, ..item };
        return;
    }
    let repeated = match &item.kind {
        Kind::Block(inner) => inner.clone(),
        Kind::Value(_) | Kind::Token | Kind::Choice(_) => {
            vec![Argument {
                is_optional: false,
                is_multiple: false,
                ..item.clone()
            }]
        }
    };
    if item.is_optional && item.is_multiple && items.ends_with(&repeated) {
        items.truncate(items.len() - repeated.len());
        items.push(Argument {
            is_optional: false,
            ..item
        });
        return;
    }
    items.push(item);
}

impl Argument {
    fn group(kind: Kind) -> Self {
        let name = match &kind {
            Kind::Choice(items) | Kind::Block(items) => items
                .first()
                .map_or_else(String::new, |item| item.name.clone()),
            Kind::Value(_) | Kind::Token => String::new(),
        };
        Self {
            name,
            kind,
            token: None,
            is_optional: false,
            is_multiple: false,
        }
    }

    fn single(word: &str) -> Self {
        let is_token = word.bytes().any(|byte| byte.is_ascii_uppercase())
            && !word.bytes().any(|byte| byte.is_ascii_lowercase());
        let (kind, token) = if is_token {
            (Kind::Token, Some(word.to_owned()))
        } else {
            (Kind::Value(type_of(word)), None)
        };
        let name = word.to_ascii_lowercase();
        Self {
            name,
            kind,
            token,
            is_optional: false,
            is_multiple: false,
        }
    }

    /// Whether it always takes the same number of words.
    #[cfg(test)]
    pub(crate) fn is_fixed(&self) -> bool {
        let is_inner_fixed = match &self.kind {
            Kind::Value(_) | Kind::Token => true,
            Kind::Choice(items) => items
                .iter()
                .all(|item| item.is_fixed() && item.count_min() == self.count_min()),
            Kind::Block(items) => items.iter().all(Self::is_fixed),
        };
        is_inner_fixed && !self.is_optional && !self.is_multiple
    }

    /// The fewest words that it takes.
    #[cfg(test)]
    pub(crate) fn count_min(&self) -> usize {
        if self.is_optional {
            return 0;
        }
        let inner = match &self.kind {
            Kind::Value(_) => 1,
            Kind::Token => 0,
            Kind::Choice(items) => items.iter().map(Self::count_min).min().unwrap_or(0),
            Kind::Block(items) => items.iter().map(Self::count_min).sum(),
        };
        inner + usize::from(self.token.is_some())
    }

    /// Encodes it as COMMAND DOCS does.
    pub fn describe(&self, reply: &mut ReplyBuf) {
        let type_name = match &self.kind {
            Kind::Value(name) => name,
            Kind::Token => "pure-token",
            Kind::Choice(_) => "oneof",
            Kind::Block(_) => "block",
        };
        let flags: Vec<&str> = [
            (self.is_optional, "optional"),
            (self.is_multiple, "multiple"),
        ]
        .into_iter()
        .filter_map(|(is_set, name)| is_set.then_some(name))
        .collect();
        let is_key = *type_name == *"key";
        let inner = match &self.kind {
            Kind::Choice(items) | Kind::Block(items) => items.as_slice(),
            Kind::Value(_) | Kind::Token => &[],
        };
        let optional_parts = [
            is_key,
            self.token.is_some(),
            !flags.is_empty(),
            !inner.is_empty(),
        ];
        reply.map(
            2 + optional_parts
                .into_iter()
                .filter(|is_there| *is_there)
                .count(),
        );
        reply.bulk(b"name");
        reply.bulk(self.name.as_bytes());
        reply.bulk(b"type");
        reply.bulk(type_name.as_bytes());
        if is_key {
            reply.bulk(b"key_spec_index");
            reply.integer(0);
        }
        if let Some(token) = &self.token {
            reply.bulk(b"token");
            reply.bulk(token.as_bytes());
        }
        if !flags.is_empty() {
            reply.bulk(b"flags");
            reply.simple_set(&flags);
        }
        if !inner.is_empty() {
            reply.bulk(b"arguments");
            reply.array(inner.len());
            for item in inner {
                item.describe(reply);
            }
        }
    }
}

/// The type of a value by its name.
fn type_of(name: &str) -> &'static str {
    match name {
        "key" | "source" | "destination" | "destkey" | "newkey" | "key1" | "key2" => "key",
        "pattern" => "pattern",
        "increment" | "decrement" | "offset" | "start" | "end" | "index" | "index1" | "index2"
        | "db" | "destination-db" | "seconds" | "milliseconds" | "count" | "bit" | "timeout"
        | "cursor" | "client-id" | "numreplicas" | "numlocal" | "protover" | "length" => "integer",
        "unix-time-seconds" | "unix-time-milliseconds" => "unix-time",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::find;

    fn check(name: &str, expected: &str) {
        let arguments = arguments_of(find(name.as_bytes()).unwrap().spec);
        let texts: Vec<String> = arguments.iter().map(text).collect();
        assert_eq!(texts.join(" "), expected);
    }

    fn text(argument: &Argument) -> String {
        let inner = match &argument.kind {
            Kind::Value(name) => format!("{}:{name}", argument.name),
            Kind::Token => String::new(),
            Kind::Choice(items) => items.iter().map(text).collect::<Vec<_>>().join("|"),
            Kind::Block(items) => items.iter().map(text).collect::<Vec<_>>().join("+"),
        };
        let token = argument.token.clone().unwrap_or_default();
        let mark = match (argument.is_optional, argument.is_multiple) {
            (true, true) => "?*",
            (true, false) => "?",
            (false, true) => "*",
            (false, false) => "",
        };
        format!("({token}{inner}){mark}")
    }

    #[test]
    fn reads_the_notation() {
        check("echo", "(message:string)");
        check("ping", "(message:string)?");
        check("get", "(key:key)");
        check("del", "(key:key)*");
        check("dbsize", "");
        check("mset", "((key:key)+(value:string))*");
        check(
            "expire",
            "(key:key) (seconds:integer) ((NX)|(XX)|(GT)|(LT))?",
        );
        let expiry = "((EXseconds:integer)|(PXmilliseconds:integer)\
                      |(EXATunix-time-seconds:unix-time)|(PXATunix-time-milliseconds:unix-time)\
                      |(PERSIST))?";
        check("getex", &format!("(key:key) {expiry}"));
        check("swapdb", "(index1:integer) (index2:integer)");
        check("flushall", "((ASYNC)|(SYNC))?");
    }
}
