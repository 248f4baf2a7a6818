use super::*;
use crate::report::digest::Digest;
use crate::report::{load, sample};
use pas_core::wire::{JobReport, RankReport};

fn page(report: JobReport) -> String {
    render(&Digest::new(load::from_daemon(report)))
}

/// Elements that HTML never closes.
const VOID: &[&str] = &["meta", "br", "hr", "img", "link", "input"];

/// Checks that tags nest, and answers every tag's text. A browser forgives; this does not.
fn tags(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<'), "a tag within a tag: {tag}");
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or("").to_string();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "closed in order");
        } else if !tag.starts_with('!') && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        tags.push(tag.to_string());
        rest = &rest[end + 1..];
        if ["style", "script"].contains(&name.as_str()) && !tag.starts_with('/') {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).expect("closed")..];
        }
    }
    assert_eq!(open, Vec::<String>::new(), "all are closed");
    tags
}

#[test]
fn the_page_is_well_formed_and_asks_for_nothing() {
    let page = page(sample::job_report());
    let tags = tags(&page);
    assert!(tags.len() > 500, "there is something on the page");
    for scheme in ["http://", "https://", "url(", "@import", "import(", "fetch(", "XMLHttpRequest"]
    {
        assert!(!page.contains(scheme), "{scheme} would leave the page");
    }
    for tag in &tags {
        let name = tag.split(' ').next().unwrap_or("");
        assert!(!["link", "img", "iframe", "object", "embed", "base"].contains(&name), "{tag}");
        assert!(!tag.contains(" src=") && !tag.contains(" href="), "{tag}");
    }
    assert!(page.contains("default-src 'none'"), "and the browser is told so");
}

#[test]
fn each_part_is_there_with_its_explanation() {
    let page = page(sample::job_report());
    for id in ["timeline", "patterns", "circuits", "training", "calls", "counters"] {
        let at = page.find(&format!("<section id=\"{id}\">")).expect(id);
        assert!(page[at..].contains("What is this?"), "{id}");
    }
    for part in ["steps 1 to 6: 6.25 MiB", "recursive doubling", "host1&#39;s port", "accuracy"] {
        let unescaped = part.replace("&#39;", "'");
        assert!(page.contains(part) || page.contains(&unescaped), "{part}");
    }
}

/// A text that would break out of an element, an attribute or a script, were it not escaped.
const EVIL: &str = "<script>alert(1)</script>\" onload='x' &amp; ' </style>";

fn spoil(rank: &mut RankReport) {
    rank.job = EVIL.into();
    rank.registered.program = EVIL.into();
    rank.registered.library = EVIL.into();
    rank.registered.host = EVIL.into();
    for comm in &mut rank.comms {
        comm.name = EVIL.into();
    }
    for phase in &mut rank.phases {
        phase.comm_name = EVIL.into();
        phase.because = EVIL.into();
    }
    for call in &mut rank.timeline {
        if call.bytes == 8 {
            call.call = EVIL.into();
        }
    }
    for call in &mut rank.calls {
        call.call = EVIL.into();
    }
    for request in &mut rank.requests {
        request.error = Some(EVIL.into());
        if let Some(reply) = &mut request.reply {
            reply.words = EVIL.into();
        }
    }
    for loss in &mut rank.losses {
        loss.metrics.insert(EVIL.into(), 1.0);
    }
    rank.counters.insert(EVIL.into(), 1);
}

#[test]
fn no_name_becomes_markup() {
    let clean = tags(&page(sample::job_report()));
    let mut report = sample::job_report();
    report.ranks.iter_mut().for_each(spoil);
    report.job = None;
    if let Some(fabric) = &mut report.fabric {
        fabric.name = EVIL.into();
    }
    for change in &mut report.circuit_log {
        change.why = EVIL.into();
        change.circuit.plane = EVIL.into();
        change.circuit.a = EVIL.into();
    }
    let page = page(report);
    let names = |tags: &[String]| {
        let name = |tag: &String| tag.split([' ', '\n']).next().unwrap_or("").to_string();
        tags.iter().map(name).collect::<std::collections::BTreeSet<_>>()
    };
    let spoilt = tags(&page);
    assert!(names(&spoilt).is_subset(&names(&clean)), "no new kind of element");
    assert_eq!(spoilt.iter().filter(|tag| tag.starts_with("script")).count(), 1, "ours alone");
    assert!(!page.contains("<script>alert"));
    for tag in spoilt.iter().filter(|tag| tag.contains("onload=")) {
        let quoted = tag.split('"').skip(1).step_by(2).any(|value| value.contains("onload="));
        assert!(quoted, "only ever inside an attribute's value: {tag}");
    }
}

#[test]
fn an_empty_report_has_a_page_too() {
    let page = page(load::empty());
    tags(&page);
    assert!(page.contains("No rank kept a time line."));
}

#[test]
fn a_large_job_has_a_small_page() {
    let mut report = sample::job_report();
    let one = report.ranks[0].clone();
    let busy: Vec<_> = one.timeline.iter().cycle().take(4096).cloned().collect();
    let members = pas_core::members::Members::world(1000);
    report.ranks = (0..1000)
        .map(|number| {
            let mut rank = one.clone();
            rank.registered.rank = number;
            rank.registered.world_size = 1000;
            rank.timeline = if number < 20 { busy.clone() } else { one.timeline.clone() };
            rank.requests = rank.requests.iter().cycle().take(1024).cloned().collect();
            rank.phases.iter_mut().for_each(|phase| phase.members = members.clone());
            rank
        })
        .collect();
    let page = page(report);
    tags(&page);
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    assert!(page.contains("16 of 1000 ranks"), "and says what it leaves out");
}
