//! Talking to pasd: registration, heartbeats, findings, pre-stage requests, hints, good-bye.
//!
//! The daemon may be absent, slow, wrong or gone at any moment. Each message has a deadline; the
//! first failure puts the agent to sleep for a while (doubling, with jitter), and only a
//! registration wakes it. What it asks for meanwhile is counted as unanswered. Nothing here runs
//! on a thread of the host.

pub mod http;
mod requests;

pub use requests::Requests;

use crate::life::Life;
use crate::say;
use crate::skip::Bypass;
use crate::sys;
use crate::worker::Collector;
use http::{Failure, Http, Pump};
use parking_lot::Mutex;
use pas_core::detector::Due;
use pas_core::units::Nanos;
use pas_core::wire::{
    FabricSummary, Heartbeat, Mode, Phase, Prestage, PrestageReply, RankReport, RegisterRank,
    Registered, VERSION,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Deadline of most messages. A rank that waits for the daemon loses nothing, but rings fill.
const ANSWER: Duration = Duration::from_millis(250);
/// Deadline of the report, the one long message.
const REPORT: Duration = Duration::from_millis(2000);
/// First pause after a failure, and the longest.
const PAUSE_MIN_MS: u64 = 100;
/// See [`PAUSE_MIN_MS`].
const PAUSE_MAX_MS: u64 = 5_000;
/// Heartbeats are sent so often at most and at least, whatever the daemon asks for.
const HEARTBEAT_NS: std::ops::RangeInclusive<u64> = 50_000_000..=60_000_000_000;
/// Hints are sent at most so often.
const HINT_EVERY_NS: u64 = 200_000_000;
/// Circuits should be up so long before the phase, over the fabric's own delays.
const MARGIN: Nanos = Nanos(2_000_000);
/// Phases that wait for the daemon; older ones are dropped for newer.
const PHASES_MAX: usize = 256;

/// `PAS_DAEMON_*` of `pas.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Link {
    None,
    Asking,
    Up,
    Lost,
}

/// The agent of one rank.
pub struct Agent {
    life: &'static Life,
    http: Option<Http>,
    link: Link,
    /// On the monotonic clock: when to register again, or to send the next heartbeat.
    next_ns: u64,
    next_hint_ns: u64,
    pause_ms: u64,
    /// Set by each registration.
    session: Option<Registered>,
    phases: BTreeMap<String, Phase>,
    requests: Requests,
    said_lost: bool,
}

impl Agent {
    /// An agent for the daemon that the settings name, if any.
    pub fn new(life: &'static Life, pump: Pump) -> Agent {
        let http = life.settings.url.as_deref().map(|url| Http::new(url, pump));
        let link = if http.is_some() { Link::Asking } else { Link::None };
        // Ranks of a large job do not all knock at the same moment: up to 1 us a rank, 100 ms.
        let spread_ns = u64::from(life.job.rank).saturating_mul(1_000).min(100_000_000);
        let next_ns = sys::monotonic_ns() + spread_ns;
        let mut agent = Agent {
            life,
            http,
            link,
            next_ns,
            next_hint_ns: 0,
            pause_ms: PAUSE_MIN_MS,
            session: None,
            phases: BTreeMap::new(),
            requests: Requests::new(life.job.rank),
            said_lost: false,
        };
        agent.set_link(link);
        agent
    }

