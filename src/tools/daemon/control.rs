//! The thread that owns the engine.
//!
//! It waits for commands, or for the engine's next deadline; takes what has come in together as
//! one batch; writes it to the journal; applies it; and only then carries out the effects, replies
//! included. Drivers have a thread each and answer with commands, so a slow switch delays nobody
//! but itself.

use super::driver::{OpticalDriver, SdnDriver};
use super::reports::Reports;
use super::store::{Restored, Store};
use axum::body::Bytes;
use pas_core::engine::{Command, Effect, Engine, Limits, OpId, PathMove, Refusal, Response};
use pas_core::fabric::{Fabric, PlaneId, PortPair};
use pas_core::units::{Nanos, Time};
use pas_core::wire::{CircuitChange, Problem, RankReport, VERSION};
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// Commands that wait for the engine; more are answered 503 at once.
pub const QUEUE_MAX: usize = 8192;
/// Commands that are journalled and answered together.
const BATCH_MAX: usize = 256;
/// Longest sleep without a deadline.
const IDLE: Duration = Duration::from_secs(1);
/// A switch that could not be read is not read again sooner.
const BLIND: Duration = Duration::from_millis(50);

/// A store that failed is tried again after this.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// What a request comes to.
pub type Answer = Result<Response, Refusal>;

/// What the engine's thread is sent.
enum Message {
    /// A request: the command for the token that the thread gives it.
    Ask(Box<dyn FnOnce(u64) -> Command + Send>, oneshot::Sender<Answer>),
    /// A driver's answer.
    Tell(Box<Command>),
    /// A look at the state.
    Look(Box<dyn FnOnce(&View<'_>) + Send>),
    /// A rank's report, which the engine has no use for.
    Keep(Kept),
    /// The end.
    Stop,
}

/// A report that is to be kept.
struct Kept {
    job: String,
    report: Box<RankReport>,
    /// As it came.
    bytes: Bytes,
    reply: oneshot::Sender<Answer>,
}

/// What can be looked at.
pub struct View<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Reports and circuit log.
    pub reports: &'a Reports,
    /// The last path moves.
    pub paths: Vec<PathMove>,
    /// Journal batches that could not be written.
    pub store_errors: u64,
}

/// The way to the engine's thread; cheap to clone.
#[derive(Clone)]
pub struct Control {
    sender: SyncSender<Message>,
}

/// Why a request did not reach the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The queue is full.
    Busy,
    /// The daemon is ending.
    Ending,
}

impl Control {
    fn send(&self, message: Message) -> Result<(), Unreached> {
        self.sender.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Unreached::Busy,
            TrySendError::Disconnected(_) => Unreached::Ending,
        })
    }

    /// Has the engine take a command; `command` is given the token that its reply will bear.
    pub async fn ask(
        &self,
        command: impl FnOnce(u64) -> Command + Send + 'static,
    ) -> Result<Answer, Unreached> {
        let (sender, answer) = oneshot::channel();
        self.send(Message::Ask(Box::new(command), sender))?;
        answer.await.map_err(|_| Unreached::Ending)
    }

    /// Looks at the state between two commands.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Unreached> {
        let (sender, answer) = oneshot::channel();
        let look = move |view: &View<'_>| {
            // The asker may have gone: then nobody wants to know.
            let _ = sender.send(look(view));
        };
        self.send(Message::Look(Box::new(look)))?;
        answer.await.map_err(|_| Unreached::Ending)
    }

    /// Keeps a rank's report; `bytes` is what it came as.
    pub async fn keep(
        &self,
        job: String,
        report: Box<RankReport>,
        bytes: Bytes,
    ) -> Result<Answer, Unreached> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Keep(Kept { job, report, bytes, reply }))?;
        answer.await.map_err(|_| Unreached::Ending)
    }

    /// A driver's answer. Waits for room: an answer must not be lost.
    fn tell(&self, command: Command) {
        // Fails only when the engine's thread has ended: then nobody waits for the answer.
        let _ = self.sender.send(Message::Tell(Box::new(command)));
    }

    pub(super) fn stop(&self) {
        let _ = self.sender.send(Message::Stop);
    }
}

