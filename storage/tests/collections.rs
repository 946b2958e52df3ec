//! Values of types other than string on a real file: in one record or in pages, copied, renamed,
//! removed, and after a restart with and without a clean end; and watches of keys.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{
    CollectionId, Db, Encoding, Handle, KeyChange, KeyWatcher, Peek, Root, Store, StoreError,
    StoreOptions, SystemClock, TypedValue, ValueBody, ValueType, WriteBatch,
};

const DB: Db = Db(0);
/// More pages than one batch of a store with small segments can hold.
const PAGE_COUNT_LARGE: u32 = 300;

/// Runs `test` on a worker's kind of runtime.
fn on_worker<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

async fn open(directory: &Path) -> Handle {
    let clock = Arc::new(SystemClock::new());
    let path = directory.join("device");
    let device = UringDevice::open_file(&path, 64 << 20, OpenMode::Create, clock.clone()).unwrap();
    let options = StoreOptions {
        segment_bytes: 1 << 20,
        value_cache_bytes: 0,
        ..StoreOptions::default()
    };
    let store = Store::open(options, vec![device], clock, [7; 32])
        .await
        .unwrap();
    let handle = store.attach(0).unwrap();
    tokio::task::spawn_local(Store::run_background(handle.clone()));
    handle
}

fn hash(body: ValueBody) -> TypedValue {
    TypedValue {
        value_type: ValueType::Hash,
        encoding: Encoding::Hashtable,
        body,
    }
}

fn page(number: u32, salt: u8) -> Bytes {
    let mut content = vec![salt; 4000];
    content[..4].copy_from_slice(&number.to_le_bytes());
    Bytes::from(content)
}

fn root(collection: CollectionId, page_count: u32, detail: &'static [u8]) -> ValueBody {
    ValueBody::Root(Root {
        collection,
        page_count,
        detail: Bytes::from_static(detail),
    })
}

/// A collection of even pages whose root and pages are one batch.
async fn put_small(handle: &Handle, key: &'static [u8], salt: u8) -> CollectionId {
    let new = handle.new_collection();
    let id = new.id();
    let mut batch = WriteBatch::new();
    for number in [0, 2, 4] {
        batch.page(id, number, page(number, salt));
    }
    batch.put(DB, key, hash(root(id, 5, b"detail")), None);
    batch.publish(new);
    assert!(handle.commit(batch).await.unwrap().applied);
    id
}

/// A collection whose pages do not fit a batch.
async fn put_large(handle: &Handle, key: &'static [u8], salt: u8) {
    let mut new = handle.new_collection();
    let pages = (0..PAGE_COUNT_LARGE).map(|number| (number, page(number, salt)));
    handle.write_ahead(&mut new, pages.collect()).await.unwrap();
    let mut batch = WriteBatch::new();
    let body = root(new.id(), PAGE_COUNT_LARGE, b"large");
    batch.put(DB, key, hash(body), None).publish(new);
    assert!(handle.commit(batch).await.unwrap().applied);
}

async fn expect_pages(handle: &Handle, key: &[u8], numbers: &[u32], salt: u8) {
    let found = handle.get(DB, key).await.unwrap().expect("it is there");
    assert_eq!(found.value_type(), ValueType::Hash);
    assert_eq!(found.encoding(), Encoding::Hashtable);
    assert!(found.inline().is_none());
    let reads: Vec<_> = numbers
        .iter()
        .map(|number| found.read_page(*number))
        .collect();
    for (number, read) in numbers.iter().zip(reads) {
        assert!(read.await.unwrap() == page(*number, salt), "page {number}");
    }
}

fn all() -> Vec<u32> {
    (0..PAGE_COUNT_LARGE).collect()
}

async fn settle(handle: &Handle) {
    let lsn = handle.published_lsn();
    handle.wait_durable(lsn).await.unwrap();
}

