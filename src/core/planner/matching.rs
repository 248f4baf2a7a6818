//! Pairs to planes: which pair has, or gets, a circuit on which plane.

use super::{CircuitId, Hold, NewCircuit, Ports, Slot};
use crate::demand::PairBytes;
use crate::fabric::{Fabric, HostId, PlaneId};
use crate::units::Nanos;
use crate::wire::Reason;
use std::collections::BTreeSet;

/// Steps along alternating chains that one plan may take, for each of its pairs.
const CHAIN_STEPS_PER_PAIR: usize = 64;

/// Whose ports a plan may take besides free ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Circuits long unused.
    Cold,
    /// All parked circuits.
    Warm,
}

/// What a pair has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serve {
    /// Nothing: the EPS.
    No,
    /// A circuit that is there, on this plane.
    Kept(u32, CircuitId, Nanos),
    /// A circuit to be set up on this plane.
    New(u32),
}

/// An assignment of pairs to planes. Hosts are the demand's numbers; `slots` and `taken` are
/// indexed by plane, then host.
#[derive(Clone)]
pub(super) struct Matching<'a> {
    hosts: &'a [Option<HostId>],
    ends: Vec<(u32, u32)>,
    planes: usize,
    slots: Vec<Slot>,
    taken: Vec<Option<u32>>,
    serves: Vec<Serve>,
    /// New circuits that the job may still have, by host.
    allowance: Vec<i64>,
    reach: Reach,
    chain_steps_left: usize,
}

