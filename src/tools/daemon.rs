//! pasd, the strategy daemon: the rim around `pas-core`'s engine.
//!
//! The engine decides; the rim has what the engine must not have: a clock, sockets, a store,
//! threads. One thread owns the engine ([`control`]): it takes commands from the HTTP handlers
//! ([`http`]) and from the drivers ([`driver`]), writes them to the journal ([`store`]), applies
//! them, and carries out their effects. Handlers only decode, ask and encode.

pub mod control;
pub mod driver;
pub mod fabric_file;
pub mod http;
pub mod openapi;
pub mod reports;
pub mod store;

use control::Control;
use driver::emulated::{EmulatedOxc, Faults};
use driver::{OpticalDriver, RecordedPaths};
use pas_core::engine::Limits;
use pas_core::fabric::Fabric;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// The fabric.
    pub fabric: Fabric,
    /// The engine's terms.
    pub limits: Limits,
    /// TCP address to listen on; port 0 takes any free one.
    pub listen: Option<SocketAddr>,
    /// Unix socket to listen on.
    pub socket: Option<PathBuf>,
    /// Folder of the store; none: nothing survives the daemon.
    pub state: Option<PathBuf>,
    /// Failures that the emulated OXC plays, for tests.
    pub faults: Faults,
    /// Seed of the emulated OXC's delays.
    pub seed: u64,
}

impl DaemonConfig {
    /// A daemon on any free port of the loopback, without a store.
    pub fn embedded(fabric: Fabric) -> DaemonConfig {
        DaemonConfig {
            fabric,
            limits: Limits::default(),
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            socket: None,
            state: None,
            faults: Faults::default(),
            seed: 1,
        }
    }
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nothing to listen on.
    #[error("neither a TCP address nor a socket to listen on: give --listen or --socket")]
    NowhereToListen,
    /// Terms that cannot work.
    #[error("{0}")]
    Limits(String),
    /// The address cannot be had.
    #[error("cannot listen on {0}: {1}")]
    Listen(String, std::io::Error),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// Threads or the runtime cannot be had.
    #[error("cannot start: {0}")]
    Runtime(#[from] std::io::Error),
}

/// A daemon that runs in threads of this process.
pub struct Running {
    /// Where it listens, with the port that was taken.
    pub tcp_address: Option<SocketAddr>,
    control: Control,
    runtime: Option<tokio::runtime::Runtime>,
    engine: Option<std::thread::JoinHandle<()>>,
    socket: Option<PathBuf>,
}

/// Starts a daemon. It listens when this returns, so that a taken port is an error here and not
/// a line in a log.
pub fn start(config: DaemonConfig) -> Result<Running, StartError> {
    if config.listen.is_none() && config.socket.is_none() {
        return Err(StartError::NowhereToListen);
    }
    config.limits.validate().map_err(StartError::Limits)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (listeners, tcp_address) = runtime.block_on(http::listen(&config))?;
    let opened = config.state.as_deref().map(store::Store::open).transpose()?;
    let (store, restored) =
        opened.map_or_else(Default::default, |(store, restored)| (Some(store), restored));
    let drivers = config.fabric.plane_ids().map(|plane| {
        let oxc = EmulatedOxc::new(config.fabric.plane(plane), config.seed, &config.faults);
        Box::new(oxc) as Box<dyn OpticalDriver>
    });
    let (control, engine) = control::spawn(control::Parts {
        fabric: config.fabric.clone(),
        limits: config.limits.clone(),
        store,
        restored,
        drivers: drivers.collect(),
        paths: Box::new(RecordedPaths::default()),
    })?;
    http::serve(&runtime, listeners, control.clone());
    Ok(Running {
        tcp_address,
        control,
        runtime: Some(runtime),
        engine: Some(engine),
        socket: config.socket,
    })
}

impl Running {
    /// The way to the engine, for tests and for whoever runs a daemon in its own process.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// False once the engine's thread has ended: by a fault of its own, as long as nobody stopped
    /// the daemon. It answers nothing then but that it is ending.
    pub fn lives(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| !engine.is_finished())
    }

    /// Stops listening, lets the engine write its snapshot, and waits for both.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(200));
        }
        self.control.stop();
        if let Some(engine) = self.engine.take() {
            // A fault of the engine was told by its own message, and by `lives`.
            let _ = engine.join();
        }
        if let Some(socket) = self.socket.take() {
            let _ = std::fs::remove_file(socket);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shut_down();
    }
}
