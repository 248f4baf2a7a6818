use super::*;
use crate::fabric::{Delay, FabricSpec, PlaneSpec};
use std::collections::BTreeMap;

const MB: u64 = 1 << 20;

/// `planes` planes that each give all hosts a port; 10 Gb/s light, 1 Gb/s packets.
fn fabric(hosts: usize, planes: usize, optical: Nanos, link_up: Nanos) -> Fabric {
    let ports = |plane: usize| {
        (0..hosts).map(|host| (format!("h{host:04}"), (plane * 7 + host) as u32)).collect()
    };
    let spec = FabricSpec {
        name: "test".into(),
        eps_bps: 1_000_000_000,
        eps_oversubscription: 1.0,
        planes: (0..planes)
            .map(|plane| PlaneSpec {
                name: format!("p{plane}"),
                circuit_bps: 10_000_000_000,
                optical_ns: Delay::Fixed(optical),
                link_up_ns: Delay::Fixed(link_up),
                exclusive: false,
                ports: ports(plane),
            })
            .collect(),
    };
    spec.validate().expect("the test's fabric is right")
}

fn fast(hosts: usize, planes: usize) -> Fabric {
    fabric(hosts, planes, Nanos::from_micros(20), Nanos::from_micros(10))
}

#[derive(Default)]
struct FakePorts {
    slots: BTreeMap<(u32, u32), Slot>,
    share: Option<u32>,
}

impl FakePorts {
    fn circuit(&mut self, plane: u32, (a, b): (u32, u32), id: u64, own: bool, hold: Hold) {
        for (host, peer) in [(a, b), (b, a)] {
            let slot = Slot::Taken {
                circuit: CircuitId(id),
                peer: HostId(peer),
                usable: own,
                own,
                hold,
                ready_in: Nanos::ZERO,
            };
            self.slots.insert((plane, host), slot);
        }
    }
}

impl Ports for FakePorts {
    fn slot(&self, plane: PlaneId, host: HostId) -> Slot {
        self.slots.get(&(plane.0, host.0)).copied().unwrap_or(Slot::Free)
    }

    fn share(&self, _host: HostId) -> u32 {
        self.share.unwrap_or(u32::MAX)
    }
}

fn demand(pairs: &[(u32, u32, u64)]) -> Demand {
    let mut pairs: Vec<PairBytes> =
        pairs.iter().map(|&(a, b, bytes)| PairBytes { a, b, there: bytes, back: bytes }).collect();
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    let hosts = pairs.iter().map(|pair| pair.b + 1).max().unwrap_or(1);
    Demand { pairs, hosts }
}

/// Each host to the next; `order` is the ring.
fn ring(order: &[u32], bytes: u64) -> Demand {
    let mut pairs = Vec::new();
    for (index, &from) in order.iter().enumerate() {
        let to = order[(index + 1) % order.len()];
        let (there, back) = if from < to { (bytes, 0) } else { (0, bytes) };
        pairs.push(PairBytes { a: from.min(to), b: from.max(to), there, back });
    }
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Demand { pairs, hosts: order.len() as u32 }
}

fn all_hosts(count: u32) -> Vec<Option<HostId>> {
    (0..count).map(|host| Some(HostId(host))).collect()
}

fn run(fabric: &Fabric, ports: &FakePorts, demand: &Demand, seen: u64) -> Plan {
    let hosts = all_hosts(fabric.hosts.len() as u32);
    let ask = Ask {
        demand,
        hosts: &hosts,
        starts_in: Nanos::ZERO,
        seen,
        gain_min: Nanos::from_micros(10),
    };
    let plan = plan(fabric, ports, &ask);
    check(fabric, ports, &plan);
    plan
}

