//! The fabric: which host has which port on which plane, how fast light and packets are, and how
//! long a switch takes.
//!
//! [`FabricSpec`] is the file as a person writes it; [`FabricSpec::validate`] makes a [`Fabric`] of
//! it or says everything that is wrong, each with its place in the file.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most planes of a fabric.
pub const PLANES_MAX: usize = 64;
/// Most hosts of a fabric.
pub const HOSTS_MAX: usize = 65_536;
/// Longest name of a fabric, plane or host, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Longest delay that a file may state: an hour.
pub const DELAY_NS_MAX: u64 = 3_600_000_000_000;

/// A plane's index in [`Fabric::planes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlaneId(pub u32);

/// A host's index in [`Fabric::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub u32);

/// Two ports of one plane, joined or to be joined; the lower number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u32, u32)", into = "(u32, u32)")]
pub struct PortPair(u32, u32);

impl TryFrom<(u32, u32)> for PortPair {
    type Error = String;

    fn try_from((a, b): (u32, u32)) -> Result<PortPair, String> {
        PortPair::new(a, b).ok_or_else(|| format!("port {a} cannot be joined with itself"))
    }
}

impl From<PortPair> for (u32, u32) {
    fn from(pair: PortPair) -> (u32, u32) {
        (pair.0, pair.1)
    }
}

impl PortPair {
    /// The pair of two ports, in order; `None` where both are the same.
    pub const fn new(a: u32, b: u32) -> Option<PortPair> {
        if a < b {
            Some(PortPair(a, b))
        } else if b < a {
            Some(PortPair(b, a))
        } else {
            None
        }
    }

    /// The lower port.
    pub const fn low(self) -> u32 {
        self.0
    }

    /// The higher port.
    pub const fn high(self) -> u32 {
        self.1
    }
}

/// How long something takes: one figure, a range, or a measured table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Delay {
    /// Always the same, nanoseconds.
    Fixed(Nanos),
    /// Anything between two figures, each as likely.
    Uniform {
        /// The least.
        min_ns: Nanos,
        /// The most.
        max_ns: Nanos,
    },
    /// Measured percentiles, rising; between two of them the delay is interpolated.
    Percentiles(Vec<Percentile>),
}

/// One line of a measured table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// 0 to 100.
    pub percent: f64,
    /// So many percent took no longer than this.
    pub ns: Nanos,
}

/// Parts per million, the unit of [`Delay::quantile`].
pub const PPM: u32 = 1_000_000;

impl Delay {
    /// The delay that `ppm` parts per million stay under: 500,000 is the median. A uniformly drawn
    /// `ppm` gives a draw of the delay, so that an emulator needs nothing else.
    pub fn quantile(&self, ppm: u32) -> Nanos {
        let ppm = ppm.min(PPM);
        match self {
            Delay::Fixed(ns) => *ns,
            Delay::Uniform { min_ns, max_ns } => interpolate(*min_ns, *max_ns, ppm, PPM),
            Delay::Percentiles(table) => {
                let mut below: Option<(u32, Nanos)> = None;
                for line in table {
                    let at = line.ppm();
                    if at >= ppm {
                        return match below {
                            Some((from, ns)) => interpolate(ns, line.ns, ppm - from, at - from),
                            None => line.ns,
                        };
                    }
                    below = Some((at, line.ns));
                }
                below.map_or(Nanos::ZERO, |(_, ns)| ns)
            }
        }
    }

    /// The median.
    pub fn median(&self) -> Nanos {
        self.quantile(PPM / 2)
    }

    /// The 99th percentile, which planning goes by.
    pub fn p99(&self) -> Nanos {
        self.quantile(990_000)
    }
}

impl Percentile {
    /// The percentage in parts per million; the file's check keeps it within 0 to 100.
    fn ppm(self) -> u32 {
        (self.percent.clamp(0.0, 100.0) * 10_000.0) as u32
    }
}

/// The point `part / whole` of the way from `from` to `to`.
fn interpolate(from: Nanos, to: Nanos, part: u32, whole: u32) -> Nanos {
    if whole == 0 {
        return to;
    }
    let width = u128::from(to.minus(from).0) * u128::from(part) / u128::from(whole);
    from.plus(Nanos(u64::try_from(width).unwrap_or(u64::MAX)))
}

/// A fabric as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// The fabric's name.
    pub name: String,
    /// Line rate of a host into the EPS, bits a second.
    pub eps_bps: u64,
    /// How many times more the hosts can send than the EPS's core carries; 1: it carries all.
    #[serde(default = "one")]
    pub eps_oversubscription: f64,
    /// The optical planes.
    pub planes: Vec<PlaneSpec>,
}

