//! Streams against plain maps, by random operations, compact and paged; their bytes; and their
//! decoder against broken ones.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::*;
use crate::collections::pages::Pages;
use crate::collections::seeded::Random;
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// Operations of one run.
const OPERATIONS: usize = 2500;

const LIMITS: NodeLimits = NodeLimits {
    entries: 7,
    bytes: 0,
};

type Parts = Vec<Bytes>;

#[derive(Default)]
struct GroupModel {
    last_id: EntryId,
    consumers: BTreeMap<Vec<u8>, u64>,
    pending: BTreeMap<EntryId, (Vec<u8>, u64)>,
}

/// What a stream should hold.
#[derive(Default)]
struct Model {
    /// With the node that each entry came into.
    entries: BTreeMap<EntryId, (u64, Parts)>,
    last_id: EntryId,
    node: u64,
    node_count: u64,
    groups: BTreeMap<Vec<u8>, GroupModel>,
}

impl Model {
    fn append(&mut self, id: EntryId, parts: Parts) {
        let has_live = self.entries.values().any(|(node, _)| *node == self.node);
        if !has_live || self.node_count == LIMITS.entries {
            self.node += 1;
            self.node_count = 0;
        }
        self.node_count += 1;
        self.entries.insert(id, (self.node, parts));
        self.last_id = id;
    }

    /// How many entries approximate trimming to a length removes.
    fn trimmed(&self, len_max: usize) -> usize {
        let nodes: Vec<u64> = self.entries.values().map(|(node, _)| *node).collect();
        let mut removed = 0;
        for chunk in nodes.chunk_by(|a, b| a == b) {
            if nodes.len() - removed - chunk.len() < len_max {
                break;
            }
            removed += chunk.len();
        }
        removed
    }

    fn remove_first(&mut self, count: usize) {
        for _ in 0..count {
            self.entries.pop_first();
        }
    }
}

/// The first entries are short, so that they fit one record.
fn random_parts(random: &mut Random, entry_count: usize) -> Parts {
    let kind = if entry_count < 20 {
        59
    } else {
        random.below(60)
    };
    let len = match kind {
        0 => 2500,
        1..5 => 300,
        _ => random.below(12),
    };
    let value = Bytes::from("v".repeat(len));
    let field = Bytes::from(format!("f{}", random.below(3)));
    vec![vec![field, value]; 1 + random.below(2)].concat()
}

/// An id near one that is there, or any.
fn random_id(random: &mut Random, model: &Model) -> EntryId {
    let ms = random.next() % (model.last_id.ms + 2);
    EntryId {
        ms,
        seq: random.next() % 3,
    }
}

fn name(random: &mut Random, what: &str) -> Bytes {
    let long = "\0name".repeat(random.below(4));
    Bytes::from(format!("{what}{}{long}", random.below(4)))
}

/// The stream as it is when it has been stored and found again.
async fn stored(mut stream: Stream) -> Stream {
    let structure = stream.settle().await.unwrap();
    let pages = (!stream.is_compact()).then_some(stream.pages);
    assert!(structure.len() <= 8192 - 16);
    Stream::decode(&structure, pages).unwrap()
}

async fn entries_of(
    stream: &mut Stream,
    (start, end): (EntryId, EntryId),
    direction: Direction,
) -> Vec<(EntryId, Parts)> {
    let ranks = stream.ranks(start, end).await.unwrap();
    let mut walk = stream.entries(ranks, direction).await.unwrap();
    let mut found = Vec::new();
    while let Some(entries) = stream.next(&mut walk).await.unwrap() {
        found.extend(
            entries
                .iter()
                .map(|entry| (entry.id, entry.parts().collect())),
        );
    }
    found
}

