//! A life: clients at work beside the upkeep, until the end that was drawn for it. Owns what is
//! looked at before the end; the end itself is the world's.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::{
    Clock, DATABASE_COUNT_MAX, Db, EvictionPolicy, Handle, Peek, Store, StoreError,
};

use crate::client::{Began, Client};
use crate::model::{Key, Model, Violation, ensure};
use crate::opening::Opened;
use crate::pace::{STEPS_MAX, drive, finish, watch};
use crate::scene::Scene;
use crate::stage::{STEPS_PER_LOOK, Stage};
use crate::trouble::{Trouble, fail_next_write};
use crate::value::Version;
use crate::witness::{bytes_of, map_bytes};
use crate::world::{Ending, World};

/// Looks at most at whether a write may fail now, or the store be closed.
const LOOKS_MAX: u64 = 500;
/// The same where it is worth waiting for.
const LOOKS_OF_PATIENCE_MAX: u64 = 4_000;
/// Steps at most between a closing in order and the end of the power.
const STEPS_AFTER_CLOSE: [u64; 3] = [1, 20, 200];
/// And at most where it is waited for that the cleaner has written something.
const STEPS_KEEN: u64 = 400;
/// After this much idle time everything expired is removed and everything swept.
const QUIET_US: u64 = 8_000_000;
/// The same where the upkeep may still wait for a device that does not answer.
const TROUBLED_QUIET_US: u64 = 48_000_000;

impl World {
    /// Lives one life.
    pub(crate) fn live(&mut self, mut opened: Opened) -> Result<(), Violation> {
        let trouble = Trouble::draw(&mut self.random);
        trouble.begin(&opened.devices, &mut self.random);
        let scene = self.begin(trouble);
        let upkeep_ended = self.hire(&scene, &opened);
        let steps = self.plan.steps(self.ended.is_none(), &mut self.random);
        let closes = self.random.below(4) == 0 || trouble == Trouble::LastWrite;
        let ending = if closes { Ending::Close } else { Ending::Crash };
        let lived = drive(
            &mut opened.executor,
            &scene,
            (watch(&scene, u64::MAX), steps),
        )
        .and_then(|_| scene.take_violation())
        .and_then(|()| self.wait_for_cleaner(&scene, &mut opened))
        .and_then(|()| self.retire(&scene, &mut opened, ending))
        .and_then(|ending| {
            scene.check_latch(opened.store.durable_lsn())?;
            let goes_on = ending == Ending::Close && !upkeep_ended.get();
            ensure(!goes_on, || {
                "the upkeep goes on after the store was closed".into()
            })?;
            Ok(ending)
        });
        match lived {
            Ok(ending) => {
                self.end(scene, opened, ending);
                Ok(())
            }
            Err(Violation(what)) => {
                let (plan, stats) = (&self.plan, opened.store.stats());
                scene.report(Violation(what));
                let told =
                    |Violation(what)| Violation(format!("{what}\n{trouble:?} {plan:?}\n{stats:?}"));
                scene.take_violation().map_err(told)
            }
        }
    }

    /// The scene of a life, with the model of what there is.
    pub(crate) fn begin(&mut self, trouble: Trouble) -> Rc<Scene> {
        let now_us = self.clock.monotonic_us();
        let empty = Model::new(
            (self.model.last_lsn(), now_us),
            BTreeMap::new(),
            EvictionPolicy::NoEviction,
        );
        let model = std::mem::replace(&mut self.model, empty);
        let (plan, clock) = (self.plan.clone(), self.clock.clone());
        let (model, trouble) = ((model, self.next_value), (trouble, self.unread_bytes));
        Rc::new(Scene::new(plan, clock, model, trouble))
    }

    /// In every other life the end comes soon after a stage of the cleaner's work, if it works.
    fn wait_for_cleaner(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        let stage = Stage::draw(&mut self.random);
        let works = self.tally.cleaned_segments > 0 || stage.bytes(opened) > 0;
        if !works || self.random.flip() {
            return Ok(());
        }
        let before = stage.bytes(opened);
        let looks = self.plan.steps_max / STEPS_PER_LOOK;
        let has_come = |opened: &Opened| stage.bytes(opened) > before;
        go_on(scene, opened, looks, has_come)?;
        let steps = Stage::steps_after(&mut self.random);
        drive(&mut opened.executor, scene, (watch(scene, u64::MAX), steps))?;
        scene.take_violation()
    }