/// Waits until the sweeper has seen to everything that lost its root.
async fn wait_live_bytes(handle: &Handle, bytes: u64) {
    while handle.store().stats().live_bytes != bytes {
        tokio::task::yield_now().await;
    }
}

async fn write_all_kinds(handle: &Handle) {
    let inline = TypedValue {
        value_type: ValueType::Set,
        encoding: Encoding::Listpack,
        body: ValueBody::Inline(Bytes::from_static(b"members")),
    };
    let mut batch = WriteBatch::new();
    batch.put(DB, &b"set"[..], inline, None);
    handle.commit(batch).await.unwrap();
    put_small(handle, b"small", 1).await;
    put_large(handle, b"large", 2).await;
}

async fn expect_all_kinds(handle: &Handle) {
    let set = handle.get(DB, b"set").await.unwrap().expect("it is there");
    assert_eq!(set.inline(), Some(&b"members"[..]));
    assert_eq!(set.encoding(), Encoding::Listpack);
    let found = handle.try_peek(DB, b"set");
    assert_eq!(found, Peek::Present(ValueType::Set));
    expect_pages(handle, b"small", &[0, 2, 4], 1).await;
    expect_pages(handle, b"large", &all(), 2).await;
}

/// Writes in one life, ends it in order or by dropping it, and reads in the next.
fn check_restart(in_order: bool) {
    let directory = tempfile::tempdir().unwrap();
    let mut before = 0;
    on_worker(async {
        let handle = open(directory.path()).await;
        write_all_kinds(&handle).await;
        settle(&handle).await;
        before = handle.store().stats().live_bytes;
        if in_order {
            handle.store().close(&handle).await.unwrap();
        }
    });
    on_worker(async {
        let handle = open(directory.path()).await;
        expect_all_kinds(&handle).await;
        assert_eq!(handle.store().stats().live_bytes, before);
    });
}

#[test]
fn values_of_all_types_come_back_after_a_clean_end() {
    check_restart(true);
}

#[test]
fn values_of_all_types_come_back_after_a_cut() {
    check_restart(false);
}

#[test]
fn what_loses_its_root_gives_its_room_back() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path()).await;
        let empty = handle.store().stats().live_bytes;
        put_small(&handle, b"small", 1).await;
        put_large(&handle, b"large", 2).await;
        put_large(&handle, b"large", 3).await;
        let mut never_published = handle.new_collection();
        let pages = vec![(7, page(7, 9))];
        handle
            .write_ahead(&mut never_published, pages)
            .await
            .unwrap();
        drop(never_published);
        let mut batch = WriteBatch::new();
        batch.remove(DB, &b"small"[..]).remove(DB, &b"large"[..]);
        assert_eq!(handle.commit(batch).await.unwrap().removed, 2);
        wait_live_bytes(&handle, empty).await;
    });
}

#[test]
fn a_copy_is_one_of_its_own_and_a_renamed_value_keeps_its_pages() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path()).await;
        let id = put_small(&handle, b"small", 1).await;
        put_large(&handle, b"large", 2).await;
        let keys: [&[u8]; 5] = [b"small", b"copy", b"large", b"larger", b"name"];
        let locks = handle.lock(&keys.map(|key| (DB, key))).await;
        let (from, to) = ((DB, keys[0]), (DB, keys[1]));
        assert!(handle.copy(&locks, from, to).await.unwrap());
        let (from, to) = ((DB, keys[2]), (DB, keys[3]));
        assert!(handle.copy(&locks, from, to).await.unwrap());
        assert!(handle.rename(&locks, from, (DB, keys[4])).await.unwrap());
        let far = handle.clock().unix_ms() + 1_000_000;
        assert!(
            handle
                .set_expiry(&locks, DB, b"small", Some(far))
                .await
                .unwrap()
        );
        let mut batch = WriteBatch::new();
        batch.page(id, 2, page(2, 8));
        batch.put(DB, &b"small"[..], hash(root(id, 5, b"changed")), Some(far));
        handle.commit_locked(&locks, batch).await.unwrap();
        drop(locks);
        expect_pages(&handle, b"copy", &[0, 2, 4], 1).await;
        expect_pages(&handle, b"larger", &all(), 2).await;
        expect_pages(&handle, b"name", &all(), 2).await;
        expect_pages(&handle, b"small", &[2], 8).await;
        expect_pages(&handle, b"small", &[0, 4], 1).await;
        let found = handle
            .get(DB, b"small")
            .await
            .unwrap()
            .expect("it is there");
        assert_eq!(found.expiry_ms(), Some(far));
        assert_eq!(found.root().expect("paged").detail, &b"changed"[..]);
    });
}

