//! Runs tasks on simulated time: one thread, the order of the runnable ones drawn from the seed,
//! the clock advanced when none is runnable. Owns the schedule; must never sleep.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

use super::random::SimRandom;
use crate::clock::SimClock;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Tasks that were woken, each at most once.
type Ready = Arc<Mutex<Vec<usize>>>;

/// The number of the task that `block_on` runs.
const MAIN: usize = usize::MAX;

struct TaskWaker {
    number: usize,
    ready: Ready,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock();
        if !ready.contains(&self.number) {
            ready.push(self.number);
        }
    }
}

fn waker(number: usize, ready: &Ready) -> Waker {
    Waker::from(Arc::new(TaskWaker {
        number,
        ready: Arc::clone(ready),
    }))
}

/// Adds tasks to an executor, from within its tasks too.
#[derive(Clone, Default)]
pub struct SimSpawner {
    spawned: Rc<RefCell<Vec<Task>>>,
}

impl SimSpawner {
    /// Adds a task; it runs when the executor does.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.spawned.borrow_mut().push(Box::pin(task));
    }
}

/// A deterministic executor.
pub struct SimExecutor {
    clock: SimClock,
    random: SimRandom,
    ready: Ready,
    /// `None`: it ended.
    tasks: Vec<Option<(Task, Waker)>>,
    spawner: SimSpawner,
    steps: u64,
}

impl SimExecutor {
    /// An executor that advances `clock`.
    pub fn new(clock: SimClock, seed: u64) -> Self {
        Self {
            clock,
            random: SimRandom::new(seed),
            ready: Ready::default(),
            tasks: Vec::new(),
            spawner: SimSpawner::default(),
            steps: 0,
        }
    }

    /// Adds tasks from anywhere on this thread.
    pub fn spawner(&self) -> SimSpawner {
        self.spawner.clone()
    }

    /// Polls and clock advances so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Runs everything until `future` ends. Panics when nothing can happen before that.
    pub fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        let output = self.block_on_for(future, u64::MAX);
        output.expect("a task can go on, or a time will come")
    }

    /// Runs everything until `future` ends, nothing can happen, or `steps` more steps were made;
    /// then drops the future. For a crash at a chosen moment.
    pub fn block_on_for<F: Future>(&mut self, future: F, steps: u64) -> Option<F::Output> {
        let mut future = pin!(future);
        let main = waker(MAIN, &self.ready);
        main.wake_by_ref();
        let steps_end = self.steps.saturating_add(steps);
        while self.steps < steps_end {
            self.steps += 1;
            self.adopt();
            match self.choose() {
                Some(MAIN) => {
                    let polled = future.as_mut().poll(&mut Context::from_waker(&main));
                    if let Poll::Ready(output) = polled {
                        return Some(output);
                    }
                }
                Some(number) => self.poll(number),
                None => self.clock.advance_to(self.clock.next_deadline_us()?),
            }
        }
        None
    }

    /// Takes in what was spawned.
    fn adopt(&mut self) {
        for task in self.spawner.spawned.borrow_mut().drain(..) {
            let waker = waker(self.tasks.len(), &self.ready);
            waker.wake_by_ref();
            self.tasks.push(Some((task, waker)));
        }
    }

    /// One of the runnable tasks.
    fn choose(&mut self) -> Option<usize> {
        let mut ready = self.ready.lock();
        let count = ready.len() as u64;
        (count > 0).then(|| ready.swap_remove(self.random.below(count) as usize))
    }

    fn poll(&mut self, number: usize) {
        // A task that ended may still be woken.
        if let Some((task, waker)) = &mut self.tasks[number]
            && task
                .as_mut()
                .poll(&mut Context::from_waker(waker))
                .is_ready()
        {
            self.tasks[number] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::clock::Clock;

    /// The order in which three sleeping and yielding tasks get on, and the time at the end.
    fn trace(seed: u64) -> (Vec<u32>, u64) {
        let clock = SimClock::new(0);
        let mut executor = SimExecutor::new(clock.clone(), seed);
        let order = Rc::new(RefCell::new(Vec::new()));
        for task in 0..3 {
            let (order, clock) = (Rc::clone(&order), clock.clone());
            executor.spawner().spawn(async move {
                for _ in 0..3 {
                    order.borrow_mut().push(task);
                    clock.sleep(100).await;
                }
            });
        }
        executor.block_on(clock.sleep(1_000));
        (order.take(), clock.monotonic_us())
    }

    #[test]
    fn a_seed_gives_one_schedule_and_seeds_differ() {
        let first = trace(1);
        assert_eq!((first.0.len(), first.1), (9, 1_000));
        assert_eq!(trace(1), first);
        assert!((2..10).any(|seed| trace(seed) != first));
    }

    #[test]
    fn a_run_can_be_cut_at_any_step() {
        let clock = SimClock::new(0);
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let count = Rc::new(Cell::new(0));
        let forever = async {
            loop {
                count.set(count.get() + 1);
                clock.sleep(10).await;
            }
        };
        // Each round is a poll and an advance.
        let ended: Option<()> = executor.block_on_for(forever, 20);
        assert_eq!((ended, count.get(), executor.steps()), (None, 10, 20));
    }

    #[test]
    fn a_task_may_spawn_and_be_woken_after_its_end() {
        let clock = SimClock::new(0);
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let spawner = executor.spawner();
        let done = Rc::new(Cell::new(false));
        let (inner_done, inner_clock) = (Rc::clone(&done), clock.clone());
        executor.spawner().spawn(async move {
            spawner.spawn(async move {
                inner_clock.sleep(5).await;
                inner_done.set(true);
            });
        });
        executor.block_on(clock.sleep(10));
        assert!(done.get());
        executor.ready.lock().push(0);
        executor.block_on(clock.sleep(10));
    }

    #[test]
    #[should_panic(expected = "a time will come")]
    fn a_future_that_nobody_will_wake_is_reported() {
        SimExecutor::new(SimClock::new(0), 1).block_on(std::future::pending::<()>());
    }
}