/// What the thread is made of.
pub(super) struct Parts {
    pub fabric: Fabric,
    pub limits: Limits,
    pub store: Option<Store>,
    pub restored: Restored,
    pub drivers: Vec<Box<dyn OpticalDriver>>,
    pub paths: Box<dyn SdnDriver>,
}

/// Starts the engine's thread and the drivers'.
pub(super) fn spawn(parts: Parts) -> io::Result<(Control, thread::JoinHandle<()>)> {
    let (sender, commands) = sync_channel(QUEUE_MAX);
    let control = Control { sender };
    let mut planes = Vec::new();
    for (driver, plane) in parts.drivers.into_iter().zip(parts.fabric.plane_ids()) {
        planes.push(spawn_plane(plane, driver, control.clone())?);
    }
    let paths = Arc::new(Mutex::new(parts.paths));
    let path_moves = spawn_paths(Arc::clone(&paths), control.clone())?;
    let fresh = || Engine::new(parts.fabric.clone(), parts.limits.clone());
    let mut engine = parts.restored.engine.unwrap_or_else(fresh);
    engine.set_limits(parts.limits);
    let mut reports = Reports::default();
    for (job, report, bytes) in parts.restored.reports {
        reports.put(&job, report, bytes);
    }
    let owner = Owner {
        engine,
        clock: Clock { start: parts.restored.time, since: Instant::now() },
        store: parts.store,
        store_errors: 0,
        store_retry: Instant::now(),
        reports,
        planes,
        paths,
        path_moves,
        waiting: BTreeMap::new(),
        next_token: 1,
    };
    let thread = thread::Builder::new()
        .name("pasd-engine".into())
        .spawn(move || owner.run(parts.fabric, &commands))?;
    Ok((control, thread))
}

/// The engine's time: goes on where the store left off, and is monotonic.
struct Clock {
    start: Time,
    since: Instant,
}

impl Clock {
    fn now(&self) -> Time {
        let elapsed = self.since.elapsed().as_nanos();
        self.start.after(Nanos(u64::try_from(elapsed).unwrap_or(u64::MAX)))
    }
}

/// A command of a batch.
struct Entry {
    /// Whose token it bears, where the answer promises that it is kept.
    promised_to: Option<u64>,
    command: Command,
}

/// The engine and all around it.
struct Owner {
    engine: Engine,
    clock: Clock,
    store: Option<Store>,
    store_errors: u64,
    /// When a store that failed is tried again.
    store_retry: Instant,
    reports: Reports,
    planes: Vec<Sender<PlaneJob>>,
    paths: Arc<Mutex<Box<dyn SdnDriver>>>,
    path_moves: Sender<(OpId, Vec<PathMove>)>,
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    next_token: u64,
}

impl Owner {
    fn run(mut self, fabric: Fabric, commands: &Receiver<Message>) {
        // The journal goes on from the engine as it starts, with the limits that it starts with.
        self.write_snapshot();
        self.carry_out(vec![Entry { promised_to: None, command: Command::Restart { fabric } }]);
        loop {
            let first = match commands.recv_timeout(self.until_deadline()) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if !self.take_batch(first, commands) {
                break;
            }
        }
        self.write_snapshot();
    }

    fn until_deadline(&self) -> Duration {
        let now = self.clock.now();
        let left = self.engine.next_deadline().map(|at| Duration::from_nanos(at.since(now).0));
        left.unwrap_or(IDLE).min(IDLE)
    }

