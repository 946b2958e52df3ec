//! Transactions on a real file: they see their own writes and nobody else does, until all of them
//! are one batch; they never wait for a lock while they hold others.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{
    Db, Encoding, Handle, Lookup, Peek, Root, Store, StoreError, StoreOptions, SystemClock,
    TypedValue, ValueBody, ValueType, WriteBatch,
};

const DB: Db = Db(0);

/// Runs `test` on a worker's kind of runtime, with a store on a new file.
fn on_store<F: Future<Output = ()>>(test: impl FnOnce(Handle) -> F) {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        test(open(directory.path()).await).await;
    });
}

async fn open(directory: &Path) -> Handle {
    let clock = Arc::new(SystemClock::new());
    let path = directory.join("device");
    let device = UringDevice::open_file(&path, 64 << 20, OpenMode::Create, clock.clone()).unwrap();
    let options = StoreOptions {
        segment_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let store = Store::open(options, vec![device], clock, [7; 32])
        .await
        .unwrap();
    let handle = store.attach(0).unwrap();
    tokio::task::spawn_local(Store::run_background(handle.clone()));
    handle
}

async fn set(handle: &Handle, key: &'static [u8], value: impl Into<Bytes>) {
    let mut batch = WriteBatch::new();
    batch.set(DB, key, value, Encoding::Raw, None);
    assert!(handle.commit(batch).await.unwrap().applied);
}

async fn remove(handle: &Handle, key: &'static [u8]) -> u64 {
    let mut batch = WriteBatch::new();
    batch.remove(DB, key);
    handle.commit(batch).await.unwrap().removed
}

async fn get(handle: &Handle, key: &[u8]) -> Option<Vec<u8>> {
    let snapshot = handle.get(DB, key).await.unwrap()?;
    Some(snapshot.read(0..snapshot.len()).await.unwrap().to_vec())
}

async fn keys(handle: &Handle) -> Vec<Bytes> {
    let (mut cursor, mut all) = (0, Vec::new());
    loop {
        let (next, found) = handle.scan(DB, cursor, 100, None).await.unwrap();
        all.extend(found);
        cursor = next;
        if cursor == 0 {
            all.sort();
            return all;
        }
    }
}

#[test]
fn its_writes_are_its_own_until_it_is_committed() {
    on_store(|handle| async move {
        set(&handle, b"old", "before").await;
        set(&handle, b"gone", "before").await;
        let names: [&[u8]; 4] = [b"old", b"gone", b"new", b"large"];
        let transaction = handle.begin(&names.map(|name| (DB, name))).await;
        let inside = transaction.handle();
        let large = vec![7; 100_000];
        assert!(matches!(inside.lookup(DB, b"old"), Lookup::Ready(_)));
        set(&inside, b"old", "after").await;
        assert!(matches!(inside.lookup(DB, b"old"), Lookup::Locked));
        set(&inside, b"new", "new").await;
        set(&inside, b"large", large.clone()).await;
        assert_eq!(remove(&inside, b"gone").await, 1);
        assert_eq!(remove(&inside, b"gone").await, 0);
        assert_eq!(get(&inside, b"old").await.unwrap(), b"after");
        assert_eq!(get(&inside, b"gone").await, None);
        assert!(get(&inside, b"large").await.unwrap() == large);
        assert_eq!(inside.peek(DB, b"gone").await.unwrap(), None);
        assert_eq!(inside.dbsize(DB), 3);
        assert_eq!(keys(&inside).await, ["large", "new", "old"]);
        let locks = inside.lock(&[(DB, b"large")]).await;
        let end = inside.write_range(&locks, DB, b"large", 99_999, b"xy");
        assert_eq!(end.await.unwrap(), 100_001);
        let tail = inside.get_locked(&locks, DB, b"large").await.unwrap();
        let tail = tail.unwrap().read(99_998..100_001).await.unwrap();
        assert_eq!(tail, &[7, b'x', b'y'][..]);

        assert_eq!(handle.dbsize(DB), 2);
        assert!(matches!(handle.lookup(DB, b"new"), Lookup::Absent));
        assert_eq!(
            handle.try_peek(DB, b"gone"),
            Peek::Present(ValueType::String)
        );
        let written = handle.store().stats().records_written;
        transaction.commit().await.unwrap();
        assert_eq!(get(&handle, b"old").await.unwrap(), b"after");
        assert_eq!(get(&handle, b"large").await.unwrap().len(), 100_001);
        assert_eq!(keys(&handle).await, ["large", "new", "old"]);
        // Three values, a tombstone, and the one page that was changed.
        assert_eq!(handle.store().stats().records_written - written, 5);
    });
}

#[test]
fn dropped_it_has_done_nothing() {
    on_store(|handle| async move {
        let before = handle.store().stats().live_bytes;
        let transaction = handle.begin(&[(DB, b"k")]).await;
        set(&transaction.handle(), b"k", vec![1; 200_000]).await;
        let inside = transaction.handle();
        drop(transaction);
        assert!(matches!(
            inside.get(DB, b"k").await,
            Err(StoreError::Conflict)
        ));
        assert_eq!(get(&handle, b"k").await, None);
        while handle.store().stats().live_bytes != before {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_collection_is_changed_in_steps_and_published_once() {
    on_store(|handle| async move {
        let transaction = handle.begin(&[(DB, b"k")]).await;
        let inside = transaction.handle();
        let new = inside.new_collection();
        let id = new.id();
        let value = |detail| TypedValue {
            value_type: ValueType::Hash,
            encoding: Encoding::Hashtable,
            body: ValueBody::Root(Root {
                collection: id,
                page_count: 2,
                detail: Bytes::from_static(detail),
            }),
        };
        let mut batch = WriteBatch::new();
        batch.page(id, 0, Bytes::from_static(b"zero"));
        batch.page(id, 1, Bytes::from_static(b"one"));
        batch.put(DB, &b"k"[..], value(b"first"), None).publish(new);
        inside.commit(batch).await.unwrap();
        let mut batch = WriteBatch::new();
        batch.page(id, 1, Bytes::from_static(b"changed"));
        batch.put(DB, &b"k"[..], value(b"second"), None);
        inside.commit(batch).await.unwrap();
        let found = inside.get(DB, b"k").await.unwrap().unwrap();
        assert_eq!(found.read_page(0).await.unwrap(), "zero");
        assert_eq!(found.read_page(1).await.unwrap(), "changed");
        assert!(matches!(handle.lookup(DB, b"k"), Lookup::Absent));
        transaction.commit().await.unwrap();
        let found = handle.get(DB, b"k").await.unwrap().unwrap();
        assert_eq!(found.root().unwrap().detail, "second");
        assert_eq!(found.read_page(1).await.unwrap(), "changed");
    });
}

#[test]
fn a_key_that_another_holds_is_a_conflict_and_had_the_next_time() {
    on_store(|handle| async move {
        let held = handle.lock(&[(DB, b"other")]).await;
        let transaction = handle.begin(&[(DB, b"k")]).await;
        let inside = transaction.handle();
        set(&inside, b"k", "lost").await;
        let mut batch = WriteBatch::new();
        batch.set(DB, &b"other"[..], "v", Encoding::Raw, None);
        let refused = inside.commit(batch).await;
        assert!(matches!(refused, Err(StoreError::Conflict)));
        let conflict = transaction.conflict().unwrap();
        assert!(transaction.commit().await.is_err());
        drop(held);
        let transaction = handle.begin_again(&[(DB, b"k")], conflict).await;
        assert!(handle.try_lock(DB, b"other").is_none());
        let inside = transaction.handle();
        set(&inside, b"other", "v").await;
        // Nobody holds this one: it is taken on the way.
        set(&inside, b"third", "v").await;
        assert!(handle.try_lock(DB, b"third").is_none());
        transaction.commit().await.unwrap();
        assert_eq!(keys(&handle).await, ["other", "third"]);
        assert!(handle.try_lock(DB, b"other").is_some());
    });
}

#[test]
fn a_conflict_tells_of_those_before_it() {
    on_store(|handle| async move {
        let (first, second) = (
            handle.lock(&[(DB, b"first")]).await,
            handle.lock(&[(DB, b"second")]).await,
        );
        let transaction = handle.begin(&[]).await;
        let wanted = transaction.handle().get(DB, b"first").await;
        assert!(matches!(wanted, Err(StoreError::Conflict)));
        let conflict = transaction.conflict().unwrap();
        drop((transaction, first));
        let transaction = handle.begin_again(&[], conflict).await;
        let wanted = transaction.handle().get(DB, b"second").await;
        assert!(matches!(wanted, Err(StoreError::Conflict)));
        let conflict = transaction.conflict().unwrap();
        drop((transaction, second));
        let transaction = handle.begin_again(&[], conflict).await;
        assert!(handle.try_lock(DB, b"first").is_none());
        assert!(handle.try_lock(DB, b"second").is_none());
        drop(transaction);
    });
}

#[test]
fn a_flush_by_another_is_a_conflict() {
    on_store(|handle| async move {
        set(&handle, b"k", "old").await;
        let transaction = handle.begin(&[(DB, b"k")]).await;
        set(&transaction.handle(), b"k", "lost").await;
        handle.flush_db(DB).await.unwrap();
        let refused = transaction.commit().await;
        assert!(matches!(refused, Err(StoreError::Conflict)));
        let transaction = handle.begin(&[(DB, b"k")]).await;
        let inside = transaction.handle();
        assert_eq!(get(&inside, b"k").await, None);
        set(&inside, b"k", "new").await;
        transaction.commit().await.unwrap();
        assert_eq!(get(&handle, b"k").await.unwrap(), b"new");
    });
}

#[test]
fn more_than_a_batch_is_refused_and_a_flush_comes_after_what_was_written() {
    on_store(|handle| async move {
        let transaction = handle.begin(&[]).await;
        let inside = transaction.handle();
        let bytes_max = handle.store().batch_bytes_max();
        let mut refused = Ok(());
        for number in 0..=bytes_max / 30_000 {
            let mut batch = WriteBatch::new();
            let key = number.to_le_bytes().to_vec();
            batch.set(DB, key, vec![1; 30_000], Encoding::Raw, None);
            refused = inside.commit(batch).await.map(|_| ());
        }
        assert!(matches!(refused, Err(StoreError::BatchTooLong { .. })));
        drop(transaction);
        set(&handle, b"old", "v").await;
        let transaction = handle.begin(&[(DB, b"k")]).await;
        let inside = transaction.handle();
        set(&inside, b"k", "before").await;
        inside.flush_db(DB).await.unwrap();
        assert_eq!(get(&inside, b"k").await, None);
        assert_eq!(inside.dbsize(DB), 0);
        set(&inside, b"k", "after").await;
        transaction.commit().await.unwrap();
        assert_eq!(keys(&handle).await, ["k"]);
        assert_eq!(get(&handle, b"k").await.unwrap(), b"after");
    });
}
