use super::*;

fn spec() -> FabricSpec {
    let plane = |name: &str| PlaneSpec {
        name: name.into(),
        circuit_bps: 100,
        optical_ns: Delay::Fixed(Nanos(5)),
        link_up_ns: Delay::Uniform { min_ns: Nanos(0), max_ns: Nanos(100) },
        exclusive: false,
        ports: BTreeMap::from([("b".into(), 4), ("a".into(), 9)]),
    };
    FabricSpec {
        name: "lab".into(),
        eps_bps: 100,
        eps_oversubscription: 4.0,
        planes: vec![plane("p0"), plane("p1")],
    }
}

/// The places that are wrong, after a change.
fn wrong(change: impl FnOnce(&mut FabricSpec)) -> Vec<String> {
    let mut spec = spec();
    change(&mut spec);
    let problems = spec.validate().expect_err("the file is wrong");
    assert!(problems.iter().all(|problem| problem.reason.len() > 10), "{problems:?}");
    problems.into_iter().map(|problem| problem.path).collect()
}

#[test]
fn a_right_file_becomes_a_fabric() {
    let mut spec = spec();
    spec.planes[1].ports = BTreeMap::from([("c".into(), 1), ("a".into(), 2)]);
    let fabric = spec.validate().expect("it is right");
    assert_eq!(fabric.hosts, ["a", "b", "c"]);
    assert_eq!((fabric.eps_line_bps, fabric.eps_shared_bps), (100, 25));
    let host = |name| fabric.host(name).expect("a host");
    assert_eq!(fabric.ports(PlaneId(0), host("a"), host("b")), PortPair::new(4, 9));
    assert_eq!(fabric.ports(PlaneId(0), host("a"), host("c")), None);
    assert_eq!(fabric.ports(PlaneId(7), host("a"), host("b")), None);
    assert_eq!(fabric.host("z"), None);
    let summary = fabric.summary();
    assert_eq!((summary.planes, summary.hosts, summary.eps_bps), (2, 3, 25));
    assert_eq!((summary.optical_ns, summary.link_up_ns), (Nanos(5), Nanos(99)));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    assert_eq!(wrong(|s| s.name = String::new()), ["name"]);
    assert_eq!(wrong(|s| s.eps_bps = 0), ["eps_bps"]);
    assert_eq!(wrong(|s| s.eps_oversubscription = 0.5), ["eps_oversubscription"]);
    assert_eq!(wrong(|s| s.eps_oversubscription = f64::NAN), ["eps_oversubscription"]);
    assert_eq!(wrong(|s| s.planes.clear()), ["planes"]);
    assert_eq!(wrong(|s| s.planes[1].name = "p0".into()), ["planes[1].name"]);
    assert_eq!(wrong(|s| s.planes[1].circuit_bps = 0), ["planes[1].circuit_bps"]);
    let one_host = |s: &mut FabricSpec| {
        s.planes[0].ports.remove("a");
    };
    assert_eq!(wrong(one_host), ["planes[0].ports"]);
    let same_port = |s: &mut FabricSpec| {
        s.planes[1].ports.insert("host3".into(), 4);
    };
    assert_eq!(wrong(same_port), ["planes[1].ports.host3"]);
    let both = wrong(|s| {
        s.eps_bps = 0;
        s.planes[0].circuit_bps = 0;
    });
    assert_eq!(both, ["eps_bps", "planes[0].circuit_bps"], "all that is wrong, not the first only");
}

#[test]
fn delays_are_ordered_and_within_an_hour() {
    let line = |percent, ns| Percentile { percent, ns: Nanos(ns) };
    let delays = [
        Delay::Fixed(Nanos(DELAY_NS_MAX + 1)),
        Delay::Uniform { min_ns: Nanos(2), max_ns: Nanos(1) },
        Delay::Percentiles(vec![]),
        Delay::Percentiles(vec![line(50.0, 2), line(50.0, 3)]),
        Delay::Percentiles(vec![line(50.0, 2), line(99.0, 1)]),
        Delay::Percentiles(vec![line(f64::NAN, 2)]),
        Delay::Percentiles(vec![line(101.0, 2)]),
    ];
    for delay in delays {
        let place = wrong(|s| s.planes[0].optical_ns = delay.clone());
        assert_eq!(place, ["planes[0].optical_ns"], "{delay:?}");
    }
}

#[test]
fn quantiles_follow_the_distribution() {
    let uniform = Delay::Uniform { min_ns: Nanos(100), max_ns: Nanos(300) };
    assert_eq!((uniform.median(), uniform.p99()), (Nanos(200), Nanos(298)));
    assert_eq!((uniform.quantile(0), uniform.quantile(u32::MAX)), (Nanos(100), Nanos(300)));
    let line = |percent, ns| Percentile { percent, ns: Nanos(ns) };
    let table = Delay::Percentiles(vec![line(10.0, 10), line(50.0, 20), line(90.0, 100)]);
    assert_eq!(table.quantile(0), Nanos(10));
    assert_eq!(table.quantile(300_000), Nanos(15));
    assert_eq!((table.median(), table.p99()), (Nanos(20), Nanos(100)));
    assert_eq!(Delay::Fixed(Nanos(7)).p99(), Nanos(7));
}

#[test]
fn a_port_is_not_joined_with_itself() {
    assert_eq!(PortPair::new(3, 3), None);
    assert_eq!(PortPair::new(5, 3).map(|pair| (pair.low(), pair.high())), Some((3, 5)));
    assert!(serde_json::from_str::<PortPair>("[4,4]").is_err());
    let pair: PortPair = serde_json::from_str("[9,4]").expect("two ports");
    assert_eq!(serde_json::to_string(&pair).expect("it serialises"), "[4,9]");
}

#[test]
fn unknown_words_in_the_file_are_refused() {
    let text = r#"{"name":"x","eps_bps":1,"planes":[],"eps_bqs":2}"#;
    let error = serde_json::from_str::<FabricSpec>(text).expect_err("a slip of the pen");
    assert!(error.to_string().contains("eps_bqs"), "{error}");
}