impl<'a> Matching<'a> {
    pub(super) fn new(
        fabric: &Fabric,
        ports: &dyn Ports,
        hosts: &'a [Option<HostId>],
        pairs: &[PairBytes],
    ) -> Matching<'a> {
        let mut slots = Vec::with_capacity(fabric.planes.len() * hosts.len());
        for plane in fabric.plane_ids() {
            slots.extend(
                hosts.iter().map(|host| host.map_or(Slot::Absent, |host| ports.slot(plane, host))),
            );
        }
        let mut allowance: Vec<i64> =
            hosts.iter().map(|host| host.map_or(0, |host| i64::from(ports.share(host)))).collect();
        for (index, slot) in slots.iter().enumerate() {
            if let Slot::Taken { own: true, .. } = slot {
                allowance[index % hosts.len()] -= 1;
            }
        }
        Matching {
            hosts,
            ends: pairs.iter().map(|pair| (pair.a, pair.b)).collect(),
            planes: fabric.planes.len(),
            taken: vec![None; slots.len()],
            slots,
            serves: vec![Serve::No; pairs.len()],
            allowance,
            reach: Reach::Cold,
            chain_steps_left: pairs.len() * CHAIN_STEPS_PER_PAIR,
        }
    }

    fn at(&self, plane: usize, host: u32) -> usize {
        plane * self.hosts.len() + host as usize
    }

    /// Gives each pair the circuit that it has already.
    pub(super) fn keep_existing(&mut self) {
        for pair in 0..self.ends.len() {
            let own = (0..self.planes).find_map(|plane| self.existing(plane, pair, true));
            let any = || (0..self.planes).find_map(|plane| self.existing(plane, pair, false));
            if let Some((plane, serve)) = own.or_else(any) {
                self.serves[pair] = serve;
                self.take(plane, pair);
            }
        }
    }

    /// The pair's circuit on the plane: the job's own, or one that it may use.
    fn existing(&self, plane: usize, pair: usize, must_own: bool) -> Option<(usize, Serve)> {
        let (a, b) = self.ends[pair];
        match self.slots[self.at(plane, a)] {
            Slot::Taken { circuit, peer, usable: true, own, ready_in, .. }
                if self.hosts[b as usize] == Some(peer) && (own || !must_own) =>
            {
                Some((plane, Serve::Kept(plane as u32, circuit, ready_in)))
            }
            _ => None,
        }
    }

    /// Gives the pairs without a circuit new ones, as far as ports reach.
    pub(super) fn fill(&mut self, reach: Reach) {
        self.reach = reach;
        for pair in 0..self.ends.len() {
            if self.serves[pair] != Serve::No {
                continue;
            }
            let (a, b) = self.ends[pair];
            let direct = (0..self.planes).find(|&p| self.open(p, a) && self.open(p, b));
            if let Some(plane) = direct.or_else(|| self.make_room(a, b)) {
                self.serves[pair] = Serve::New(plane as u32);
                self.take(plane, pair);
                self.spend(plane, pair);
            }
        }
    }

    fn take(&mut self, plane: usize, pair: usize) {
        let (a, b) = self.ends[pair];
        let (at_a, at_b) = (self.at(plane, a), self.at(plane, b));
        self.taken[at_a] = u32::try_from(pair).ok();
        self.taken[at_b] = self.taken[at_a];
    }

    /// A new circuit counts against the share, unless it takes the place of the job's own.
    fn spend(&mut self, plane: usize, pair: usize) {
        let (a, b) = self.ends[pair];
        for host in [a, b] {
            self.allowance[host as usize] -= i64::from(!self.is_own(plane, host));
        }
    }

    fn is_own(&self, plane: usize, host: u32) -> bool {
        matches!(self.slots[self.at(plane, host)], Slot::Taken { own: true, .. })
    }

    /// True where the plan may put a new circuit on the host's port.
    fn gives(&self, plane: usize, host: u32) -> bool {
        match self.slots[self.at(plane, host)] {
            Slot::Free => true,
            Slot::Taken { hold: Hold::Cold, .. } => true,
            Slot::Taken { hold: Hold::Warm, .. } => self.reach == Reach::Warm,
            Slot::Taken { hold: Hold::InUse, .. } | Slot::Absent | Slot::Blocked(_) => false,
        }
    }

    fn open(&self, plane: usize, host: u32) -> bool {
        self.taken[self.at(plane, host)].is_none()
            && self.gives(plane, host)
            && (self.allowance[host as usize] > 0 || self.is_own(plane, host))
    }

    /// True where a new circuit of this plan may move from one plane to the other at the host.
    fn may_move(&self, from: usize, to: usize, host: u32) -> bool {
        self.gives(to, host) && self.is_own(from, host) == self.is_own(to, host)
    }

    /// Frees one plane at both hosts by flipping an alternating chain; answers with the plane.
    fn make_room(&mut self, a: u32, b: u32) -> Option<usize> {
        for at_a in 0..self.planes {
            if !self.open(at_a, a) || !self.gives(at_a, b) || self.is_own(at_a, b) {
                continue;
            }
            for at_b in 0..self.planes {
                if at_b == at_a || !self.open(at_b, b) || self.is_own(at_b, b) {
                    continue;
                }
                if let Some(chain) = self.chain(b, a, at_a, at_b) {
                    self.flip(&chain, at_a, at_b);
                    return Some(at_a);
                }
            }
        }
        None
    }

    /// The chain of new circuits from `start`, on `first` and `second` in turn, if each of them
    /// can change to the other plane and the chain does not end at `avoid`.
    fn chain(&mut self, start: u32, avoid: u32, first: usize, second: usize) -> Option<Vec<u32>> {
        let mut chain = Vec::new();
        let (mut host, mut from, mut to) = (start, first, second);
        while let Some(pair) = self.taken[self.at(from, host)] {
            if self.chain_steps_left == 0 || !matches!(self.serves[pair as usize], Serve::New(_)) {
                return None;
            }
            self.chain_steps_left -= 1;
            let (a, b) = self.ends[pair as usize];
            if !self.may_move(from, to, a) || !self.may_move(from, to, b) {
                return None;
            }
            chain.push(pair);
            host = if a == host { b } else { a };
            if host == avoid {
                return None;
            }
            (from, to) = (to, from);
        }
        Some(chain)
    }

    fn flip(&mut self, chain: &[u32], one: usize, other: usize) {
        for &pair in chain {
            let Serve::New(plane) = self.serves[pair as usize] else { continue };
            let (a, b) = self.ends[pair as usize];
            for host in [a, b] {
                let at = self.at(plane as usize, host);
                self.taken[at] = None;
            }
        }
        for &pair in chain {
            let Serve::New(plane) = self.serves[pair as usize] else { continue };
            let to = if plane as usize == one { other } else { one };
            self.serves[pair as usize] = Serve::New(to as u32);
            self.take(to, pair as usize);
        }
    }

    /// The plane that serves a pair.
    pub(super) fn plane_of(&self, pair: usize) -> Option<PlaneId> {
        match self.serves[pair] {
            Serve::No => None,
            Serve::Kept(plane, ..) | Serve::New(plane) => Some(PlaneId(plane)),
        }
    }

    /// Pairs that are left to the EPS.
    pub(super) fn unserved(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.serves.len()).filter(|&pair| self.serves[pair] == Serve::No)
    }

    /// True where both hosts have a port on one plane, whatever it is doing.
    pub(super) fn could_serve(&self, pair: usize) -> bool {
        let (a, b) = self.ends[pair];
        (0..self.planes).any(|plane| {
            [a, b].iter().all(|&host| self.slots[self.at(plane, host)] != Slot::Absent)
        })
    }

    /// Why the heaviest pair without a circuit has none; `None` where all have.
    pub(super) fn why_unserved(&self, pairs: &[PairBytes]) -> Option<Reason> {
        debug_assert_eq!(pairs.len(), self.ends.len());
        self.unserved().next().map(|pair| self.why_not(pair))
    }

    fn why_not(&self, pair: usize) -> Reason {
        if !self.could_serve(pair) {
            return Reason::HostNotInFabric;
        }
        let (a, b) = self.ends[pair];
        let mut others = None;
        for plane in 0..self.planes {
            let ends = [self.at(plane, a), self.at(plane, b)];
            if ends.iter().any(|&at| self.taken[at].is_some() || self.slots[at] == Slot::Absent) {
                continue;
            }
            let blocked = ends.iter().find_map(|&at| match self.slots[at] {
                Slot::Blocked(reason) => Some(reason),
                Slot::Taken { hold, .. } if hold != Hold::Cold => Some(Reason::PortsInUse),
                _ => None,
            });
            match blocked {
                None => return Reason::ShareUsed,
                Some(Reason::SwitchFailed) => others = Some(Reason::SwitchFailed),
                Some(reason) => others = others.or(Some(reason)),
            }
        }
        others.unwrap_or(Reason::DegreeTooHigh)
    }

    /// True where a parked circuit that comes back stood in the way.
    pub(super) fn wants_warm(&self) -> bool {
        self.unserved().any(|pair| {
            let (a, b) = self.ends[pair];
            (0..self.planes)
                .any(|plane| [a, b].iter().any(|&host| self.is_warm(self.at(plane, host))))
        })
    }

    fn is_warm(&self, at: usize) -> bool {
        self.taken[at].is_none() && matches!(self.slots[at], Slot::Taken { hold: Hold::Warm, .. })
    }

    /// Circuits that are there and serve, with the time until each is up.
    pub(super) fn kept(&self) -> impl Iterator<Item = (CircuitId, Nanos)> + '_ {
        self.serves.iter().filter_map(|serve| match serve {
            Serve::Kept(_, circuit, ready_in) => Some((*circuit, *ready_in)),
            Serve::No | Serve::New(_) => None,
        })
    }

    /// The planes that get new circuits.
    pub(super) fn new_planes(&self) -> BTreeSet<PlaneId> {
        let planes = self.serves.iter().filter_map(|serve| match serve {
            Serve::New(plane) => Some(PlaneId(*plane)),
            Serve::No | Serve::Kept(..) => None,
        });
        planes.collect()
    }

    /// The new circuits, by plane and hosts.
    pub(super) fn created(&self) -> Vec<NewCircuit> {
        let mut created: Vec<NewCircuit> = Vec::new();
        for (serve, &(a, b)) in self.serves.iter().zip(&self.ends) {
            let Serve::New(plane) = serve else { continue };
            if let (Some(a), Some(b)) = (self.hosts[a as usize], self.hosts[b as usize]) {
                created.push(NewCircuit { plane: PlaneId(*plane), a: a.min(b), b: a.max(b) });
            }
        }
        created.sort_unstable();
        created
    }

    /// Slots where a new circuit takes the place of one that is there.
    fn displaced(&self) -> impl Iterator<Item = (CircuitId, Hold)> + '_ {
        self.taken.iter().zip(&self.slots).filter_map(|(taken, slot)| {
            let new = matches!(self.serves[(*taken)? as usize], Serve::New(_));
            match slot {
                Slot::Taken { circuit, hold, .. } if new => Some((*circuit, *hold)),
                _ => None,
            }
        })
    }

    /// The circuits that give way.
    pub(super) fn removed(&self) -> Vec<CircuitId> {
        let removed: BTreeSet<CircuitId> = self.displaced().map(|(circuit, _)| circuit).collect();
        removed.into_iter().collect()
    }

    /// True where one of them comes back.
    pub(super) fn displaces_warm(&self) -> bool {
        self.displaced().any(|(_, hold)| hold == Hold::Warm)
    }
}