/// What holds of every plan.
fn check(fabric: &Fabric, ports: &FakePorts, plan: &Plan) {
    let mut used: BTreeMap<(PlaneId, HostId), u32> = BTreeMap::new();
    for new in &plan.create {
        assert!(fabric.ports(new.plane, new.a, new.b).is_some(), "{new:?} joins no ports");
        for host in [new.a, new.b] {
            *used.entry((new.plane, host)).or_default() += 1;
            match ports.slot(new.plane, host) {
                Slot::Free => {}
                Slot::Taken { circuit, hold, .. } => {
                    assert_ne!(hold, Hold::InUse, "{new:?} takes what is in use");
                    assert!(plan.remove.contains(&circuit), "{new:?} takes what stays");
                    assert!(!plan.keep.contains(&circuit), "{new:?} takes what is kept");
                }
                slot => panic!("{new:?} takes {slot:?}"),
            }
        }
    }
    assert!(used.values().all(|count| *count == 1), "a port ends two circuits");
    if plan.create.is_empty() && plan.keep.is_empty() {
        assert_eq!(plan.gain, Nanos::ZERO, "nothing gains");
    }
    if !plan.create.is_empty() {
        assert!(plan.gain > Nanos::ZERO, "circuits are set up for nothing: {}", plan.words);
        assert!(matches!(plan.decision, Decision::Granted | Decision::Partial));
    }
}

fn outcome(plan: &Plan) -> (Decision, Reason) {
    (plan.decision, plan.reason)
}

#[test]
fn one_pair_gets_one_circuit_and_the_saving_is_exact() {
    let plan = run(&fast(2, 1), &FakePorts::default(), &demand(&[(0, 1, 10 * MB)]), 0);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Switched), "{}", plan.words);
    let eps = transfer_time(10 * MB, 1_000_000_000);
    let light = transfer_time(10 * MB, 10_000_000_000);
    assert_eq!(plan.gain, eps.minus(light));
    assert_eq!(plan.ready_in, Nanos::from_micros(30));
    assert_eq!(plan.create, [NewCircuit { plane: PlaneId(0), a: HostId(0), b: HostId(1) }]);
}

#[test]
fn ranks_of_one_host_need_nothing() {
    let none = Demand { pairs: Vec::new(), hosts: 1 };
    let plan = run(&fast(2, 1), &FakePorts::default(), &none, 0);
    assert_eq!(outcome(&plan), (Decision::Hold, Reason::OneHost));
}

#[test]
fn a_phase_without_bytes_has_no_use_for_circuits() {
    let barrier = Demand { pairs: Vec::new(), hosts: 2 };
    let plan = run(&fast(2, 1), &FakePorts::default(), &barrier, 0);
    assert_eq!(outcome(&plan), (Decision::Hold, Reason::NoCircuitPattern));
}

#[test]
fn few_bytes_do_not_pay_until_the_phase_comes_back_often_enough() {
    // 1 MB saves 7.5 ms a time; the switch takes 25 ms.
    let slow = fabric(2, 1, Nanos::from_millis(25), Nanos::ZERO);
    let pair = demand(&[(0, 1, MB)]);
    let plan = run(&slow, &FakePorts::default(), &pair, 0);
    assert_eq!(outcome(&plan), (Decision::Hold, Reason::TooSmall), "{}", plan.words);
    let plan = run(&slow, &FakePorts::default(), &pair, 3);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Switched), "{}", plan.words);
}

#[test]
fn notice_hides_the_delay() {
    let slow = fabric(2, 1, Nanos::from_millis(25), Nanos::ZERO);
    let pair = demand(&[(0, 1, MB)]);
    let hosts = all_hosts(2);
    let with_notice = |millis| {
        let starts_in = Nanos::from_millis(millis);
        let gain_min = Nanos::from_micros(10);
        let ask = Ask { demand: &pair, hosts: &hosts, starts_in, seen: 0, gain_min };
        plan(&slow, &FakePorts::default(), &ask).decision
    };
    assert_eq!(with_notice(10), Decision::Hold);
    assert_eq!(with_notice(18), Decision::Granted);
}

#[test]
fn a_link_that_takes_seconds_is_named_as_the_reason() {
    let links = fabric(2, 1, Nanos::from_micros(20), Nanos::from_millis(3_000));
    let plan = run(&links, &FakePorts::default(), &demand(&[(0, 1, MB)]), 0);
    assert_eq!(outcome(&plan), (Decision::Hold, Reason::LinkUpTooLong), "{}", plan.words);
}

#[test]
fn light_no_faster_than_packets_is_never_worth_it() {
    let mut even = fast(2, 1);
    even.planes[0].circuit_bps = even.eps_line_bps;
    let plan = run(&even, &FakePorts::default(), &demand(&[(0, 1, 1 << 40)]), 1000);
    assert_eq!(outcome(&plan), (Decision::Hold, Reason::TooSmall));
}

