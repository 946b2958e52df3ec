//! Libraries as the bytes of FUNCTION DUMP, which Redis reads too and which the file holds: for
//! each library a byte, 0xf5, and its text as a string; then the footer. Both are those of
//! [`rdb`](crate::rdb).
//!
//! Owns what stands between the footer and the strings.

use bytes::Bytes;

use super::Catalog;
use crate::rdb::{self, BadFormat, Input, Output};

const LIBRARY: u8 = 0xf5;

/// Bytes of all texts that were packed, at most.
const TEXT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The bytes of all libraries.
pub(crate) async fn encode(catalog: &Catalog) -> Bytes {
    let mut output = Output::default();
    for library in catalog.libraries() {
        output.part(&[LIBRARY]);
        output.begin_string(library.text.len() as u64);
        output.part(&library.text);
    }
    rdb::seal(output.finish()).await
}

/// The texts in a payload; nothing where it is none.
pub(crate) async fn decode(payload: &Bytes) -> Option<Vec<Bytes>> {
    let body = rdb::open(payload).await?;
    texts(Input::new(body, TEXT_BYTES_MAX)).await.ok()
}

async fn texts(mut input: Input) -> Result<Vec<Bytes>, BadFormat> {
    let mut texts = Vec::new();
    while !input.is_empty() {
        if input.byte()? != LIBRARY {
            return Err(BadFormat);
        }
        texts.push(input.string().await?);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripting::functions::Library;

    /// What Redis 7.0.15 dumps of two libraries, the second one compressed.
    const OF_REDIS: &[u8] =
        b"\xf5@B#!lua name=a\nredis.register_function(\"f\", function() return \
        1 end)\xf5\xc3@x@\x86\x1f#!lua name=c\nredis.register_func\x04tion{\xc0\x08\x00_`'\r\"g\", \
        callback=\xc0\x1b\x08() return \x06@E@ \x08(\"set\",\"a \x03\x1cb\") end, \
        flags={\"no-writes\"}}\n\x00*_U\xd2\xd5\xd3\xb2\x9e";

    #[tokio::test]
    async fn reads_what_redis_dumps() {
        let texts = decode(&Bytes::from_static(OF_REDIS)).await.unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].starts_with(b"#!lua name=a\n") && texts[0].ends_with(b"1 end)"));
        let expected = b"redis.call(\"set\",\"a\",\"b\") end, flags={\"no-writes\"}}";
        assert!(texts[1].ends_with(expected));
    }

    #[tokio::test]
    async fn reads_what_it_writes_and_nothing_else() {
        let mut catalog = Catalog::default();
        for (name, length) in [("a", 10), ("b", 100), ("c", 20_000)] {
            let text = "x".repeat(length).into();
            let library = Library::new(name.to_owned(), text, Vec::new());
            catalog.add(library, false).unwrap();
        }
        let payload = encode(&catalog).await;
        let texts = decode(&payload).await.unwrap();
        assert_eq!(
            texts.iter().map(Bytes::len).collect::<Vec<_>>(),
            [10, 100, 20_000]
        );
        for at in [0, 5, 50, payload.len() - 1] {
            let mut damaged = payload.to_vec();
            damaged[at] ^= 1;
            assert!(decode(&damaged.into()).await.is_none());
            assert!(decode(&payload.slice(..at)).await.is_none());
        }
    }
}