#[test]
fn a_reader_that_pinned_its_pages_sees_them_while_writers_go_on() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path()).await;
        put_small(&handle, b"small", 1).await;
        settle(&handle).await;
        let mut found = handle
            .get(DB, b"small")
            .await
            .unwrap()
            .expect("it is there");
        found.pin_pages().await;
        put_small(&handle, b"small", 2).await;
        assert!(found.read_page(0).await.unwrap() == page(0, 1));
        assert!(found.read_page(4).await.unwrap() == page(4, 1));
        assert!(found.find_page(5).is_none());
    });
}

#[test]
fn what_fits_no_record_is_refused() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path()).await;
        let long = Bytes::from(vec![0; cellar_storage::INLINE_BYTES_MAX + 1]);
        let mut batch = WriteBatch::new();
        batch.put(DB, &b"k"[..], hash(ValueBody::Inline(long.clone())), None);
        let refused = handle.commit(batch).await;
        assert!(matches!(refused, Err(StoreError::ValueTooLong { .. })));
        let mut new = handle.new_collection();
        let refused = handle.write_ahead(&mut new, vec![(0, long)]).await;
        assert!(matches!(refused, Err(StoreError::ValueTooLong { .. })));
        let far = vec![(u32::MAX - 1, Bytes::new())];
        let refused = handle.write_ahead(&mut new, far).await;
        assert!(matches!(refused, Err(StoreError::TooManyPages { .. })));
    });
}

#[derive(Default)]
struct Noted(Mutex<Vec<KeyChange>>);

impl KeyWatcher for Noted {
    fn key_changed(&self, change: KeyChange) {
        self.0.lock().unwrap().push(change);
    }
}

#[test]
fn watchers_are_told_of_writes_removals_deadlines_and_flushes() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path()).await;
        let noted = Arc::new(Noted::default());
        let watcher: Arc<dyn KeyWatcher> = noted.clone();
        let watch = handle.watch(DB, b"small", &watcher);
        put_small(&handle, b"small", 1).await;
        put_small(&handle, b"other", 1).await;
        let locks = handle.lock(&[(DB, b"small")]).await;
        let soon = handle.clock().unix_ms() + 5;
        handle
            .set_expiry(&locks, DB, b"small", Some(soon))
            .await
            .unwrap();
        drop(locks);
        while handle.clock().unix_ms() <= soon {
            tokio::task::yield_now().await;
        }
        assert!(handle.get(DB, b"small").await.unwrap().is_none());
        wait_gone(&handle).await;
        handle.flush_db(Db(1)).await.unwrap();
        handle.flush_db(DB).await.unwrap();
        drop(watch);
        put_small(&handle, b"small", 1).await;
        let moved = KeyChange::Moved { existed: false };
        let (written, removed) = (KeyChange::Written, KeyChange::Removed);
        assert_eq!(*noted.0.lock().unwrap(), [written, written, removed, moved]);
    });
}

/// Waits until the key is removed: one met in its deadline's own second goes a little later.
async fn wait_gone(handle: &Handle) {
    while handle.dbsize(DB) > 1 {
        assert!(handle.get(DB, b"small").await.unwrap().is_none());
        tokio::task::yield_now().await;
    }
}