#[test]
fn circuits_that_are_there_are_kept() {
    let mut ports = FakePorts::default();
    ports.circuit(0, (0, 1), 5, true, Hold::Warm);
    let plan = run(&fast(2, 1), &ports, &demand(&[(0, 1, MB)]), 0);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Parked));
    assert_eq!((plan.keep.as_slice(), plan.ready_in), ([CircuitId(5)].as_slice(), Nanos::ZERO));
}

#[test]
fn what_little_is_left_beside_kept_circuits_is_left() {
    let mut ports = FakePorts::default();
    ports.circuit(0, (0, 1), 5, true, Hold::Warm);
    let plan = run(&fast(4, 1), &ports, &demand(&[(0, 1, 10 * MB), (2, 3, 64)]), 0);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Parked), "{}", plan.words);
    assert_eq!(plan.create, []);
}

#[test]
fn an_even_ring_fits_two_planes_in_any_order_of_its_hosts() {
    let mut order: Vec<u32> = (0..64).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..50 {
        let plan = run(&fast(64, 2), &FakePorts::default(), &ring(&order, 10 * MB), 0);
        assert_eq!(
            outcome(&plan),
            (Decision::Granted, Reason::Switched),
            "round {round}: {}",
            plan.words
        );
        assert_eq!(plan.create.len(), 64);
        for index in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(index, (seed >> 33) as usize % (index + 1));
        }
    }
}

#[test]
fn a_ring_on_one_plane_cannot_be_had_where_packets_set_the_pace() {
    let plan = run(&fast(4, 1), &FakePorts::default(), &ring(&[0, 1, 2, 3], 10 * MB), 0);
    assert_eq!(outcome(&plan), (Decision::Refused, Reason::DegreeTooHigh), "{}", plan.words);
}

#[test]
fn a_ring_on_one_plane_gets_alternate_pairs_where_that_relieves_the_core() {
    let mut fabric = fast(4, 1);
    fabric.eps_shared_bps = fabric.eps_line_bps / 4;
    let plan = run(&fabric, &FakePorts::default(), &ring(&[0, 1, 2, 3], 10 * MB), 0);
    assert_eq!(outcome(&plan), (Decision::Partial, Reason::DegreeTooHigh), "{}", plan.words);
    assert_eq!(plan.create.len(), 2);
    assert!(plan.gain > Nanos::ZERO);
}

#[test]
fn the_pairs_with_most_bytes_go_first() {
    // Recursive halving: half the vector goes to the partner far away.
    let pairs = demand(&[(0, 2, 8 * MB), (1, 3, 8 * MB), (0, 1, 4 * MB), (2, 3, 4 * MB)]);
    let plan = run(&fast(4, 1), &FakePorts::default(), &pairs, 0);
    assert_eq!(outcome(&plan), (Decision::Partial, Reason::DegreeTooHigh), "{}", plan.words);
    let ends: Vec<(u32, u32)> = plan.create.iter().map(|new| (new.a.0, new.b.0)).collect();
    assert_eq!(ends, [(0, 2), (1, 3)]);
}

#[test]
fn a_hypercube_fits_as_many_planes_as_it_has_dimensions() {
    let mut pairs = Vec::new();
    for host in 0..32u32 {
        for bit in 0..5 {
            let partner = host ^ (1 << bit);
            if host < partner {
                pairs.push((host, partner, 10 * MB));
            }
        }
    }
    let plan = run(&fast(32, 5), &FakePorts::default(), &demand(&pairs), 0);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Switched), "{}", plan.words);
    assert_eq!(plan.create.len(), 80);
}

#[test]
fn a_host_outside_the_fabric_is_named() {
    let fabric = fast(2, 1);
    let pair = demand(&[(0, 1, 10 * MB)]);
    let hosts = [Some(HostId(0)), None];
    let gain_min = Nanos(1);
    let ask = Ask { demand: &pair, hosts: &hosts, starts_in: Nanos::ZERO, seen: 0, gain_min };
    let plan = plan(&fabric, &FakePorts::default(), &ask);
    assert_eq!(outcome(&plan), (Decision::Refused, Reason::HostNotInFabric), "{}", plan.words);
}

