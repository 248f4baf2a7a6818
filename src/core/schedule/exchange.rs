//! Exchanges between partners whose numbers differ in one bit.
//!
//! Such exchanges need a power of two of ranks. Of any other number the surplus ranks first hand
//! their data to a neighbour and sit out ([`Fold`]); the others are numbered anew without gaps.
//! Numbers in that sense are called virtual here.

use super::cut::Part;
use super::stage::{Field, Sink, doubling_steps};

/// Which ranks sit out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// The even ones among the first ranks.
    Even,
    /// The odd ones among the first ranks.
    Odd,
    /// The last ranks.
    Last,
}

/// One exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Those who sit out send the whole vector to their neighbours.
    In(Fold),
    /// Neighbours send each other half of the vector, then the one who leaves sends its half back.
    InHalves,
    /// Those who sit out get the whole vector.
    Out(Fold),
    /// Those who sat out get their own block.
    OutOwn(Fold),
    /// Partners at growing distance send each other the whole vector.
    Double(Fold),
    /// Reduce-scatter: partners send each other half of what they still work on.
    Halve { fold: Fold, order: Order, own_blocks: bool },
    /// Allgather: [`Exchange::Halve`] backwards.
    Unhalve { fold: Fold, order: Order },
    /// Gather: as [`Exchange::Unhalve`], but only towards the root.
    GatherHalves { fold: Fold, root: u32 },
    /// After halving at growing distance a rank holds the block of the rank with its bits in
    /// reverse: it sends it there.
    Mirror,
    /// Allgather over the ranks as counted from the root: partners at growing distance send each
    /// other what they have; for any number of ranks. `but` sends all the other blocks instead,
    /// which is how a reduce-scatter goes the same way.
    Gather { root: u32, but: bool },
}

/// The order of distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// 1, 2, 4, ...
    Growing,
    /// n/2, n/4, ...
    Shrinking,
}

impl Fold {
    /// The largest power of two that is not more than `ranks`, and how many ranks are surplus.
    fn split(ranks: u32) -> (u32, u32) {
        let power = 1 << ranks.ilog2();
        (power, ranks - power)
    }

    /// The rank with virtual number `number`.
    fn rank(self, number: u32, surplus: u32) -> u32 {
        match self {
            Fold::Even if number < surplus => 2 * number + 1,
            Fold::Odd if number < surplus => 2 * number,
            Fold::Even | Fold::Odd => number + surplus,
            Fold::Last => number,
        }
    }

    /// The pairs (who stays, who sits out).
    fn pairs(self, ranks: u32) -> impl Iterator<Item = (u32, u32)> {
        let (power, surplus) = Fold::split(ranks);
        (0..surplus).map(move |index| match self {
            Fold::Even => (2 * index + 1, 2 * index),
            Fold::Odd => (2 * index, 2 * index + 1),
            Fold::Last => (index, power + index),
        })
    }
}

/// The blocks that `number` of `power` numbers still works on after `step` halvings.
fn window(order: Order, number: u32, power: u32, step: u32) -> Part {
    let blocks = power >> step;
    let first = match order {
        Order::Shrinking => number & !(blocks - 1),
        Order::Growing => {
            (0..step).filter(|bit| number >> bit & 1 == 1).map(|bit| power >> (bit + 1)).sum()
        }
    };
    Part { first, blocks }
}

/// The distance at step `step`.
fn distance(order: Order, power: u32, step: u32) -> u32 {
    match order {
        Order::Growing => 1 << step,
        Order::Shrinking => power >> (step + 1),
    }
}

/// A window as blocks of ranks: a rank that stays also works on the block of the one that left.
fn own_blocks(window: Part, surplus: u32) -> Part {
    let start = |number: u32| if number < surplus { 2 * number } else { number + surplus };
    let first = start(window.first);
    Part { first, blocks: start(window.first + window.blocks) - first }
}

impl Exchange {
    /// As [`super::stage::Stage::emit`].
    pub(super) fn emit(&self, field: &Field, at: u32, sink: Sink) -> u32 {
        let n = field.ranks;
        let (power, surplus) = Fold::split(n);
        let steps = power.ilog2();
        let whole = field.cut.whole();
        // In each step all virtual numbers send a part to their partners.
        let exchange = |at, fold: Fold, sink: Sink, of: &dyn Fn(u32, u32) -> (u32, Part)| {
            field.rounds(at, steps, sink, |step, number| {
                let (partner, part) = (number < power).then(|| of(step, number))?;
                let (from, to) = (fold.rank(number, surplus), fold.rank(partner, surplus));
                Some(field.transfer(from, to, part))
            })
        };
        match *self {
            Exchange::In(fold) => {
                for (stays, leaves) in fold.pairs(n) {
                    sink(at, field.transfer(leaves, stays, whole));
                }
                at + 1
            }
            Exchange::InHalves => in_halves(field, at, sink),
            Exchange::Out(fold) => {
                for (stays, leaves) in fold.pairs(n) {
                    sink(at, field.transfer(stays, leaves, whole));
                }
                at + 1
            }
            Exchange::OutOwn(fold) => {
                for (stays, leaves) in fold.pairs(n) {
                    let own = Part { first: leaves, blocks: 1 };
                    sink(at, field.transfer(stays, leaves, own));
                }
                at + 1
            }
            Exchange::Double(fold) => {
                exchange(at, fold, sink, &|step, number| (number ^ (1 << step), whole))
            }
            Exchange::Halve { fold, order, own_blocks: own } => {
                exchange(at, fold, sink, &|step, number| {
                    let partner = number ^ distance(order, power, step);
                    let sent = window(order, partner, power, step + 1);
                    (partner, if own { own_blocks(sent, surplus) } else { sent })
                })
            }
            Exchange::Unhalve { fold, order } => exchange(at, fold, sink, &|step, number| {
                let back = steps - 1 - step;
                let partner = number ^ distance(order, power, back);
                (partner, window(order, number, power, back + 1))
            }),
            Exchange::GatherHalves { fold, root } => gather_halves(field, at, fold, root, sink),
            Exchange::Mirror => mirror(field, at, sink),
            Exchange::Gather { root, but } => gather(field, at, root, but, sink),
        }
    }
}

