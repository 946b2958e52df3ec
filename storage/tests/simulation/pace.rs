//! How far things may go: nothing waits for ever, no task spins. Owns those bounds, and runs the
//! tasks within them.

use std::future::Future;
use std::pin::{Pin, pin};

use cellar_storage::Clock;
use cellar_storage::device::sim::SimExecutor;

use crate::model::{Violation, ensure};
use crate::scene::Scene;
use crate::trouble::Trouble;

/// Any operation ends within this much simulated time. The slowest waits for a few turns of the
/// cleaner on the slowest device.
const OPERATION_US_MAX: u64 = 20_000_000;
/// The same where the devices are in trouble, and let an operation wait for their answer for long.
const TROUBLED_US_MAX: u64 = 300_000_000;
/// How often that is looked at.
const WATCH_US: u64 = 500_000;
/// Steps in which the clock has to move: a task that spins keeps it still.
const STEPS_WITHOUT_TIME_MAX: u64 = 100_000;
/// Steps that bounded work takes at most: an opening, a reading of everything.
pub(crate) const STEPS_MAX: u64 = 20_000_000;

/// Runs everything until `future` ends or `steps` were made; fails when the clock stands still.
pub(crate) fn drive<F: Future>(
    executor: &mut SimExecutor,
    scene: &Scene,
    (future, steps): (F, u64),
) -> Result<Option<F::Output>, Violation> {
    let mut future: Pin<&mut F> = pin!(future);
    let mut left = steps;
    while left > 0 {
        let (before_us, before_steps) = (scene.now_us(), executor.steps());
        let turn = left.min(STEPS_WITHOUT_TIME_MAX);
        if let Some(output) = executor.block_on_for(future.as_mut(), turn) {
            return Ok(Some(output));
        }
        if executor.steps() - before_steps < turn {
            return Ok(None);
        }
        ensure(
            turn < STEPS_WITHOUT_TIME_MAX || scene.now_us() > before_us,
            || format!("tasks spin at {before_us} us; clients: {:?}", scene.tasks),
        )?;
        left -= turn;
    }
    Ok(None)
}

/// Waits until all clients have ended.
pub(crate) fn finish(executor: &mut SimExecutor, scene: &Scene) -> Result<(), Violation> {
    let ended = watch(scene, patience_us(scene));
    let ended = drive(executor, scene, (ended, STEPS_MAX))?;
    scene.take_violation()?;
    ensure(ended.is_some(), || {
        "nothing can happen any more, and clients wait".into()
    })
}

fn patience_us(scene: &Scene) -> u64 {
    match scene.trouble {
        Trouble::None => OPERATION_US_MAX,
        Trouble::Reads | Trouble::Writes | Trouble::LastWrite | Trouble::Room | Trouble::Rot => {
            TROUBLED_US_MAX
        }
    }
}

/// Ends when all clients have, and reports one that waits for too long. `limit_us`: how long it may
/// take all in all.
pub(crate) async fn watch(scene: &Scene, limit_us: u64) {
    let end_us = scene.now_us().saturating_add(limit_us);
    while !scene.has_ended() {
        if let Some(violation) = scene.overdue(patience_us(scene)) {
            return scene.report(violation);
        }
        if scene.now_us() > end_us {
            return scene.report(Violation("clients do not end".into()));
        }
        scene.clock.sleep(WATCH_US).await;
    }
}
