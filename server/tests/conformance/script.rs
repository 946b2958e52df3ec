//! Requests and replies as short texts.
//!
//! Owns the notation. A request is its words, `''` an empty one. A reply is its type and text
//! (`+OK`, `:1`, `-ERR ...`, `_`), a quoted string, `nil`, or elements in brackets, with `%` or `~`
//! before them for maps and sets.

use crate::socket::{Cellar, Client, Reply};

/// A server with one client.
pub(crate) struct Script {
    client: Client,
    _cellar: Cellar,
}

impl Script {
    pub(crate) fn start() -> Self {
        let cellar = Cellar::start();
        Self {
            client: cellar.connect(),
            _cellar: cellar,
        }
    }

    /// Runs lines of `request -> reply`; blank ones are skipped.
    #[track_caller]
    pub(crate) fn run(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (request, expected) = line.split_once(" -> ").expect("a line has an arrow");
            self.check(request, expected);
        }
    }

    /// Runs one request, for a reply that is too long for a line.
    #[track_caller]
    pub(crate) fn check(&mut self, request: &str, expected: &str) {
        let words = request.split_whitespace();
        let words: Vec<&str> = words
            .map(|word| if word == "''" { "" } else { word })
            .collect();
        let reply = self.client.call(&words).expect("the server answers");
        assert_eq!(notation(&reply), expected, "{request}");
    }

    /// Runs one request whose arguments the notation of requests cannot express.
    #[track_caller]
    pub(crate) fn check_words(&mut self, words: &[&[u8]], expected: &str) {
        let reply = self.call(words);
        let request: Vec<_> = words.iter().map(|word| word.escape_ascii()).collect();
        let request: Vec<String> = request.iter().map(ToString::to_string).collect();
        assert_eq!(notation(&reply), expected, "{}", request.join(" "));
    }

    /// Runs one request whose arguments the notation cannot express.
    pub(crate) fn call(&mut self, arguments: &[&[u8]]) -> Reply {
        self.client.call(arguments).expect("the server answers")
    }
}

fn notation(reply: &Reply) -> String {
    match reply {
        Reply::Line(kind, text) => format!("{}{}", *kind as char, String::from_utf8_lossy(text)),
        Reply::Bulk(_, None) | Reply::Many(_, None) => "nil".into(),
        Reply::Bulk(_, Some(bytes)) => format!("'{}'", bytes.escape_ascii()),
        Reply::Many(kind, Some(elements)) => {
            let elements: Vec<String> = elements.iter().map(notation).collect();
            let kind = if *kind == b'*' {
                String::new()
            } else {
                (*kind as char).to_string()
            };
            format!("{kind}[{}]", elements.join(" "))
        }
    }
}