async fn check(stream: &mut Stream, model: &Model, random: &mut Random) {
    assert_eq!(stream.len(), model.entries.len() as u64);
    assert_eq!(stream.last_id(), model.last_id);
    let first = model.entries.keys().next().copied();
    assert_eq!(stream.first_id(), first.unwrap_or_default());
    assert_eq!(
        stream.top_id().await.unwrap(),
        model.entries.keys().next_back().copied()
    );
    let (a, b) = (random_id(random, model), random_id(random, model));
    let (start, end) = (a.min(b), a.max(b));
    let expected = model.entries.range(start..=end);
    let mut expected: Vec<(EntryId, Parts)> = expected
        .map(|(id, (_, parts))| (*id, parts.clone()))
        .collect();
    let way = Direction::Forward;
    assert_eq!(entries_of(stream, (start, end), way).await, expected);
    expected.reverse();
    let way = Direction::Backward;
    assert_eq!(entries_of(stream, (start, end), way).await, expected);
    let groups = stream.groups().await.unwrap();
    assert_eq!(stream.group_count().await.unwrap(), groups.len() as u64);
    let names: Vec<Vec<u8>> = groups.iter().map(|group| group.name.to_vec()).collect();
    assert_eq!(names, model.groups.keys().cloned().collect::<Vec<_>>());
    for (group, model) in groups.iter().zip(model.groups.values()) {
        check_group(stream, group, model, (start, end)).await;
    }
}

async fn check_group(
    stream: &mut Stream,
    group: &Group,
    model: &GroupModel,
    ids: (EntryId, EntryId),
) {
    assert_eq!(group.last_id, model.last_id);
    let count = stream.pending_count(group).await.unwrap();
    assert_eq!(count, model.pending.len() as u64);
    let edges = model.pending.first_key_value().map(|(id, _)| *id);
    let edges = edges.zip(model.pending.last_key_value().map(|(id, _)| *id));
    assert_eq!(stream.pending_edges(group).await.unwrap(), edges);
    let consumers = stream.consumers(group).await.unwrap();
    assert_eq!(
        stream.consumer_count(group).await.unwrap(),
        consumers.len() as u64
    );
    let names: Vec<Vec<u8>> = consumers.iter().map(|found| found.name.to_vec()).collect();
    assert_eq!(names, model.consumers.keys().cloned().collect::<Vec<_>>());
    let mut of_all = Vec::new();
    for consumer in &consumers {
        let owned = model.pending.iter();
        let owned = owned.filter(|(_, (owner, _))| *owner == consumer.name);
        let owned: Vec<EntryId> = owned.map(|(id, _)| *id).collect();
        let count = stream.owned_count(group, consumer).await.unwrap();
        assert_eq!(count, owned.len() as u64);
        let all = (EntryId::ZERO, u64::MAX);
        assert_eq!(stream.owned_ids(group, consumer, all).await.unwrap(), owned);
        let within = |id: &&EntryId| (ids.0..=ids.1).contains(*id);
        let within: Vec<EntryId> = owned.iter().filter(within).copied().collect();
        let found = pending_of(stream, group, Some(consumer), ids).await;
        assert_eq!(
            found.iter().map(|found| found.id).collect::<Vec<_>>(),
            within
        );
        of_all.extend(found);
    }
    of_all.sort_by_key(|pending| pending.id);
    assert_eq!(pending_of(stream, group, None, ids).await, of_all);
    for pending in of_all {
        let (owner, count) = &model.pending[&pending.id];
        assert_eq!(pending.delivery_count, *count);
        assert_eq!(stream.name_of(group, &pending).await.unwrap(), *owner);
    }
}

async fn pending_of(
    stream: &mut Stream,
    group: &Group,
    consumer: Option<&Consumer>,
    ids: (EntryId, EntryId),
) -> Vec<Pending> {
    let mut walk = stream
        .walk_pending(group, consumer, (ids.0, ids.1, u64::MAX))
        .await
        .unwrap();
    let mut found = Vec::new();
    while let Some(next) = stream.next_pending(&mut walk).await.unwrap() {
        found.extend(next);
    }
    found
}

/// One operation on the entries.
async fn change_entries(stream: &mut Stream, model: &mut Model, random: &mut Random) {
    match random.below(20) {
        0..12 => {
            let id = model.last_id.next_at(model.last_id.ms + random.next() % 2);
            let (id, parts) = (id.unwrap(), random_parts(random, model.entries.len()));
            stream.append(id, &parts, LIMITS).await.unwrap();
            model.append(id, parts);
        }
        12..18 => {
            let id = random_id(random, model);
            let was_there = stream.remove(id).await.unwrap();
            assert_eq!(was_there, model.entries.remove(&id).is_some());
        }
        kind => {
            let len_max = model.entries.len() - random.below(model.entries.len().min(12) + 1);
            let is_approximate = kind == 18;
            let trim = Trim {
                to: TrimTo::Length(len_max as u64),
                is_approximate,
                limit: 0,
            };
            let expected = if is_approximate {
                model.trimmed(len_max)
            } else {
                model.entries.len() - len_max
            };
            assert_eq!(stream.trim(trim).await.unwrap(), expected as u64);
            model.remove_first(expected);
        }
    }
}

