//! Planned failures. Owns the plan and which operation a failure meets; must never fail anything
//! that the plan does not name.

use super::super::error::Operation;
use crate::units::Extent;

/// What a planned failure does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The operation ends with this error number. A write may have arrived in part; what a flush
    /// was to save is not saved by later flushes.
    Errno(i32),
    /// No answer within the bound; else as an error.
    TimedOut,
}

/// A planned failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which operations it meets.
    pub operation: Operation,
    /// Only those that touch this; `None`: all.
    pub extent: Option<Extent>,
    /// So many of them pass first.
    pub skip: u64,
    /// Then so many fail; then the plan is done.
    pub times: u64,
    /// How.
    pub effect: Effect,
}

/// The failures that are still to come. As many as a test plans.
#[derive(Default)]
pub(super) struct FaultPlan {
    faults: Vec<Fault>,
}

impl FaultPlan {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// What befalls this operation. Every fault that names it counts it; the first that is due
    /// wins.
    pub(super) fn meet(&mut self, operation: Operation, extent: Extent) -> Option<Effect> {
        let mut effect = None;
        for fault in self
            .faults
            .iter_mut()
            .filter(|fault| fault.names(operation, extent))
        {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if effect.is_none() {
                fault.times = fault.times.saturating_sub(1);
                effect = Some(fault.effect);
            }
        }
        self.faults.retain(|fault| fault.times > 0);
        effect
    }
}

impl Fault {
    fn names(&self, operation: Operation, extent: Extent) -> bool {
        self.times > 0
            && self.operation == operation
            && self.extent.is_none_or(|named| {
                named.offset < extent.offset.saturating_add(extent.bytes)
                    && extent.offset < named.offset.saturating_add(named.bytes)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_what_it_names_and_then_is_done() {
        let mut plan = FaultPlan::default();
        let extent = Some(Extent {
            offset: 4096,
            bytes: 512,
        });
        let effect = Effect::Errno(5);
        plan.add(Fault {
            operation: Operation::Read,
            extent,
            skip: 1,
            times: 2,
            effect,
        });
        let mut meet = |operation, offset| {
            plan.meet(
                operation,
                Extent {
                    offset,
                    bytes: 4096,
                },
            )
        };
        assert_eq!(meet(Operation::Read, 0), None);
        assert_eq!(meet(Operation::Write, 4096), None);
        assert_eq!(meet(Operation::Read, 4096), None);
        assert_eq!(meet(Operation::Read, 512), Some(effect));
        assert_eq!(meet(Operation::Read, 4096), Some(effect));
        assert_eq!(meet(Operation::Read, 4096), None);
    }
}