#[test]
fn ports_in_use_are_not_taken() {
    let mut ports = FakePorts::default();
    ports.circuit(0, (0, 2), 9, false, Hold::InUse);
    let plan = run(&fast(3, 1), &ports, &demand(&[(0, 1, 10 * MB)]), 100);
    assert_eq!(outcome(&plan), (Decision::Refused, Reason::PortsInUse), "{}", plan.words);
}

#[test]
fn a_failing_switch_is_named() {
    let mut ports = FakePorts::default();
    ports.slots.insert((0, 1), Slot::Blocked(Reason::SwitchFailed));
    let plan = run(&fast(2, 1), &ports, &demand(&[(0, 1, 10 * MB)]), 0);
    assert_eq!(outcome(&plan), (Decision::Refused, Reason::SwitchFailed), "{}", plan.words);
}

#[test]
fn the_share_limits_new_circuits_but_not_exchanges() {
    let pairs = demand(&[(0, 1, 10 * MB), (0, 2, 9 * MB)]);
    let mut ports = FakePorts { share: Some(1), ..FakePorts::default() };
    let plan = run(&fast(3, 2), &ports, &pairs, 0);
    assert_eq!(outcome(&plan), (Decision::Partial, Reason::ShareUsed), "{}", plan.words);
    assert_eq!(plan.create.len(), 1);

    ports.circuit(0, (0, 2), 9, true, Hold::Cold);
    let plan = run(&fast(3, 2), &ports, &demand(&[(0, 1, 10 * MB)]), 0);
    assert_eq!(outcome(&plan), (Decision::Granted, Reason::Switched), "{}", plan.words);
    assert_eq!(plan.remove, [CircuitId(9)]);
}

#[test]
fn cold_circuits_give_way_and_warm_ones_only_within_the_phase() {
    let slow = fabric(3, 1, Nanos::from_millis(25), Nanos::ZERO);
    let small = demand(&[(0, 1, MB)]);
    let large = demand(&[(0, 1, 10 * MB)]);
    let mut ports = FakePorts::default();
    ports.circuit(0, (0, 2), 9, true, Hold::Cold);
    assert_eq!(run(&slow, &ports, &small, 100).remove, [CircuitId(9)]);

    ports.circuit(0, (0, 2), 9, true, Hold::Warm);
    let plan = run(&slow, &ports, &small, 100);
    assert_eq!(outcome(&plan), (Decision::Refused, Reason::PortsInUse), "{}", plan.words);
    let plan = run(&slow, &ports, &large, 0);
    assert_eq!(plan.remove, [CircuitId(9)], "{}", plan.words);
}

#[test]
fn plans_are_the_same_every_time_and_hold_on_random_ports() {
    let mut seed = 7u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let fabric = fast(12, 3);
    let mut partial = 0;
    for round in 0..2_000 {
        let mut ports = FakePorts { share: Some(1 + random(3) as u32), ..FakePorts::default() };
        for plane in 0..3u32 {
            for host in 0..6u32 {
                let hold = [Hold::Cold, Hold::Warm, Hold::InUse][random(3) as usize];
                match random(5) {
                    0 => {
                        let id = round * 100 + u64::from(plane * 10 + host);
                        ports.circuit(plane, (host, host + 6), id, random(2) == 0, hold);
                    }
                    1 => {
                        ports.slots.insert((plane, host), Slot::Blocked(Reason::PortsInUse));
                    }
                    _ => {}
                }
            }
        }
        let mut pairs = Vec::new();
        for a in 0..12 {
            for b in a + 1..12 {
                if random(4) == 0 {
                    pairs.push((a, b, random(20) * MB + 1));
                }
            }
        }
        let demand = demand(&pairs);
        let plan = run(&fabric, &ports, &demand, random(10));
        partial += u32::from(plan.decision == Decision::Partial);
        let again = run(&fabric, &ports, &demand, 0);
        assert_eq!(again, run(&fabric, &ports, &demand, 0));
    }
    assert!(partial > 100, "the ports were too empty to test anything: {partial}");
}

#[test]
fn durations_read_well() {
    let cases = [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (1_234_567, "1.23 ms"),
        (61_000_000_000, "61.00 s"),
    ];
    for (ns, text) in cases {
        assert_eq!(words::show(Nanos(ns)), text);
    }
}
