//! What every optical driver must do, as one suite: a driver passes it or is none.

use super::OpticalDriver;
use super::emulated::{EmulatedOxc, Faults};
use pas_core::fabric::{Delay, Plane, PortPair};
use pas_core::units::Nanos;
use std::time::{Duration, Instant};

fn pair(a: u32, b: u32) -> PortPair {
    PortPair::new(a, b).expect("two ports")
}

fn connected(driver: &mut dyn OpticalDriver) -> Vec<PortPair> {
    let connects = driver.read_back().expect("a read-back");
    connects.into_iter().map(|connect| connect.ports).collect()
}

/// Runs the suite on a fresh switch with the ports 1 to 4.
fn conforms(driver: &mut dyn OpticalDriver) {
    assert_eq!(connected(driver), []);
    driver.apply(&[], &[pair(1, 2), pair(3, 4)]).expect("free ports");
    assert_eq!(connected(driver), [pair(1, 2), pair(3, 4)]);
    // One port, one cross-connect: what cannot be is refused and changes nothing.
    assert!(driver.apply(&[], &[pair(1, 3)]).is_err());
    assert!(driver.apply(&[], &[pair(1, 9)]).is_err());
    assert_eq!(connected(driver), [pair(1, 2), pair(3, 4)]);
    // Removes come before creates: the freed ports serve in the same change.
    driver.apply(&[pair(1, 2), pair(3, 4)], &[pair(1, 4), pair(2, 3)]).expect("freed ports");
    assert_eq!(connected(driver), [pair(1, 4), pair(2, 3)]);
    // It stops at the first failure: what came before is done, what came after is not.
    assert!(driver.apply(&[pair(1, 4), pair(1, 2), pair(2, 3)], &[]).is_err());
    assert_eq!(connected(driver), [pair(2, 3)]);
    // Links come up by themselves, and the driver knew when.
    driver.apply(&[], &[pair(1, 4)]).expect("free ports");
    let limit = Instant::now() + Duration::from_secs(5);
    let mut links = driver.read_back().expect("a read-back");
    while links.iter().any(|connect| !connect.up) {
        assert!(Instant::now() < limit, "a link never came up");
        // However late one asks: a link that was told as down is announced until it is told anew.
        std::thread::sleep(Duration::from_millis(5));
        std::thread::sleep(driver.links_change_in().expect("a link is down"));
        links = driver.read_back().expect("a read-back");
    }
    assert_eq!(driver.links_change_in(), None, "all links were told as up");
    driver.apply(&[pair(1, 4), pair(2, 3)], &[]).expect("they were there");
    assert_eq!(connected(driver), []);
}

fn plane(optical_ns: u64, link_up_ns: u64) -> Plane {
    Plane {
        name: "plane".to_owned(),
        circuit_bps: 1,
        optical_ns: Delay::Fixed(Nanos(optical_ns)),
        link_up_ns: Delay::Fixed(Nanos(link_up_ns)),
        exclusive: false,
        ports: (1..=4).map(Some).collect(),
    }
}

#[test]
fn the_emulated_oxc_conforms() {
    conforms(&mut EmulatedOxc::new(&plane(0, 0), 1, &Faults::default()));
    conforms(&mut EmulatedOxc::new(&plane(1_000, 2_000_000), 1, &Faults::default()));
}

#[test]
fn the_emulated_oxc_fails_on_demand() {
    let faults =
        Faults { refuse_create: Some(1), ignore_create: Some(2), busy_removes: 1, blind_reads: 1 };
    let mut oxc = EmulatedOxc::new(&plane(0, 0), 1, &faults);
    assert!(oxc.read_back().is_err());
    assert!(oxc.apply(&[], &[pair(1, 2)]).is_err());
    assert!(oxc.apply(&[], &[pair(1, 2)]).is_ok());
    assert_eq!(connected(&mut oxc), [], "answered with success, not carried out");
    assert!(oxc.apply(&[], &[pair(1, 2)]).is_ok());
    assert!(oxc.apply(&[pair(1, 2)], &[]).is_err());
    assert!(oxc.apply(&[pair(1, 2)], &[]).is_ok());
}