/// One operation on a group.
async fn change_group(stream: &mut Stream, model: &mut Model, random: &mut Random) {
    let group_name = name(random, "g");
    let id = random_id(random, model);
    let Some(mut group) = stream.group(&group_name).await.unwrap() else {
        let created = stream.create_group(&group_name, id, None).await.unwrap();
        assert!(created.is_some());
        let last_id = id;
        let group = GroupModel {
            last_id,
            ..GroupModel::default()
        };
        assert!(model.groups.insert(group_name.to_vec(), group).is_none());
        return;
    };
    let group_model = model.groups.get_mut(&group_name[..]).unwrap();
    let consumer_name = name(random, "c");
    let Some(consumer) = stream.consumer(&group, &consumer_name).await.unwrap() else {
        let made = stream.create_consumer(&mut group, &consumer_name, 5).await;
        let made = made.unwrap();
        let consumers = &mut group_model.consumers;
        assert!(
            consumers
                .insert(consumer_name.to_vec(), made.seen_ms)
                .is_none()
        );
        return;
    };
    match random.below(40) {
        0..20 => {
            let old = stream.pending(&group, id).await.unwrap();
            let pending = old.map_or(Pending::first(id, 9), |old| old.again(10));
            stream
                .deliver(&mut group, &consumer, &pending)
                .await
                .unwrap();
            stream.put_group(&group).await.unwrap();
            let owned = (consumer_name.to_vec(), pending.delivery_count);
            group_model.pending.insert(id, owned);
        }
        20..36 => {
            let was_there = stream.acknowledge(&group, id).await.unwrap();
            assert_eq!(was_there, group_model.pending.remove(&id).is_some());
        }
        36..38 => {
            group.last_id = id;
            stream.put_group(&group).await.unwrap();
            group_model.last_id = id;
        }
        38 => {
            let removed = stream.remove_consumer(&group, &consumer).await.unwrap();
            let before = group_model.pending.len();
            group_model
                .pending
                .retain(|_, (owner, _)| *owner != consumer_name);
            assert_eq!(removed as usize, before - group_model.pending.len());
            group_model.consumers.remove(&consumer_name[..]);
        }
        _ => {
            stream.remove_group(&group).await.unwrap();
            model.groups.remove(&group_name[..]);
        }
    }
}

#[tokio::test]
async fn streams_are_maps_and_groups_of_them() {
    let mut random = Random::seeded();
    let (mut stream, mut model) = (Stream::new(), Model::default());
    let mut compact_count = 0;
    for operation in 0..OPERATIONS {
        if random.below(3) > 0 {
            change_entries(&mut stream, &mut model, &mut random).await;
        } else {
            change_group(&mut stream, &mut model, &mut random).await;
        }
        if operation % 5 == 0 {
            compact_count += usize::from(stream.is_compact());
            stream = stored(stream).await;
        }
        if operation % 25 == 0 {
            check(&mut stream, &model, &mut random).await;
        }
    }
    check(&mut stream, &model, &mut random).await;
    assert!(compact_count > 2 && !stream.is_compact());
}

#[tokio::test]
async fn many_consumers_and_much_that_is_pending_take_pages() {
    let mut stream = Stream::new();
    let name = Bytes::from_static(b"g");
    let made = stream.create_group(&name, EntryId::ZERO, Some(0)).await;
    let mut group = made.unwrap().unwrap();
    for number in 0..500_u64 {
        let name = Bytes::from(format!("consumer {number}"));
        let consumer = stream.create_consumer(&mut group, &name, 1).await.unwrap();
        for seq in 0..3 {
            let id = EntryId { ms: number, seq };
            let pending = Pending::first(id, 2);
            stream
                .deliver(&mut group, &consumer, &pending)
                .await
                .unwrap();
        }
    }
    assert!(!stream.is_compact());
    let mut stream = stored(stream).await;
    assert_eq!(stream.consumer_count(&group).await.unwrap(), 500);
    assert_eq!(stream.pending_count(&group).await.unwrap(), 1500);
    let found = stream
        .pending_from(&group, EntryId { ms: 7, seq: 1 }, 4)
        .await;
    let ids: Vec<String> = found
        .unwrap()
        .iter()
        .map(|found| found.id.to_string())
        .collect();
    assert_eq!(ids, ["7-1", "7-2", "8-0", "8-1"]);
    let consumer = stream
        .consumer(&group, b"consumer 7")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stream.remove_consumer(&group, &consumer).await.unwrap(), 3);
    stream.remove_group(&group).await.unwrap();
    let mut stream = stored(stream).await;
    assert_eq!(stream.group_count().await.unwrap(), 0);
    assert_eq!((stream.members.count(), stream.pending.count()), (0, 0));
}

