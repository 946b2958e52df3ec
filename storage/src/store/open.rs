//! Opening: recovery first, then everything that the workers share is put together.

use std::rc::Rc;
use std::sync::Arc;

use crate::clock::Clock;
use crate::cold::{COLD_IMAGE_COUNT, ColdLog};
use crate::damage::LISTED_MAX;
use crate::database::Databases;
use crate::device::{Channel, Device};
use crate::error::OpenError;
use crate::log::{Image, Log, LogShape};
use crate::options::StoreOptions;
use crate::paged::Collections;
use crate::recovery::{OpenRequest, Recovered};
use crate::stats::Counters;
use crate::store::{Parts, Store};

/// Write buffers of the hot log, the bound on what is dirty: one is filled, one is prepared, and
/// two are on their way to a device, or two for every device.
const IMAGES_MIN: usize = 4;
const IMAGES_PER_DEVICE: usize = 2;

/// What an opening is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// A store is created on blank devices.
    pub(crate) may_create: bool,
    /// Damaged places that are listed.
    pub(crate) listed_max: usize,
}

impl Store {
    /// Opens the store on `devices`, or creates one where all of them are blank. `seed` is the
    /// randomness of everything that is drawn. Called on the first worker's thread, under its
    /// runtime; serving may begin when it returns.
    pub async fn open(
        options: StoreOptions,
        devices: Vec<Arc<dyn Device>>,
        clock: Arc<dyn Clock>,
        seed: [u8; 32],
    ) -> Result<Arc<Self>, OpenError> {
        let request = Wanted {
            may_create: true,
            listed_max: LISTED_MAX,
        };
        Self::open_as(options, devices, clock, (seed, request)).await
    }

    /// The same, for those who want no store where there is none.
    pub(crate) async fn open_as(
        options: StoreOptions,
        devices: Vec<Arc<dyn Device>>,
        clock: Arc<dyn Clock>,
        (seed, wanted): ([u8; 32], Wanted),
    ) -> Result<Arc<Self>, OpenError> {
        let started_us = clock.monotonic_us();
        let channels: Vec<Rc<dyn Channel>> = devices
            .iter()
            .map(|device| device.attach())
            .collect::<Result<_, _>>()?;
        let recovered = crate::recovery::open(OpenRequest {
            devices: &devices,
            channels: &channels,
            segment_bytes: options.segment_bytes,
            seed,
            threads: options.recovery_threads,
            progress: &options.progress,
            now_s: u32::try_from(clock.unix_ms() / 1000).unwrap_or(u32::MAX),
            may_create: wanted.may_create,
            listed_max: wanted.listed_max,
        })
        .await?;
        let store = assemble(options, &devices, Arc::clone(&clock), (seed, recovered));
        let took_us = clock.monotonic_us() - started_us;
        store.counters().recovery_ms.set(took_us / 1000);
        store.prepare_log();
        Ok(store)
    }
}

fn assemble(
    options: StoreOptions,
    devices: &[Arc<dyn Device>],
    clock: Arc<dyn Clock>,
    (seed, recovered): ([u8; 32], Recovered),
) -> Arc<Store> {
    let devices: Vec<_> = recovered
        .device_order
        .iter()
        .map(|index| Arc::clone(&devices[*index]))
        .collect();
    let first = recovered.superblocks.first().expect("a store has a device");
    let shape = LogShape {
        store: first.store,
        epoch: recovered.epoch,
        segment_bytes: first.segment_bytes,
        block_bytes: first.block_bytes,
        worker_count: options.worker_count,
        image_count: IMAGES_MIN.max(IMAGES_PER_DEVICE * devices.len()),
    };
    let image = |number: usize| {
        let device = &devices[number % devices.len()];
        let bytes = shape.segment_bytes;
        Image::new(device.shared_buffer(bytes as usize), bytes)
    };
    let segments = recovered.segments;
    let collections = Arc::new(Collections::new(recovered.epoch));
    recovered
        .roots
        .iter()
        .for_each(|(root, collection)| collections.register(*root, *collection));
    recovered
        .orphans
        .iter()
        .for_each(|collection| collections.abandon(*collection));
    let counters = Counters::default();
    counters.recovery_read_bytes.set(recovered.read_bytes);
    counters.recovery_records.set(recovered.record_count);
    Store::new(Parts {
        segment_bytes: shape.segment_bytes,
        log: Log::new(
            shape.clone(),
            Arc::clone(&segments),
            (0..shape.image_count).map(image).collect(),
            recovered.start,
        ),
        cold: ColdLog::new(
            shape.clone(),
            Arc::clone(&segments),
            (0..COLD_IMAGE_COUNT).map(image).collect(),
        ),
        options,
        devices,
        clock,
        seed,
        segments,
        index: recovered.index,
        hasher: recovered.hasher,
        databases: Databases::new(recovered.map),
        collections,
        counters,
        superblocks: recovered.superblocks,
        damage: recovered.damage,
        was_clean: recovered.was_clean,
    })
}
