//! Decay: bytes rot while the store is in use. What they belonged to is reported, with its key, and
//! never shown; the rest goes on; and a scrub finds it. Owns a run's last life, from which nothing
//! goes on.

use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::device::sim::SimDevice;
use cellar_storage::{Clock, Damage, Device, EvictionPolicy, Loss, ScrubState};

use crate::life::find_losses;
use crate::model::{Key, Sighting, Violation, ensure};
use crate::opening::Opened;
use crate::pace::{STEPS_MAX, drive, finish, watch};
use crate::rot::rot;
use crate::scene::Scene;
use crate::trouble::Trouble;
use crate::value::Version;
use crate::witness::{View, observe};
use crate::world::World;

/// Times in a life at which bytes rot, at most, and bytes at each; most belong to nothing.
const TIMES_MAX: u64 = 3;
const BYTES_AT_ONCE: u64 = 24;
/// Steps between two looks at the scrub, and looks at most.
const STEPS_PER_LOOK: u64 = 1_000;
const LOOKS_MAX: u64 = 10_000;
/// After this much idle time the upkeep rests.
const QUIET_US: u64 = 8_000_000;
/// A record's header at most: behind it lie key and value.
const HEAD_BYTES_MAX: u64 = 40;
/// A record at most.
const RECORD_BYTES_MAX: u64 = 64 << 10;

/// A byte that rotted.
struct Spoilt {
    device: Arc<SimDevice>,
    offset: u64,
}

impl Spoilt {
    /// Whether the record that `damage` tells of may hold the byte.
    fn is_in(&self, damage: &Damage) -> bool {
        let end = damage.device_offset + RECORD_BYTES_MAX;
        damage.device == self.device.geometry().name
            && (damage.device_offset..end).contains(&self.offset)
    }

    /// Whether `damage` tells of the key, if its record's header and the key itself are whole.
    fn is_told(&self, damage: &Damage, key: &Key, held: Option<&Version>) -> bool {
        let is_whole = self.offset - damage.device_offset >= HEAD_BYTES_MAX + key.1.len() as u64;
        let is_paged = held.is_some_and(|version| version.value.is_paged());
        match &damage.loss {
            Loss::Key(told) => !is_whole || *told == key.1,
            Loss::Page(..) => is_paged,
            Loss::Unknown | Loss::Hash(_) => !is_whole,
        }
    }
}

impl World {
    /// Lives a life in which bytes rot.
    pub(crate) fn decay(&mut self, mut opened: Opened) -> Result<(), Violation> {
        let scene = self.begin(Trouble::Rot);
        self.hire(&scene, &opened);
        let lived = self.spoil_and_check(&scene, &mut opened);
        lived.map_err(|Violation(what)| {
            scene.report(Violation(what));
            let told = |Violation(what)| Violation(format!("{what}\n{:?}", self.plan));
            scene
                .take_violation()
                .map_err(told)
                .expect_err("just reported")
        })
    }

    fn spoil_and_check(&mut self, scene: &Rc<Scene>, opened: &mut Opened) -> Result<(), Violation> {
        let mut spoilt = Vec::new();
        for _ in 0..self.random.below(TIMES_MAX) {
            self.go_on_a_while(scene, opened)?;
            self.spoil(opened, &mut spoilt);
        }
        self.go_on_a_while(scene, opened)?;
        scene.is_stopping.set(true);
        finish(&mut opened.executor, scene)?;
        scene.set_policy(&opened.store, EvictionPolicy::NoEviction);
        let quiet = self.clock.sleep(QUIET_US);
        drive(&mut opened.executor, scene, (quiet, STEPS_MAX))?;
        find_losses(scene, &opened.handles[0])?;
        self.spoil(opened, &mut spoilt);
        scrub(scene, opened)?;
        self.check_spoilt(scene, opened, &spoilt)?;
        self.close(scene, opened).map(|_| ())
    }

    fn spoil(&mut self, opened: &Opened, spoilt: &mut Vec<Spoilt>) {
        for _ in 0..BYTES_AT_ONCE {
            let rotten = rot(&opened.devices, false, &mut self.random);
            spoilt.extend(rotten.map(|(device, offset, _)| Spoilt { device, offset }));
        }
    }

    fn go_on_a_while(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        let steps = self.plan.steps(false, &mut self.random);
        drive(&mut opened.executor, scene, (watch(scene, u64::MAX), steps))?;
        scene.take_violation()
    }

    /// Reads everything: each rotten byte has cost one key at most, which was reported.
    fn check_spoilt(
        &mut self,
        scene: &Scene,
        opened: &mut Opened,
        spoilt: &[Spoilt],
    ) -> Result<(), Violation> {
        let model = scene.model.borrow();
        let scrubbed = opened.store.scrub_status().damaged;
        let known = model.keys().cloned().collect();
        let view = View {
            lists: true,
            may_be_damaged: true,
        };
        let observing = observe(&opened.handles[0], &self.clock, known, view);
        let found = opened.executor.block_on_for(observing, STEPS_MAX);
        let found = found.ok_or_else(|| Violation("reading everything does not end".into()))??;
        let is_damaged = |(_, sighting): &(&Key, &Sighting)| sighting.damage.is_some();
        let damaged: Vec<_> = found.iter().filter(is_damaged).collect();
        ensure(damaged.len() <= spoilt.len(), || {
            format!(
                "{} bytes rotted, and these are damaged: {damaged:?}",
                spoilt.len()
            )
        })?;
        let (met, stats) = (opened.store.last_damage(), opened.store.stats());
        for (key, sighting) in &damaged {
            let held = model.held(model.shown(), key.0, &key.1);
            let told = |damage: &Damage| {
                let mut inside = spoilt.iter().filter(|spoilt| spoilt.is_in(damage));
                inside.any(|spoilt| spoilt.is_told(damage, key, held.as_ref()))
            };
            ensure(met.iter().any(told), || {
                format!("{key:?} shows {sighting:?}, and no damage tells of it: {met:?}")
            })?;
        }
        // What the cleaner came upon is set aside, and was reported then.
        let is_found = scrubbed > 0 || stats.segments_cleaning > 0;
        ensure(damaged.is_empty() || is_found, || {
            format!("a scrub found nothing, and these are damaged: {damaged:?}")
        })?;
        self.tally.decays += 1;
        self.tally.decayed_keys += damaged.len() as u64;
        model.judge(&found, model.last(), 0).map(|_| ())
    }
}

/// Scrubs everything.
fn scrub(scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
    opened.store.start_scrub().expect("none is running");
    let state = |opened: &Opened| opened.store.scrub_status().state;
    let has_ended = |opened: &Opened| state(opened) != ScrubState::Running;
    for _ in 0..LOOKS_MAX {
        if has_ended(opened) {
            break;
        }
        let pause = scene.clock.sleep(QUIET_US);
        drive(&mut opened.executor, scene, (pause, STEPS_PER_LOOK))?;
    }
    let state = state(opened);
    ensure(state == ScrubState::Finished, || {
        format!("the scrub is {state:?}")
    })
}