    /// The incarnation that the daemon gave, or 0.
    pub fn incarnation(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.incarnation)
    }

    /// The requests made so far.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Sends what is due. Called at each turn of the worker.
    pub fn step(&mut self, collector: &Mutex<Collector>) {
        let now_ns = sys::monotonic_ns();
        if self.http.is_some() && self.link != Link::Up && now_ns >= self.next_ns {
            self.register(collector);
        }
        let lead = self.lead();
        let (found, due) = collector.lock().take_findings(lead);
        let asks = self.asks();
        for phase in found {
            if self.phases.len() >= PHASES_MAX && !self.phases.contains_key(&phase.phase) {
                self.phases.pop_first();
            }
            self.phases.insert(phase.phase.clone(), phase);
        }
        self.send_phases();
        for due in due.into_iter().filter(|_| asks) {
            match self.requests.admit(&due.phase) {
                true if self.link == Link::Up => {
                    self.tell_again(collector, &due);
                    self.prestage(collector, due);
                }
                true => {
                    Bypass::DaemonAway.count();
                    self.life.worker.figures.unanswered.fetch_add(1, Ordering::Relaxed);
                }
                false => Bypass::HeldBefore.count(),
            }
        }
        if self.link == Link::Up && now_ns >= self.next_hint_ns {
            self.next_hint_ns = now_ns + HINT_EVERY_NS;
            self.send_hint(collector);
        }
        if self.link == Link::Up && now_ns >= self.next_ns {
            self.heartbeat();
        }
    }

    /// Time until the next turn has something to do that is known already.
    pub fn rest(&self, collector: &Mutex<Collector>) -> Duration {
        let now_ns = sys::monotonic_ns();
        let message = match &self.http {
            Some(_) => self.next_ns.saturating_sub(now_ns),
            None => u64::MAX,
        };
        // Where nothing is asked for, a forecast can as well be told late.
        let forecast = match self.asks() {
            true => collector.lock().time_to_due(self.lead()).map_or(u64::MAX, |time| time.0),
            false => u64::MAX,
        };
        Duration::from_nanos(message.min(forecast))
    }

    /// True where circuits are to be asked for.
    fn asks(&self) -> bool {
        self.life.settings.mode == Mode::Advise && self.http.is_some()
    }

    /// Time before a phase's start at which its circuits are to be asked for.
    fn lead(&self) -> Nanos {
        let fabric = self.session.as_ref().map(|session| &session.fabric);
        fabric.map_or(MARGIN, |f| f.optical_ns.plus(f.link_up_ns).plus(MARGIN))
    }

    fn set_link(&mut self, link: Link) {
        self.link = link;
        self.life.worker.figures.daemon.store(link as u32, Ordering::Relaxed);
    }

    fn job_path(&self, rest: &str) -> String {
        format!("/v1/jobs/{}{rest}", self.life.job.id)
    }

    /// Who this rank is.
    pub fn registration(&self) -> RegisterRank {
        let job = &self.life.job;
        RegisterRank {
            version: VERSION,
            rank: job.rank,
            world_size: job.world_size,
            host: job.host.clone(),
            pid: self.life.pid,
            library: self.life.mpi.library.clone(),
            program: job.program.clone(),
            mode: self.life.settings.mode,
        }
    }

    fn register(&mut self, collector: &Mutex<Collector>) {
        let Some(http) = &self.http else { return };
        let answer =
            http.ask::<Registered>("POST", &self.job_path("/ranks"), &self.registration(), ANSWER);
        match answer {
            Ok(session) => {
                self.next_ns = next_heartbeat_ns(&session);
                self.set_link(Link::Up);
                if self.life.job.rank == 0 {
                    self.tell_registered(&session.fabric);
                }
                self.session = Some(session);
                // A daemon that was restarted without its state knows no phase of ours.
                self.phases = collector.lock().all_phases();
                self.requests.forget_answers();
            }
            Err(failure) => self.lose(&failure),
        }
    }

    fn tell_registered(&mut self, fabric: &FabricSummary) {
        let url = self.life.settings.url.as_deref().unwrap_or_default();
        if std::mem::take(&mut self.said_lost) {
            say::warn(format_args!("pasd at {url} answers again"));
        }
        say::info(format_args!(
            "job {} registered at {url}: fabric {:?}, {} planes, {} hosts",
            self.life.job.id, fabric.name, fabric.planes, fabric.hosts
        ));
    }

    /// The daemon failed: sleep, longer each time. Only rank 0 speaks, and once.
    fn lose(&mut self, failure: &Failure) {
        failure.fault().count();
        let first = !self.said_lost;
        if self.life.job.rank == 0 && first {
            self.said_lost = true;
            let url = self.life.settings.url.as_deref().unwrap_or_default();
            say::warn(format_args!(
                "pasd at {url}: {failure}. The job goes on without circuits; asked again later."
            ));
        }
        self.set_link(if self.session.is_some() { Link::Lost } else { Link::Asking });
        self.pause();
    }

    /// Asks nothing for a while, longer each time; a heartbeat that is answered ends that.
    fn pause(&mut self) {
        // Jitter by rank, so that the ranks of a job do not come back all at once.
        let jitter = u64::from(self.life.job.rank).wrapping_mul(0x9e37_79b9) % self.pause_ms;
        self.next_ns = sys::monotonic_ns() + (self.pause_ms + jitter) * 1_000_000;
        self.pause_ms = (self.pause_ms * 2).min(PAUSE_MAX_MS);
    }

    /// What a failed message means for the link. A refusal is the message's own fault, unless it
    /// says that the daemon does not know us (any more): then we register again.
    fn after_failure(&mut self, failure: &Failure) {
        match failure {
            Failure::Refused(404 | 409, _) => {
                self.set_link(Link::Lost);
                self.pause();
            }
            Failure::Refused(400..500, _) => failure.fault().count(),
            _ => self.lose(failure),
        }
    }

    fn heartbeat(&mut self) {
        let (Some(http), Some(session)) = (&self.http, &self.session) else { return };
        let calls = self.life.worker.figures.calls.load(Ordering::Relaxed);
        let incarnation = session.incarnation;
        let body = Heartbeat { version: VERSION, incarnation, calls };
        let path = self.job_path(&format!("/ranks/{}/heartbeat", self.life.job.rank));
        self.next_ns = next_heartbeat_ns(session);
        match http.tell("POST", &path, &body, ANSWER) {
            Ok(()) => self.pause_ms = PAUSE_MIN_MS,
            Err(failure) => self.after_failure(&failure),
        }
    }

    /// Sends the phases that the daemon does not have yet, while it takes them.
    fn send_phases(&mut self) {
        let Some(http) = &self.http else { return self.phases.clear() };
        let incarnation = self.incarnation();
        while self.link == Link::Up {
            let Some((name, mut phase)) = self.phases.pop_first() else { return };
            phase.incarnation = incarnation;
            let path = format!("/v1/jobs/{}/phases/{name}", self.life.job.id);
            if let Err(failure) = http.tell("PUT", &path, &phase, ANSWER) {
                self.after_failure(&failure);
                return;
            }
        }
    }

    /// Before a phase that was held is asked for again, it is told anew: how often it has come
    /// back is what the planner weighs against the cost of switching.
    fn tell_again(&mut self, collector: &Mutex<Collector>, due: &Due) {
        if !self.requests.was_held(&due.phase) {
            return;
        }
        // A statement of its own: the lock must be free again when a message waits for its answer,
        // since the pump takes it.
        let phase = collector.lock().phase(&due.phase);
        if let Some(phase) = phase {
            self.phases.insert(due.phase.clone(), phase);
            self.send_phases();
        }
    }

    fn prestage(&mut self, collector: &Mutex<Collector>, due: Due) {
        let Some(http) = &self.http else { return };
        let sent = Instant::now();
        let body = Prestage {
            version: VERSION,
            incarnation: self.incarnation(),
            request: self.requests.next_number(),
            phase: due.phase.clone(),
            starts_in_ns: due.starts_in,
            duration_ns: due.duration,
            wait_ns: Nanos::ZERO,
        };
        let answer = http.ask::<PrestageReply>("POST", &self.job_path("/prestage"), &body, ANSWER);
        let at = collector.lock().now();
        let took = Nanos(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.requests.note(at, took, &body, &answer, &self.life.worker.figures);
        if let Err(failure) = answer {
            self.after_failure(&failure);
        }
    }

    fn send_hint(&mut self, collector: &Mutex<Collector>) {
        let Some(http) = &self.http else { return };
        let hint = collector.lock().losses().take_hint(self.incarnation(), self.life.job.rank);
        let Some(hint) = hint else { return };
        if let Err(failure) = http.tell("POST", &self.job_path("/hints"), &hint, ANSWER) {
            self.after_failure(&failure);
        }
    }

    /// What was found since the last turn, before the end.
    pub fn send_last_findings(&mut self, collector: &Mutex<Collector>, deadline: Instant) {
        if self.link != Link::Up || Instant::now() >= deadline {
            return;
        }
        let (found, _) = collector.lock().take_findings(Nanos::ZERO);
        self.phases.extend(found.into_iter().map(|phase| (phase.phase.clone(), phase)));
        self.send_phases();
        self.send_hint(collector);
    }

    /// The report and good-bye. A short job may not have had its turn to register yet.
    pub fn say_good_bye(&mut self, report: &RankReport, deadline: Instant) {
        let left = |most: Duration| deadline.saturating_duration_since(Instant::now()).min(most);
        let Some(http) = &self.http else { return };
        if self.link == Link::Lost || left(REPORT).is_zero() {
            return;
        }
        if self.session.is_none() {
            let path = self.job_path("/ranks");
            let answer = http.ask::<Registered>("POST", &path, &report.registered, left(ANSWER));
            match answer {
                Ok(session) => self.session = Some(session),
                Err(failure) => return failure.fault().count(),
            }
        }
        let rank = format!("/ranks/{}", self.life.job.rank);
        let path = self.job_path(&format!("{rank}/report"));
        if let Err(failure) = http.tell("PUT", &path, report, left(REPORT)) {
            failure.fault().count();
        }
        let path = self.job_path(&format!("{rank}?incarnation={}", self.incarnation()));
        if let Err(failure) = http.tell("DELETE", &path, &(), left(ANSWER)) {
            failure.fault().count();
        }
    }
}

/// When the next heartbeat is due, on the monotonic clock.
fn next_heartbeat_ns(session: &Registered) -> u64 {
    sys::monotonic_ns() + session.heartbeat_ns.0.clamp(*HEARTBEAT_NS.start(), *HEARTBEAT_NS.end())
}
