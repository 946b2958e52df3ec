//! Which colour a server has, in every drawing of every report the same one.
//!
//! Owns the order of the names; the colours themselves stand in `page.css`. Must never be the only
//! way to tell servers apart: every mark has its name beside it.

/// Servers that have a colour; the longest of these that a name begins with counts.
const SERVERS: [&str; 13] = [
    "cellar",
    "cellar-spdk",
    "redis",
    "valkey",
    "keydb",
    "keydb-flash",
    "kvrocks",
    "dragonfly",
    "garnet",
    "lavik",
    "kv",
    "aki",
    "pika",
];

/// The class of a server's marks.
pub(super) fn class(server: &str) -> String {
    let fitting = SERVERS
        .iter()
        .enumerate()
        .filter(|(_, name)| server.starts_with(*name));
    fitting
        .max_by_key(|(_, name)| name.len())
        .map_or_else(|| "s-other".to_owned(), |(index, _)| format!("s{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_keeps_its_colour() {
        let style = include_str!("page.css");
        let shown = [
            ("cellar", "s0"),
            ("cellar-spdk", "s1"),
            ("cellar 2 workers", "s0"),
            ("kv", "s10"),
            ("kvrocks", "s6"),
            ("somebody", "s-other"),
        ];
        for (server, wanted) in shown {
            assert_eq!(class(server), wanted);
        }
        for (index, server) in SERVERS.iter().enumerate() {
            assert!(style.contains(&format!(".s{index} {{")), "{server}");
        }
    }
}
