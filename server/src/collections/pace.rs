//! Turns of long loops: whoever goes over many elements in memory lets others run now and then.
//!
//! Owns how often.

/// Elements that are handled before others may run: some tens of nanoseconds each.
const ELEMENTS_PER_TURN: u32 = 512;

/// A loop over elements.
#[derive(Default)]
pub(crate) struct Pace {
    handled: u32,
}

impl Pace {
    /// Lets others run, if it is time. To be called once an element.
    pub(crate) async fn step(&mut self) {
        self.handled += 1;
        if self.handled == ELEMENTS_PER_TURN {
            self.handled = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// Lets others run after every `count` elements, behind element number `index`.
pub(crate) async fn every(count: usize, index: usize) {
    if index % count == count - 1 {
        tokio::task::yield_now().await;
    }
}

/// Drops many values. A million at once would take tens of milliseconds: each has a count to be
/// lowered, and some the last reference to a page.
pub(crate) async fn let_go<T>(values: impl IntoIterator<Item = T>) {
    let mut pace = Pace::default();
    for value in values {
        drop(value);
        pace.step().await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::rc::Rc;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn others_run_while_many_values_are_let_go() {
        let counted = Rc::new(());
        let count = 3 * ELEMENTS_PER_TURN as usize;
        let mut going = pin!(let_go(vec![Rc::clone(&counted); count]));
        let left = || Rc::strong_count(&counted) - 1;
        let mut polls = 0;
        while left() > 0 {
            let before = left();
            let progress = going.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            polls += 1;
            assert!(before - left() <= ELEMENTS_PER_TURN as usize);
            assert!(progress.is_pending() || left() == 0);
        }
        assert!(polls >= 3, "{polls}");
    }
}