    /// Takes what has come in; false at the end.
    fn take_batch(&mut self, first: Option<Message>, commands: &Receiver<Message>) -> bool {
        let mut batch = Vec::new();
        let mut looks = Vec::new();
        let mut reports = Vec::new();
        let mut goes_on = true;
        let more = std::iter::from_fn(|| commands.try_recv().ok());
        for message in first.into_iter().chain(more).take(BATCH_MAX) {
            match message {
                Message::Ask(command, reply) => {
                    let token = self.next_token;
                    self.next_token += 1;
                    self.waiting.insert(token, reply);
                    let command = command(token);
                    let promised = !matches!(command, Command::Heartbeat { .. });
                    batch.push(Entry { promised_to: promised.then_some(token), command });
                }
                Message::Tell(command) => {
                    batch.push(Entry { promised_to: None, command: *command });
                }
                Message::Keep(report) => reports.push(report),
                Message::Look(look) => looks.push(look),
                Message::Stop => {
                    goes_on = false;
                    break;
                }
            }
        }
        let due = self.engine.next_deadline().is_some_and(|at| at <= self.clock.now());
        if batch.is_empty() && due {
            batch.push(Entry { promised_to: None, command: Command::Tick });
        }
        if !batch.is_empty() {
            self.carry_out(batch);
        }
        if !reports.is_empty() {
            self.keep_reports(reports);
        }
        for look in looks {
            let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner).log();
            look(&View {
                engine: &self.engine,
                reports: &self.reports,
                paths,
                store_errors: self.store_errors,
            });
        }
        goes_on
    }

    /// Writes a batch down, applies it, and carries out what follows from it. What cannot be
    /// written is not promised: it is refused and not applied.
    fn carry_out(&mut self, mut batch: Vec<Entry>) {
        let now = self.clock.now();
        let sync = batch.iter().any(|entry| entry.promised_to.is_some());
        let journal: Vec<(Time, Command)> = match self.store {
            Some(_) => batch.iter().map(|entry| (now, entry.command.clone())).collect(),
            None => Vec::new(),
        };
        if !self.write_store("journal", now, |store| store.append(&journal, sync)) {
            for token in batch.iter().filter_map(|entry| entry.promised_to) {
                self.carry_out_one(Effect::Reply { token, result: Err(store_failed()) });
            }
            batch.retain(|entry| entry.promised_to.is_none());
        }
        let commands = batch.into_iter().map(|entry| entry.command);
        let effects: Vec<Effect> =
            commands.flat_map(|command| self.engine.apply(now, command)).collect();
        for effect in effects {
            self.carry_out_one(effect);
        }
        if self.store.as_ref().is_some_and(Store::wants_snapshot) {
            self.write_snapshot();
        }
    }

    fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { token, result } => {
                if let Some(reply) = self.waiting.remove(&token) {
                    // The asker may have given up: the answer is then nobody's.
                    let _ = reply.send(result);
                }
            }
            Effect::Optical { op, plane, remove, create } => {
                let job = PlaneJob { op, remove, create };
                if let Some(sender) = self.planes.get(plane.0 as usize) {
                    let _ = sender.send(job);
                }
            }
            Effect::Paths { op, moves } => {
                let _ = self.path_moves.send((op, moves));
            }
            Effect::CircuitChanged { circuit, why } => {
                let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let unix_us = u64::try_from(unix.as_micros()).unwrap_or(u64::MAX);
                self.reports.note(CircuitChange { unix_us, circuit, why });
            }
        }
    }

    /// Keeps the reports of jobs that are known, and answers.
    fn keep_reports(&mut self, reports: Vec<Kept>) {
        let (known, unknown): (Vec<Kept>, Vec<Kept>) =
            reports.into_iter().partition(|kept| self.engine.knows_job(&kept.job));
        for kept in unknown {
            // The asker may have given up: the answer is then nobody's, here and below.
            let _ = kept.reply.send(Err(unknown_job(&kept.job)));
        }
        let now = self.clock.now();
        let rows: Vec<(&str, u32, &[u8])> = known
            .iter()
            .map(|kept| (kept.job.as_str(), kept.report.registered.rank, &kept.bytes[..]))
            .collect();
        let written = self.write_store("reports", now, |store| store.keep_reports(&rows, &[]));
        let mut given_up = Vec::new();
        for Kept { job, report, bytes, reply } in known {
            if written {
                given_up.extend(self.reports.put(&job, report, bytes.len()));
            }
            let _ = reply.send(if written { Ok(Response::Done) } else { Err(store_failed()) });
        }
        if !given_up.is_empty() {
            self.write_store("reports", now, |store| store.keep_reports(&[], &given_up));
        }
    }

    /// False where there is a store and it does not take what is written.
    fn write_store(
        &mut self,
        what: &str,
        now: Time,
        write: impl FnOnce(&mut Store) -> Result<(), Box<dyn Error>>,
    ) -> bool {
        let Some(store) = &mut self.store else { return true };
        if store.is_broken() && Instant::now() < self.store_retry {
            return false;
        }
        let opened = if store.is_broken() { store.reopen(&self.engine, now) } else { Ok(()) };
        let written = opened.and_then(|()| write(store));
        self.has_written(what, written)
    }

    fn write_snapshot(&mut self) {
        let now = self.clock.now();
        let Some(store) = self.store.as_mut().filter(|store| !store.is_broken()) else { return };
        let written = store.snapshot(&self.engine, now);
        self.has_written("snapshot", written);
    }

    fn has_written(&mut self, what: &str, written: Result<(), Box<dyn Error>>) -> bool {
        if let Err(error) = &written {
            self.store_errors += 1;
            self.store_retry = Instant::now() + STORE_RETRY;
            eprintln!("pasd: the {what} cannot be written: {error}; trying again soon");
        }
        written.is_ok()
    }
}