/// The first step among those who fold: halves there, and one half back.
fn in_halves(field: &Field, at: u32, sink: Sink) -> u32 {
    let power = 1 << field.ranks.ilog2();
    let left = Part { first: 0, blocks: power / 2 };
    let right = Part { first: power / 2, blocks: power - power / 2 };
    for (stays, leaves) in Fold::Odd.pairs(field.ranks) {
        sink(at, field.transfer(stays, leaves, right));
        sink(at, field.transfer(leaves, stays, left));
        sink(at + 1, field.transfer(leaves, stays, right));
    }
    at + 2
}

/// Gathers the windows at the root. A root that sits out first takes the place of number 0.
fn gather_halves(field: &Field, at: u32, fold: Fold, root: u32, sink: Sink) -> u32 {
    let (power, surplus) = Fold::split(field.ranks);
    let steps = power.ilog2();
    let order = Order::Growing;
    let sits_out = fold.pairs(field.ranks).any(|(_, leaves)| leaves == root);
    let root_number = match root {
        _ if sits_out => 0,
        root if root < 2 * surplus => root / 2,
        root => root - surplus,
    };
    let rank = |number| if sits_out && number == 0 { root } else { fold.rank(number, surplus) };
    let mut next = at;
    if sits_out {
        let part = window(order, 0, power, steps);
        sink(next, field.transfer(fold.rank(0, surplus), root, part));
        next += 1;
    }
    for step in (0..steps).rev() {
        // Numbers that agree with the root's in the bits above this one still take part.
        let senders = (0..power).filter(|number| (number ^ root_number) >> step == 1);
        for number in senders {
            let part = window(order, number, power, step + 1);
            sink(next, field.transfer(rank(number), rank(number ^ (1 << step)), part));
        }
        next += 1;
    }
    next
}

/// Sends each finished block to the rank it belongs to.
fn mirror(field: &Field, at: u32, sink: Sink) -> u32 {
    let (power, surplus) = Fold::split(field.ranks);
    let steps = power.ilog2();
    for number in 0..power {
        let owner = if steps == 0 { 0 } else { number.reverse_bits() >> (u32::BITS - steps) };
        let from = Fold::Even.rank(number, surplus);
        let to = Fold::Even.rank(owner, surplus);
        if owner < surplus {
            // The owner's left neighbour sat out: its block comes from here too.
            sink(at, field.transfer(from, to - 1, Part { first: to - 1, blocks: 1 }));
        }
        if owner != number {
            sink(at, field.transfer(from, to, Part { first: to, blocks: 1 }));
        }
    }
    at + 1
}

/// Recursive doubling for any number of ranks: where a subtree's partner is cut off by the last
/// rank, those of the subtree that got the partner's blocks pass them on to those that did not.
fn gather(field: &Field, at: u32, root: u32, but: bool, sink: Sink) -> u32 {
    let n = field.ranks;
    // The subtree of `size` ranks from `first` on, or all the others.
    let part = |first: u32, size: u32| {
        let blocks = size.min(n - first);
        if but {
            Part { first: first + blocks, blocks: n - blocks }
        } else {
            Part { first, blocks }
        }
    };
    let mut next = at;
    for distance in (0..doubling_steps(n)).map(|step| 1 << step) {
        let subtree = |number: u32| number & !(distance - 1);
        for number in (0..n).filter(|number| number ^ distance < n) {
            let sent = part(subtree(number), distance);
            sink(next, field.transfer(number + root, (number ^ distance) + root, sent));
        }
        next += 1;
        let mut half = distance / 2;
        while half > 0 {
            for number in 0..n {
                let other = subtree(number ^ distance);
                if other + distance <= n || other >= n || other < number {
                    continue;
                }
                let lucky = number & !(2 * half - 1);
                let have = n - other;
                let partner = number ^ half;
                if partner > number && number < lucky + have && partner >= lucky + have {
                    let sent = part(other, distance);
                    sink(next, field.transfer(number + root, partner + root, sent));
                }
            }
            next += 1;
            half /= 2;
        }
    }
    next
}