fn id(ms: u64, seq: u64) -> EntryId {
    EntryId { ms, seq }
}

async fn small() -> Stream {
    let mut stream = Stream::new();
    let parts = [Bytes::from_static(b"f"), Bytes::from_static(b"vv")];
    stream.append(id(1, 2), &parts, LIMITS).await.unwrap();
    let name = Bytes::from_static(b"g");
    let made = stream.create_group(&name, id(1, 2), Some(1)).await;
    let mut group = made.unwrap().unwrap();
    let name = Bytes::from_static(b"c\0");
    let consumer = stream.create_consumer(&mut group, &name, 6).await.unwrap();
    let pending = Pending::first(id(1, 2), 7);
    stream
        .deliver(&mut group, &consumer, &pending)
        .await
        .unwrap();
    stream.put_group(&group).await.unwrap();
    stream
}

#[tokio::test]
async fn the_bytes_are_frozen() {
    let mut stream = small().await;
    let record = stream.settle().await.unwrap();
    let ids = |id: EntryId| id.encode().to_vec();
    let head = [
        vec![0],
        ids(id(1, 2)),
        ids(id(1, 2)),
        ids(EntryId::ZERO),
        vec![1, 0, 0, 0, 0, 0, 0, 0],
        // next group; the last node, its entries, those still there, its bytes; the first node's
        [
            [1, 0, 0, 0],
            [1, 0, 0, 0],
            [1, 0, 0, 0],
            [1, 0, 0, 0],
            [15, 0, 0, 0],
            [0; 4],
        ]
        .concat(),
    ]
    .concat();
    assert_eq!(record[..head.len()], head);
    let entry = [&[25], &ids(id(1, 2))[..], &[1, 0, 0, 0], b"\x01f\x02vv"].concat();
    let members = [
        &[11][..],
        b"\x01\0\0\0\0\0\0\0\0c\0",
        &[52],
        b"\x02g\0\0",
        &[0; 4],
        &ids(id(1, 2)),
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0],
        &ids(id(1, 2)),
        &[30],
        b"\x03\0\0\0\0c\0\xff\0\0",
        &[0; 4],
        &[6, 0, 0, 0, 0, 0, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    let pending = [
        &[41][..],
        b"\x01\0\0\0\0",
        &ids(id(1, 2)),
        &[0; 4],
        &[7, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[25],
        b"\x02\0\0\0\0\0\0\0\0",
        &ids(id(1, 2)),
    ]
    .concat();
    let mut expected = head;
    for part in [entry, members, pending] {
        expected.push(part.len() as u8);
        expected.extend(part);
    }
    assert_eq!(record, expected);
}

/// Uses all of a stream that may be broken.
async fn use_all(stream: &mut Stream) -> Result<(), CommandError> {
    let all = (EntryId::ZERO, EntryId::MAX);
    let ranks = stream.ranks(all.0, all.1).await?;
    let mut walk = stream.entries(ranks, Direction::Forward).await?;
    while stream.next(&mut walk).await?.is_some() {}
    for group in stream.groups().await? {
        stream.lag(&group);
        let mut walk = stream
            .walk_pending(&group, None, (all.0, all.1, u64::MAX))
            .await?;
        while let Some(found) = stream.next_pending(&mut walk).await? {
            for pending in found {
                stream.name_of(&group, &pending).await?;
            }
        }
        for consumer in stream.consumers(&group).await? {
            let mut walk = stream
                .walk_pending(&group, Some(&consumer), (all.0, all.1, u64::MAX))
                .await?;
            while stream.next_pending(&mut walk).await?.is_some() {}
            stream.remove_consumer(&group, &consumer).await?;
        }
    }
    let trim = Trim {
        to: TrimTo::Length(1),
        is_approximate: true,
        limit: 0,
    };
    stream.trim(trim).await?;
    stream.remove(id(1, 2)).await?;
    stream.settle().await?;
    Ok(())
}

/// Breaks bytes in a place or more.
fn broken(bytes: &Bytes, random: &mut Random) -> Bytes {
    let mut bytes = bytes.to_vec();
    match random.below(4) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => {
            let len = random.below(200);
            bytes = (0..len).map(|_| random.next() as u8).collect();
        }
        _ => {
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
        }
    }
    bytes.into()
}

#[tokio::test]
async fn broken_streams_are_errors() {
    let mut random = Random::seeded();
    let record = small().await.settle().await.unwrap();
    let mut refused_count = 0;
    for _ in 0..3000 {
        let record = broken(&record, &mut random);
        match Stream::decode(&record, None) {
            Ok(mut stream) => {
                // what it says is not foreseen, only that it says something
                let _ = use_all(&mut stream).await;
            }
            Err(_) => refused_count += 1,
        }
    }
    assert!(refused_count > 500, "{refused_count}");
}

#[tokio::test]
async fn broken_pages_are_errors() {
    let mut random = Random::seeded();
    for _ in 0..150 {
        let mut stream = small().await;
        for ms in 2..100 {
            let parts = [Bytes::from_static(b"f"), Bytes::from("v".repeat(60))];
            stream.append(id(ms, 0), &parts, LIMITS).await.unwrap();
        }
        let structure = stream.settle().await.unwrap();
        let mut pages = std::mem::replace(&mut stream.pages, Pages::in_memory());
        let structure = if random.below(2) == 0 {
            broken(&structure, &mut random)
        } else {
            let number = 1 + 2 * random.below(4) as u32;
            let page = pages.read(number).await.unwrap();
            let page = broken(&page, &mut random);
            pages.write(number, page);
            structure
        };
        if let Ok(mut stream) = Stream::decode(&structure, Some(pages)) {
            let _ = use_all(&mut stream).await;
        }
    }
}

#[tokio::test]
async fn a_stream_is_built_from_its_parts() {
    for count in [0, 3, 20_000] {
        let mut builder = StreamBuilder::new(LIMITS);
        for ms in 1..=count {
            let parts = [Bytes::from_static(b"f"), Bytes::from(ms.to_string())];
            builder.push(id(ms, 0), &parts).await.unwrap();
        }
        let same = [Bytes::from_static(b"f"), Bytes::new()];
        assert!(builder.push(id(count, 0), &same).await.is_err());
        let summary = Summary {
            last_id: id(count + 5, 0),
            max_deleted_id: EntryId::ZERO,
            entries_added: count + 7,
        };
        let mut stream = stored(builder.finish(summary).await.unwrap()).await;
        assert_eq!(stream.is_compact(), count < 100);
        assert_eq!((stream.len(), stream.last_id()), (count, summary.last_id));
        assert_eq!(stream.entries_added(), count + 7);
        stream
            .append(id(count + 6, 0), &same, LIMITS)
            .await
            .unwrap();
        let found = entries_of(&mut stream, (id(2, 0), EntryId::MAX), Direction::Forward).await;
        assert_eq!(found.len() as u64, count.saturating_sub(1) + 1);
        assert_eq!(stream.first_id().ms, if count == 0 { 6 } else { 1 });
        let nodes = stream.node_count().await.unwrap();
        assert_eq!(nodes, (count + 1).div_ceil(LIMITS.entries));
    }
}

#[tokio::test]
async fn lag_is_told_where_it_is_known() {
    let mut stream = Stream::new();
    let parts = [Bytes::from_static(b"f"), Bytes::new()];
    let name = Bytes::from_static(b"g");
    let made = stream.create_group(&name, EntryId::ZERO, None).await;
    let mut group = made.unwrap().unwrap();
    assert_eq!(stream.lag(&group), Some(0));
    for ms in 1..=5 {
        stream.append(id(ms, 0), &parts, LIMITS).await.unwrap();
    }
    assert_eq!(stream.lag(&group), Some(5));
    stream.note_delivered(&mut group, id(1, 0));
    stream.note_delivered(&mut group, id(2, 0));
    assert_eq!((group.entries_read, stream.lag(&group)), (Some(2), Some(3)));
    stream.remove(id(4, 0)).await.unwrap();
    assert_eq!(stream.lag(&group), None);
    stream.note_delivered(&mut group, id(3, 0));
    assert_eq!(group.entries_read, None);
    stream.note_delivered(&mut group, id(5, 0));
    assert_eq!((group.entries_read, stream.lag(&group)), (Some(5), Some(0)));
}
