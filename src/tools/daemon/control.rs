//! The thread that owns the engine.
//!
//! It waits for commands, or for the engine's next deadline; takes what has come in together as
//! one batch; applies it; writes it to the journal; and only then carries out the effects, replies
//! included. Drivers have a thread each and answer with commands, so a slow switch delays nobody
//! but itself.

use super::driver::{OpticalDriver, SdnDriver};
use super::reports::Reports;
use super::store::Store;
use pas_core::engine::{Command, Effect, Engine, Limits, OpId, PathMove, Refusal, Response};
use pas_core::fabric::{Fabric, PlaneId, PortPair};
use pas_core::units::{Nanos, Time};
use pas_core::wire::CircuitChange;
use std::collections::BTreeMap;
use std::io;
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
    /// A change of what the engine does not own.
    Keep(Box<dyn FnOnce(&mut Reports) + Send>),
    /// The end.
    Stop,
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

    /// Changes the reports.
    pub fn keep(&self, keep: impl FnOnce(&mut Reports) + Send + 'static) -> Result<(), Unreached> {
        self.send(Message::Keep(Box::new(keep)))
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
    let (engine, start) = restore(parts.store.as_ref(), &parts.fabric, &parts.limits);
    let owner = Owner {
        engine,
        clock: Clock { start, since: Instant::now() },
        store: parts.store,
        store_errors: 0,
        reports: Reports::default(),
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

fn restore(store: Option<&Store>, fabric: &Fabric, limits: &Limits) -> (Engine, Time) {
    let fresh = || Engine::new(fabric.clone(), limits.clone());
    let Some(store) = store else { return (fresh(), Time(0)) };
    match store.restore(fresh) {
        Ok(restored) => (restored.engine.unwrap_or_else(fresh), restored.time),
        Err(error) => {
            eprintln!("pasd: the stored state cannot be read ({error}): starting without it");
            (fresh(), Time(0))
        }
    }
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

/// The engine and all around it.
struct Owner {
    engine: Engine,
    clock: Clock,
    store: Option<Store>,
    store_errors: u64,
    reports: Reports,
    planes: Vec<Sender<PlaneJob>>,
    paths: Arc<Mutex<Box<dyn SdnDriver>>>,
    path_moves: Sender<(OpId, Vec<PathMove>)>,
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    next_token: u64,
}

impl Owner {
    fn run(mut self, fabric: Fabric, commands: &Receiver<Message>) {
        self.carry_out(vec![Command::Restart { fabric }], true);
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
        let mut promised = false;
        let mut looks = Vec::new();
        let mut goes_on = true;
        let more = std::iter::from_fn(|| commands.try_recv().ok());
        for message in first.into_iter().chain(more).take(BATCH_MAX) {
            match message {
                Message::Ask(command, reply) => {
                    let token = self.next_token;
                    self.next_token += 1;
                    self.waiting.insert(token, reply);
                    let command = command(token);
                    promised |= !matches!(command, Command::Heartbeat { .. });
                    batch.push(command);
                }
                Message::Tell(command) => batch.push(*command),
                Message::Keep(keep) => keep(&mut self.reports),
                Message::Look(look) => looks.push(look),
                Message::Stop => {
                    goes_on = false;
                    break;
                }
            }
        }
        let due = self.engine.next_deadline().is_some_and(|at| at <= self.clock.now());
        if batch.is_empty() && due {
            batch.push(Command::Tick);
        }
        if !batch.is_empty() {
            self.carry_out(batch, promised);
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

    /// Applies a batch, writes it down, and carries out what follows from it.
    fn carry_out(&mut self, batch: Vec<Command>, promised: bool) {
        let now = self.clock.now();
        let journal: Vec<(Time, Command)> = match self.store {
            Some(_) => batch.iter().map(|command| (now, command.clone())).collect(),
            None => Vec::new(),
        };
        let effects: Vec<Effect> =
            batch.into_iter().flat_map(|command| self.engine.apply(now, command)).collect();
        if let Some(store) = &mut self.store
            && let Err(error) = store.append(&journal, promised)
        {
            self.store_errors += 1;
            eprintln!("pasd: the journal cannot be written: {error}");
        }
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

    fn write_snapshot(&mut self) {
        let now = self.clock.now();
        if let Some(store) = &mut self.store
            && let Err(error) = store.snapshot(&self.engine, now)
        {
            self.store_errors += 1;
            eprintln!("pasd: the snapshot cannot be written: {error}");
        }
    }
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
        loop {
            let wait = driver.links_change_in().unwrap_or(Duration::from_secs(3600));
            match jobs.recv_timeout(wait) {
                Ok(PlaneJob { op, remove, create }) => {
                    let applied = driver.apply(&remove, &create);
                    let read = driver.read_back();
                    let error = applied.err().or_else(|| read.as_ref().err().cloned());
                    let connects = read.ok();
                    control.tell(Command::OpticalDone { op, plane, error, connects });
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Ok(connects) = driver.read_back() {
                        control.tell(Command::Links { plane, connects });
                    }
                }
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
