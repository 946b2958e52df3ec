//! Decoders on bytes that nobody wrote for them: random ones, and good ones with a field
//! overwritten and the checksum made to fit. None may panic, and what they accept lies within
//! bounds.

use super::*;
use crate::device::sim::SimRandom;

/// Random structures tried with each decoder.
const ROUNDS: usize = if cfg!(miri) { 60 } else { 20_000 };

/// Seeds are printed by the assertion that fails; `SEED` replays one.
fn random() -> (u64, SimRandom) {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    (seed, SimRandom::new(seed))
}

/// Runs every decoder on `bytes`.
fn decode_all(bytes: &[u8]) {
    let seed = seed();
    if let Ok(record) = Record::decode(bytes, seed) {
        assert!(record.head.kind == Kind::Pad || record.head.bytes() <= 64 << 10);
    }
    let _ = RecordHead::decode(bytes, seed);
    let _ = SegmentHeader::decode(bytes, STORE);
    let _ = Superblock::decode(bytes);
    let _ = Superblock::choose([bytes, bytes]);
    let _ = PageKey::decode(bytes);
    let _ = RootValue::decode(bytes);
    let _ = BatchHeader::decode(bytes);
    let _ = DatabaseMap::decode(bytes);
    let _ = Identity::decode(bytes);
    if let Ok(footer) = Footer::decode(bytes, STORE, SEGMENT_BYTES) {
        let extent = footer.entries_extent(SEGMENT_BYTES);
        assert!(extent.offset >= u64::from(footer.body_end));
        let _ = footer.verify_entries(bytes).map(Iterator::count);
    }
    if let Some(entry) = bytes.first_chunk()
        && let Ok(entry) = SummaryEntry::decode(entry, 8192)
    {
        assert!(entry.offset >= 4096 && entry.offset + entry.bytes <= 8192);
    }
}

#[test]
fn random_bytes_are_survived() {
    let (_, mut random) = random();
    let mut bytes = vec![0; 5000];
    for round in 0..ROUNDS {
        // Mostly short, sometimes as long as the longest fixed structure.
        let len = random.below(if round % 16 == 0 { 5000 } else { 100 }) as usize;
        random.fill(&mut bytes[..len]);
        decode_all(&bytes[..len]);
    }
}

#[test]
fn sealed_nonsense_is_survived() {
    let (seed_number, mut random) = random();
    let samples: [Vec<u8>; 5] = [
        encoded(&put()),
        header().encode().to_vec(),
        footer(&[]).encode().to_vec(),
        superblock().encode().to_vec(),
        put_entry().encode().to_vec(),
    ];
    let mut accepted = 0;
    for _ in 0..ROUNDS {
        let sample = random.below(samples.len() as u64) as usize;
        let mut bytes = samples[sample].clone();
        // A record's header spans 40 bytes; the fields of the others end before byte 200.
        let reach = if sample == 0 {
            40
        } else {
            bytes.len().min(200)
        };
        for _ in 0..=random.below(3) {
            bytes[random.below(reach as u64) as usize] = random.next_u64() as u8;
        }
        reseal_nonsense(sample, &mut bytes);
        decode_all(&bytes);
        accepted += usize::from(is_accepted(sample, &bytes));
    }
    assert!(
        accepted > ROUNDS / 20,
        "seed {seed_number}: the checksums did not fit"
    );
}

/// Makes the checksum fit whatever the fields say.
fn reseal_nonsense(sample: usize, bytes: &mut [u8]) {
    match sample {
        0 => {
            let sealed = if bytes[23] & 1 == 0 { 32 } else { 40 };
            let crc = seed().checksum(&bytes[4..sealed]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
        }
        4 => {}
        _ => {
            let crc = crc32c::crc32c(&bytes[12..]);
            bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        }
    }
}

fn is_accepted(sample: usize, bytes: &[u8]) -> bool {
    match sample {
        0 => RecordHead::decode(bytes, seed()).is_ok(),
        1 => SegmentHeader::decode(bytes, STORE).is_ok(),
        2 => Footer::decode(bytes, STORE, SEGMENT_BYTES).is_ok(),
        3 => Superblock::decode(bytes).is_ok(),
        _ => SummaryEntry::decode(bytes.first_chunk().unwrap(), 8192).is_ok(),
    }
}