/// One plane of a [`FabricSpec`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneSpec {
    /// The plane's name.
    pub name: String,
    /// Rate of a circuit, bits a second.
    pub circuit_bps: u64,
    /// Mirrors and dark time.
    pub optical_ns: Delay,
    /// Transceiver and NIC, after the light is there.
    pub link_up_ns: Delay,
    /// True where PAS alone uses the switch: cross-connects that nobody knows are then left over
    /// from a lost state, and are removed after a grace. False: they are foreign, never touched.
    #[serde(default)]
    pub exclusive: bool,
    /// Each attached host's port.
    pub ports: BTreeMap<String, u32>,
}

fn one() -> f64 {
    1.0
}

/// Something wrong in a [`FabricSpec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    /// Where: `planes[1].ports.host3`.
    pub path: String,
    /// What, which value, and what to do.
    pub reason: String,
}

/// A checked fabric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fabric {
    /// The fabric's name.
    pub name: String,
    /// A host's line rate into the EPS, bits a second.
    pub eps_line_bps: u64,
    /// The rate that a host gets of the EPS when all use it.
    pub eps_shared_bps: u64,
    /// The planes, in the file's order.
    pub planes: Vec<Plane>,
    /// The hosts that have a port on some plane, by name.
    pub hosts: Vec<String>,
}

/// A plane of a [`Fabric`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// The plane's name.
    pub name: String,
    /// Rate of a circuit, bits a second.
    pub circuit_bps: u64,
    /// Mirrors and dark time.
    pub optical_ns: Delay,
    /// Transceiver and NIC.
    pub link_up_ns: Delay,
    /// See [`PlaneSpec::exclusive`].
    pub exclusive: bool,
    /// Each host's port, by [`HostId`]; `None` where it has none here.
    pub ports: Vec<Option<u32>>,
}

impl FabricSpec {
    /// The fabric, or everything that is wrong with it.
    ///
    /// # Errors
    ///
    /// Each problem with its place.
    pub fn validate(&self) -> Result<Fabric, Vec<SpecProblem>> {
        let mut check = Check { problems: Vec::new() };
        check.name("name", &self.name);
        check.rate("eps_bps", self.eps_bps);
        if !(1.0..=1e6).contains(&self.eps_oversubscription) {
            check.say(
                "eps_oversubscription",
                format!("is {}; write a number from 1 to 1000000", self.eps_oversubscription),
            );
        }
        if self.planes.is_empty() || self.planes.len() > PLANES_MAX {
            let count = self.planes.len();
            check.say("planes", format!("there are {count}; describe 1 to {PLANES_MAX} of them"));
        }
        let mut names = BTreeSet::new();
        for (index, plane) in self.planes.iter().enumerate() {
            check.plane(index, plane);
            if !names.insert(plane.name.as_str()) {
                check.say(
                    format!("planes[{index}].name"),
                    format!("{:?} is another plane's name too; give each its own", plane.name),
                );
            }
        }
        let hosts: BTreeSet<&String> = self.planes.iter().flat_map(|p| p.ports.keys()).collect();
        if hosts.len() > HOSTS_MAX {
            check.say("planes", format!("name {} hosts; {HOSTS_MAX} is the most", hosts.len()));
        }
        if !check.problems.is_empty() {
            return Err(check.problems);
        }
        let hosts: Vec<String> = hosts.into_iter().cloned().collect();
        let planes = self.planes.iter().map(|plane| plane.checked(&hosts)).collect();
        Ok(Fabric {
            name: self.name.clone(),
            eps_line_bps: self.eps_bps,
            eps_shared_bps: ((self.eps_bps as f64 / self.eps_oversubscription) as u64).max(1),
            planes,
            hosts,
        })
    }
}

impl PlaneSpec {
    fn checked(&self, hosts: &[String]) -> Plane {
        Plane {
            name: self.name.clone(),
            circuit_bps: self.circuit_bps,
            optical_ns: self.optical_ns.clone(),
            link_up_ns: self.link_up_ns.clone(),
            exclusive: self.exclusive,
            ports: hosts.iter().map(|host| self.ports.get(host).copied()).collect(),
        }
    }
}

/// Collects what is wrong.
struct Check {
    problems: Vec<SpecProblem>,
}

impl Check {
    fn say(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.problems.push(SpecProblem { path: path.into(), reason: reason.into() });
    }