fn refusal(status: u16, error: &str, message: String) -> Refusal {
    Refusal { status, problem: Problem { version: VERSION, error: error.into(), message } }
}

fn store_failed() -> Refusal {
    let message = "the daemon cannot write this to its store: see its log, and send it again";
    refusal(503, "store_failed", message.into())
}

fn unknown_job(job: &str) -> Refusal {
    refusal(404, "unknown_job", format!("there is no job {job:?}: GET /v1/jobs lists them"))
}

/// A change of one plane.
struct PlaneJob {
    op: OpId,
    remove: Vec<PortPair>,
    create: Vec<PortPair>,
}

/// A plane's thread: one change after the other, and a look at the links when they should have
/// come up.
fn spawn_plane(
    plane: PlaneId,
    mut driver: Box<dyn OpticalDriver>,
    control: Control,
) -> io::Result<Sender<PlaneJob>> {
    let (sender, jobs) = channel::<PlaneJob>();
    let name = format!("pasd-plane-{}", plane.0);
    thread::Builder::new().name(name).spawn(move || {
        // An emulated switch waits for microseconds, which the usual slack would double. Where it
        // cannot be had, delays are longer by it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut pause = Duration::ZERO;
        loop {
            let wait = driver.links_change_in().unwrap_or(Duration::from_secs(3600));
            match jobs.recv_timeout(wait.max(std::mem::take(&mut pause))) {
                Ok(PlaneJob { op, remove, create }) => {
                    let applied = driver.apply(&remove, &create);
                    let read = driver.read_back();
                    let error = applied.err().or_else(|| read.as_ref().err().cloned());
                    let connects = read.ok();
                    control.tell(Command::OpticalDone { op, plane, error, connects });
                }
                Err(RecvTimeoutError::Timeout) => match driver.read_back() {
                    Ok(connects) => control.tell(Command::Links { plane, connects }),
                    Err(_) => pause = BLIND,
                },
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    })?;
    Ok(sender)
}

/// The path controller's thread.
fn spawn_paths(
    paths: Arc<Mutex<Box<dyn SdnDriver>>>,
    control: Control,
) -> io::Result<Sender<(OpId, Vec<PathMove>)>> {
    let (sender, moves) = channel::<(OpId, Vec<PathMove>)>();
    thread::Builder::new().name("pasd-paths".into()).spawn(move || {
        for (op, moves) in moves {
            let mut paths = paths.lock().unwrap_or_else(PoisonError::into_inner);
            let error = paths.move_paths(&moves).err();
            drop(paths);
            control.tell(Command::PathsDone { op, error });
        }
    })?;
    Ok(sender)
}
