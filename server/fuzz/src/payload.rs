//! The structures that are values and keys of records.

use std::fmt::Debug;

use cellar_storage::format::{BatchHeader, DatabaseMap, FormatError, Identity, PageKey, RootValue};
use cellar_storage::units::CollectionId;

use crate::{MUTATIONS, Target};

/// Bytes that may be any of them.
pub(crate) const PAYLOAD: Target = Target {
    name: "payload",
    seeds,
    run,
    mutations: MUTATIONS,
};

fn seeds() -> Vec<Vec<u8>> {
    let mut map = DatabaseMap::default();
    map.renew(0);
    let root = RootValue {
        collection: CollectionId::new(5),
        value_bytes: 1 << 20,
        page_bytes: 32_000,
    };
    let page = PageKey {
        collection: CollectionId::new(5),
        page_number: 3,
    };
    let batch = BatchHeader {
        following_bytes: 640,
        record_count: 3,
    };
    vec![
        map.encode().to_vec(),
        root.encode().to_vec(),
        page.encode().to_vec(),
        batch.encode().to_vec(),
        Identity::new([3; 12]).get().to_vec(),
    ]
}

/// Each of them has one encoding: what decodes is encoded to the same bytes.
fn run(bytes: &[u8]) {
    check(bytes, DatabaseMap::decode(bytes), |map| {
        map.encode().to_vec()
    });
    check(bytes, RootValue::decode(bytes), |root| {
        root.encode().to_vec()
    });
    check(bytes, PageKey::decode(bytes), |page| page.encode().to_vec());
    check(bytes, BatchHeader::decode(bytes), |batch| {
        batch.encode().to_vec()
    });
    check(bytes, Identity::decode(bytes), |identity| {
        identity.get().to_vec()
    });
}

fn check<T: Debug>(bytes: &[u8], decoded: Result<T, FormatError>, encode: impl Fn(&T) -> Vec<u8>) {
    if let Ok(decoded) = decoded {
        assert_eq!(encode(&decoded), bytes, "{decoded:?} has another encoding");
    }
}
