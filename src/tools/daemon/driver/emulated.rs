//! The embedded emulated OXC: ports, one-to-one cross-connects, delays, and failures on demand.

use super::OpticalDriver;
use pas_core::engine::Connect;
use pas_core::fabric::{Delay, PPM, Plane, PortPair};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Failures to play. Counted over the life of one switch, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The n-th create is refused.
    pub refuse_create: Option<u64>,
    /// The n-th create is answered with success and not carried out.
    pub ignore_create: Option<u64>,
    /// The first n removes are refused as busy.
    pub busy_removes: u64,
    /// The first n read-backs fail.
    pub blind_reads: u64,
}

/// One emulated switch.
pub struct EmulatedOxc {
    ports: Vec<u32>,
    optical: Delay,
    link_up: Delay,
    faults: Faults,
    random: fastrand::Rng,
    /// Cross-connects, and when their links are up.
    connects: BTreeMap<PortPair, Instant>,
    /// When it was last read back.
    read_at: Option<Instant>,
    creates: u64,
    removes: u64,
    reads: u64,
}

impl EmulatedOxc {
    /// A switch with the plane's ports and delays and no cross-connect.
    pub fn new(plane: &Plane, seed: u64, faults: &Faults) -> EmulatedOxc {
        let ports = plane.ports.iter().flatten().copied().collect();
        EmulatedOxc {
            ports,
            optical: plane.optical_ns.clone(),
            link_up: plane.link_up_ns.clone(),
            faults: faults.clone(),
            random: fastrand::Rng::with_seed(seed),
            connects: BTreeMap::new(),
            read_at: None,
            creates: 0,
            removes: 0,
            reads: 0,
        }
    }

    fn draw(&mut self, which: fn(&EmulatedOxc) -> &Delay) -> Duration {
        let ppm = self.random.u32(0..=PPM);
        Duration::from_nanos(which(self).quantile(ppm).0)
    }

    fn remove(&mut self, pair: PortPair) -> Result<(), String> {
        self.removes += 1;
        if self.removes <= self.faults.busy_removes {
            return Err(format!("{pair:?}: busy, try again"));
        }
        self.connects.remove(&pair).map(drop).ok_or_else(|| format!("{pair:?}: not connected"))
    }

    fn create(&mut self, pair: PortPair) -> Result<(), String> {
        self.creates += 1;
        let ends = [pair.low(), pair.high()];
        if let Some(port) = ends.iter().find(|port| !self.ports.contains(port)) {
            return Err(format!("{pair:?}: the switch has no port {port}"));
        }
        let taken = |other: &PortPair| ends.contains(&other.low()) || ends.contains(&other.high());
        if let Some(other) = self.connects.keys().find(|other| taken(other)) {
            return Err(format!("{pair:?}: a port is in use by {other:?}"));
        }
        if self.faults.refuse_create == Some(self.creates) {
            return Err(format!("{pair:?}: refused"));
        }
        if self.faults.ignore_create == Some(self.creates) {
            return Ok(());
        }
        let up = Instant::now() + self.draw(|oxc| &oxc.link_up);
        self.connects.insert(pair, up);
        Ok(())
    }
}

impl OpticalDriver for EmulatedOxc {
    fn apply(&mut self, remove: &[PortPair], create: &[PortPair]) -> Result<(), String> {
        for pair in remove {
            self.remove(*pair)?;
        }
        if !create.is_empty() {
            // Mirrors turn together: one dark time for the whole change.
            thread::sleep(self.draw(|oxc| &oxc.optical));
        }
        create.iter().try_for_each(|pair| self.create(*pair))
    }

    fn read_back(&mut self) -> Result<Vec<Connect>, String> {
        self.reads += 1;
        if self.reads <= self.faults.blind_reads {
            return Err("the switch does not answer".to_owned());
        }
        let now = Instant::now();
        self.read_at = Some(now);
        let connects = self.connects.iter();
        Ok(connects.map(|(ports, up)| Connect { ports: *ports, up: *up <= now }).collect())
    }

    fn links_change_in(&self) -> Option<Duration> {
        let unread = |up: &&Instant| self.read_at.is_none_or(|read| **up > read);
        let next = self.connects.values().filter(unread).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }
}