    /// What comes before the end: at times a recount, then the closing. How the life ends.
    fn retire(
        &mut self,
        scene: &Scene,
        opened: &mut Opened,
        ending: Ending,
    ) -> Result<Ending, Violation> {
        if self.random.below(3) == 0 && !scene.trouble.may_latch() {
            self.recount(scene, opened)?;
        }
        if scene.trouble == Trouble::LastWrite {
            self.fail_last_write(scene, opened)?;
        }
        if ending == Ending::Close {
            if self.random.below(4) > 0 {
                // Then the cleaner has copies that it is about to write.
                let moved = |opened: &Opened| opened.store.stats().cleaner_relocated_bytes;
                let before = moved(opened);
                let has_moved = |opened: &Opened| moved(opened) > before;
                go_on(scene, opened, LOOKS_MAX, has_moved)?;
            }
            return self.close(scene, opened);
        }
        Ok(ending)
    }

    /// Makes a write fail: often one of the cleaner's, while all that clients wrote is durable and
    /// they can write no more, so that nothing but the failure stands against a closing in order.
    fn fail_last_write(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        let waits = self.random.below(4) > 0;
        // Where clients have ended, all that they wrote is durable soon.
        scene.is_stopping.set(waits && self.random.flip());
        // Clients have no segment left to write to only now and then.
        let looks = if self.random.flip() {
            LOOKS_MAX
        } else {
            LOOKS_OF_PATIENCE_MAX
        };
        let is_due = |opened: &Opened| {
            let is_durable = opened.store.durable_lsn() == opened.handles[0].published_lsn();
            let stats = opened.store.stats();
            // The cleaner's own, if any.
            is_durable && stats.segments_cleaning > 0 && stats.segments_open <= 1
        };
        if waits {
            go_on(scene, opened, looks, is_due)?;
        }
        fail_next_write(&opened.devices);
        let is_latched = |opened: &Opened| opened.store.is_latched();
        go_on(scene, opened, LOOKS_MAX, is_latched)
    }

    /// Starts the upkeep and the clients: tells whether the upkeep has ended.
    pub(crate) fn hire(&mut self, scene: &Rc<Scene>, opened: &Opened) -> Rc<Cell<bool>> {
        let spawner = opened.executor.spawner();
        let upkeep_ended = Rc::new(Cell::new(false));
        let (ended, handle) = (Rc::clone(&upkeep_ended), opened.handles[0].clone());
        spawner.spawn(async move {
            Store::run_background(handle).await;
            ended.set(true);
        });
        for number in 0..self.plan.client_count {
            let worker = number as usize % opened.handles.len();
            let client = Client {
                scene: Rc::clone(scene),
                handle: opened.handles[worker].clone(),
                random: self.random.split(),
                number,
                began: Began::default(),
            };
            spawner.spawn(client.run());
        }
        upkeep_ended
    }

    /// Lets everything come to rest, and compares what the store counts as live with what there is.
    fn recount(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        scene.is_stopping.set(true);
        finish(&mut opened.executor, scene)?;
        scene.set_policy(&opened.store, EvictionPolicy::NoEviction);
        let quiet = self.clock.sleep(quiet_us(scene));
        drive(&mut opened.executor, scene, (quiet, STEPS_MAX))?;
        find_losses(scene, &opened.handles[0])?;
        let (now_ms, model) = (self.clock.unix_ms(), scene.model.borrow());
        let all: BTreeMap<Key, Version> = (0..DATABASE_COUNT_MAX as u8)
            .map(Db)
            .flat_map(|db| {
                model
                    .database(db)
                    .map(move |(key, v)| ((db, key.clone()), v.clone()))
            })
            .filter(|(_, version)| version.is_visible(now_ms))
            .collect();
        let counted = opened.store.stats().live_bytes;
        let least = bytes_of(all.iter());
        let unread = least..=least + scene.unread_bytes.get();
        let is_right =
            unread.contains(&counted) || unread.contains(&counted.saturating_sub(map_bytes()));
        ensure(is_right, || {
            format!(
                "{counted} bytes count as live, and {least} are; {:?}",
                opened.store.stats()
            )
        })?;
        let keys = opened.store.stats().keys;
        ensure(keys == all.len() as u64, || {
            format!("{keys} keys count, {} are", all.len())
        })?;
        drop(model);
        for watches in &scene.watches {
            watches.borrow_mut().check(scene, true)?;
        }
        self.tally.recounts += 1;
        Ok(())
    }