    fn name(&mut self, path: &str, name: &str) {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            self.say(
                path,
                format!("{name:?} is no name; write 1 to {NAME_BYTES_MAX} printable bytes"),
            );
        }
    }

    fn rate(&mut self, path: &str, bps: u64) {
        if bps == 0 {
            self.say(path, "is 0; write a rate in bits a second");
        }
    }

    fn plane(&mut self, index: usize, plane: &PlaneSpec) {
        let at = |field: &str| format!("planes[{index}].{field}");
        self.name(&at("name"), &plane.name);
        self.rate(&at("circuit_bps"), plane.circuit_bps);
        self.delay(&at("optical_ns"), &plane.optical_ns);
        self.delay(&at("link_up_ns"), &plane.link_up_ns);
        if plane.ports.len() < 2 {
            self.say(at("ports"), "names fewer than two hosts; a circuit needs two");
        }
        let mut taken: BTreeMap<u32, &str> = BTreeMap::new();
        for (host, port) in &plane.ports {
            self.name(&at(&format!("ports.{host}")), host);
            if let Some(other) = taken.insert(*port, host) {
                self.say(
                    at(&format!("ports.{host}")),
                    format!("port {port} is {other}'s too; give each host its own port"),
                );
            }
        }
    }

    fn delay(&mut self, path: &str, delay: &Delay) {
        let in_range = |ns: &Nanos| ns.0 <= DELAY_NS_MAX;
        match delay {
            Delay::Fixed(ns) if !in_range(ns) => {
                self.say(path, format!("{} ns is more than an hour ({DELAY_NS_MAX} ns)", ns.0));
            }
            Delay::Fixed(_) => {}
            Delay::Uniform { min_ns, max_ns } => {
                if min_ns > max_ns || !in_range(max_ns) {
                    self.say(
                        path,
                        format!(
                            "from {} ns to {} ns is no range within an hour ({DELAY_NS_MAX} ns)",
                            min_ns.0, max_ns.0
                        ),
                    );
                }
            }
            Delay::Percentiles(table) => {
                let rising = table
                    .windows(2)
                    .all(|two| two[0].percent < two[1].percent && two[0].ns <= two[1].ns);
                let sane = table
                    .iter()
                    .all(|line| (0.0..=100.0).contains(&line.percent) && in_range(&line.ns));
                if table.is_empty() || table.len() > 1024 || !rising || !sane {
                    self.say(
                        path,
                        "percentiles must be 1 to 1024 lines, percent rising within 0 to 100, \
                         ns rising within an hour",
                    );
                }
            }
        }
    }
}

impl Fabric {
    /// The host of that name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        let index = self.hosts.binary_search_by(|host| host.as_str().cmp(name)).ok()?;
        u32::try_from(index).ok().map(HostId)
    }

    /// The host's name.
    ///
    /// # Panics
    ///
    /// With a host of another fabric.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.0 as usize]
    }

    /// The plane.
    ///
    /// # Panics
    ///
    /// With a plane of another fabric.
    pub fn plane(&self, plane: PlaneId) -> &Plane {
        &self.planes[plane.0 as usize]
    }

    /// All planes with their ids.
    pub fn plane_ids(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..u32::try_from(self.planes.len()).unwrap_or(u32::MAX)).map(PlaneId)
    }

    /// The ports that join two hosts on a plane; `None` where one of them has none there.
    pub fn ports(&self, plane: PlaneId, a: HostId, b: HostId) -> Option<PortPair> {
        let plane = self.planes.get(plane.0 as usize)?;
        PortPair::new(plane.port(a)?, plane.port(b)?)
    }

    /// The figures that ranks plan by: of the slowest plane, so that a request is never too late.
    pub fn summary(&self) -> crate::wire::FabricSummary {
        let longest = |delay: fn(&Plane) -> &Delay| {
            self.planes.iter().map(|plane| delay(plane).p99()).max().unwrap_or_default()
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        crate::wire::FabricSummary {
            name: self.name.clone(),
            planes: count(self.planes.len()),
            hosts: count(self.hosts.len()),
            optical_ns: longest(|plane| &plane.optical_ns),
            link_up_ns: longest(|plane| &plane.link_up_ns),
            circuit_bps: self.planes.iter().map(|plane| plane.circuit_bps).min().unwrap_or(0),
            eps_bps: self.eps_shared_bps,
            switches: String::new(),
        }
    }
}

impl Plane {
    /// The host's port here.
    pub fn port(&self, host: HostId) -> Option<u32> {
        self.ports.get(host.0 as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests;
