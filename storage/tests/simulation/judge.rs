//! The comparison of what a recovery left with the states after all prefixes of a life's commits.
//! Owns the words for what does not fit; must never look into the store.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::model::{Key, Model, Sighting, Step, Violation};
use crate::value::shows;

impl Model {
    /// The number of commits after which the store was in the state that was found: the highest, if
    /// there are several. `least` commits must be among them. `strays`: so many keys may
    /// contradict.
    pub(crate) fn judge(
        &self,
        found: &BTreeMap<Key, Sighting>,
        least: usize,
        strays: usize,
    ) -> Result<usize, Violation> {
        let mut unknown = found.iter().filter(|(key, sighting)| {
            sighting.found.is_some() && !self.histories.contains_key(*key)
        });
        if let Some((key, sighting)) = unknown.nth(strays) {
            let what = format!("a key that nobody wrote in this life: {key:?} holds {sighting:?}");
            return Err(Violation(what));
        }
        let contradictions = self.contradictions(found);
        let fits = (least..self.commits.len())
            .rev()
            .find(|commit| contradictions[*commit] <= strays);
        fits.ok_or_else(|| self.explain(found, &contradictions, least))
    }

    /// How many keys contradict that exactly so many commits survived.
    fn contradictions(&self, found: &BTreeMap<Key, Sighting>) -> Vec<usize> {
        let mut changes = vec![0_isize; self.commits.len() + 1];
        for (key, steps) in &self.histories {
            let sighting = &found[key];
            let mut note = |from: usize, to: usize| {
                changes[from] += 1;
                changes[to] -= 1;
            };
            let first = steps.first().map_or(self.commits.len(), |step| step.commit);
            if sighting.damage.is_none() && !shows(None, sighting.found.as_ref(), sighting.ms) {
                note(0, first);
            }
            for (index, step) in steps.iter().enumerate() {
                let end = steps
                    .get(index + 1)
                    .map_or(self.commits.len(), |next| next.commit);
                if let Some(until) = self.contradicts(step, sighting) {
                    note(step.commit, until.clamp(step.commit, end));
                }
            }
        }
        let sums = changes.iter().scan(0, |sum, change| {
            *sum += change;
            Some(sum.unsigned_abs())
        });
        sums.take(self.commits.len()).collect()
    }

    /// Whether a key that holds this cannot show what was seen of it, and until which commit.
    fn contradicts(&self, step: &Step, sighting: &Sighting) -> Option<usize> {
        let (held, found) = (step.held.as_ref(), sighting.found.as_ref());
        if sighting.damage.is_some() || shows(held, found, sighting.ms) {
            return None;
        }
        let gone_from = |version| self.policies.gone_from(step.since, version);
        let until = held.filter(|_| found.is_none()).and_then(gone_from);
        Some(until.unwrap_or(usize::MAX))
    }

    /// Why no prefix fits: what stands against the one that fits best.
    fn explain(
        &self,
        found: &BTreeMap<Key, Sighting>,
        contradictions: &[usize],
        least: usize,
    ) -> Violation {
        let best = |from: usize| {
            (from..self.commits.len())
                .min_by_key(|commit| contradictions[*commit])
                .unwrap_or(from)
        };
        let (any, allowed) = (best(0), best(least));
        let mut text = format!(
            "no prefix of the {} commits fits that has the {least} durable ones; {} of {} keys \
             contradict commit {allowed} (lsn {}); {} contradict {any}:",
            self.last(),
            contradictions[allowed],
            self.histories.len(),
            self.commits[allowed].lsn,
            contradictions[any],
        );
        let stands_against = |(key, steps): &(&Key, &Vec<Step>)| {
            let sighting = &found[*key];
            let at = steps.partition_point(|step| step.commit <= allowed);
            match at.checked_sub(1).map(|index| &steps[index]) {
                Some(step) => {
                    let until = self.contradicts(step, sighting);
                    until.is_some_and(|until| allowed < until)
                }
                None => sighting.damage.is_none() && sighting.found.is_some(),
            }
        };
        for (key, steps) in self.histories.iter().filter(stands_against).take(5) {
            write!(text, "\n  {key:?} shows {:?}; it held", found[key]).expect("a string has room");
            let near = steps
                .partition_point(|step| step.commit <= allowed)
                .saturating_sub(3);
            for step in steps.iter().skip(near).take(7) {
                let lsn = self.commits[step.commit].lsn;
                write!(
                    text,
                    "\n    from commit {} (lsn {lsn}): {:?}",
                    step.commit, step.held
                )
                .expect("a string has room");
            }
        }
        Violation(text)
    }
}