    /// Closes the store while its clients go on. Afterwards everything has ended, if the power does
    /// not go at once. A store that refuses writes because one had failed cannot be closed in
    /// order.
    pub(crate) fn close(
        &mut self,
        scene: &Scene,
        opened: &mut Opened,
    ) -> Result<Ending, Violation> {
        scene.is_closing.set(true);
        let was_latched = opened.store.is_latched();
        let handle =
            opened.handles[self.random.below(opened.handles.len() as u64) as usize].clone();
        let store = Arc::clone(&opened.store);
        let closing = async move { store.close(&handle).await };
        let closed = drive(&mut opened.executor, scene, (closing, STEPS_MAX))?;
        let ending = match closed {
            Some(Ok(())) if !was_latched && self.random.below(3) > 0 => {
                self.linger(scene, opened)?;
                return Ok(Ending::Exit);
            }
            Some(Ok(())) if !was_latched => Ending::Close,
            Some(Err(StoreError::Latched)) if was_latched => Ending::RefusedClose,
            Some(Err(StoreError::Latched)) if scene.trouble.may_latch() => Ending::FailedClose,
            Some(closed) => return Err(Violation(format!("closing came to {closed:?}"))),
            None => return Err(Violation("closing does not end".into())),
        };
        scene.is_stopping.set(true);
        finish(&mut opened.executor, scene)?;
        let quiet = self.clock.sleep(quiet_us(scene));
        drive(&mut opened.executor, scene, (quiet, STEPS_MAX)).map(|_| ending)
    }

    /// Lets go on what a closing in order has left under way, until the power goes: nothing that a
    /// start would miss. At times that is as soon as the cleaner has written something.
    fn linger(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        let is_keen = self.random.flip();
        let before = Stage::Wrote.bytes(opened);
        let bound = STEPS_AFTER_CLOSE[self.random.below(3) as usize];
        let steps = if is_keen {
            STEPS_KEEN
        } else {
            self.random.below(bound)
        };
        for _ in 0..steps {
            drive(&mut opened.executor, scene, (pending::<()>(), 1))?;
            if is_keen && Stage::Wrote.bytes(opened) > before {
                break;
            }
        }
        Ok(())
    }
}

/// Looks for every key that may have been evicted.
pub(crate) fn find_losses(scene: &Scene, handle: &Handle) -> Result<(), Violation> {
    let mut model = scene.model.borrow_mut();
    let shown = model.shown();
    let keys: Vec<Key> = model.keys().cloned().collect();
    for key in &keys {
        let is_gone =
            model.is_doubtful(shown, key) && handle.try_peek(key.0, &key.1) == Peek::Absent;
        if is_gone {
            model.lose((handle.published_lsn(), scene.now_us()), key)?;
        }
    }
    Ok(())
}

/// Goes on until something is so, or for so many looks.
fn go_on(
    scene: &Scene,
    opened: &mut Opened,
    looks: u64,
    is_so: impl Fn(&Opened) -> bool,
) -> Result<(), Violation> {
    for _ in 0..looks {
        if is_so(opened) {
            break;
        }
        // The upkeep goes on when the clients have ended.
        let watching = async {
            watch(scene, u64::MAX).await;
            pending::<()>().await;
        };
        drive(&mut opened.executor, scene, (watching, STEPS_PER_LOOK))?;
        scene.take_violation()?;
    }
    Ok(())
}

fn quiet_us(scene: &Scene) -> u64 {
    match scene.trouble {
        Trouble::None => QUIET_US,
        Trouble::Reads | Trouble::Writes | Trouble::LastWrite | Trouble::Room | Trouble::Rot => {
            TROUBLED_QUIET_US
        }
    }
}
