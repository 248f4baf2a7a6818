//! The crash-safe store: a snapshot of the engine and the journal of what came after it.
//!
//! Commands are journalled before their effects are carried out. A batch that holds a request is
//! synced to the disk before it is answered; one of heartbeats, ticks and drivers' answers only is
//! not: losing the last of those loses nothing that somebody was promised, since a restart gives
//! leases a full term and reads the switches back.

use pas_core::engine::{Command, Engine};
use pas_core::units::Time;
use redb::{Database, Durability, ReadableTable, TableDefinition};
use std::path::{Path, PathBuf};

const JOURNAL: TableDefinition<u64, &[u8]> = TableDefinition::new("journal");
const SNAPSHOT: TableDefinition<&str, &[u8]> = TableDefinition::new("snapshot");
/// The snapshot's keys: format, engine, time.
const FORMAT: &str = "format";
const ENGINE: &str = "engine";
const TIME: &str = "time_ns";
/// Changes with every change of what the engine or a command serialises to.
const FORMAT_NUMBER: &[u8] = b"pasd-1";
/// After so many journalled commands the snapshot is renewed.
const JOURNAL_MAX: u64 = 4096;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another daemon has it.
    #[error("{0} is in use by another pasd: stop that one, or give this one another --state")]
    InUse(PathBuf),
    /// The folder cannot be made or the file not be opened.
    #[error("cannot use {0}: {1}")]
    Unusable(PathBuf, String),
}

/// The store.
pub struct Store {
    database: Database,
    next: u64,
    since_snapshot: u64,
}

/// What a store held.
pub struct Restored {
    /// The engine as of its last journalled command.
    pub engine: Option<Engine>,
    /// That command's time.
    pub time: Time,
}

type Failed = Box<dyn std::error::Error>;

impl Store {
    /// Opens the store in a folder, or makes it. A file that is none of ours, damaged, or of
    /// another version is set aside under another name: a daemon that starts empty and reads its
    /// switches back is better than one that does not start.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        let path = folder.join("pasd.redb");
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unusable(folder.to_owned(), error.to_string()))?;
        match open_file(&path) {
            Ok(store) => Ok(store),
            Err(error) => match error.downcast::<redb::DatabaseError>().map(|error| *error) {
                Ok(redb::DatabaseError::DatabaseAlreadyOpen) => Err(StoreError::InUse(path)),
                Ok(error) => Store::set_aside(&path, &error.to_string()),
                Err(error) => Store::set_aside(&path, &error.to_string()),
            },
        }
    }

    fn set_aside(path: &Path, why: &str) -> Result<Store, StoreError> {
        let aside = path.with_extension(format!("redb.bad-{}", std::process::id()));
        let unusable = |error: String| StoreError::Unusable(path.to_owned(), error);
        std::fs::rename(path, &aside).map_err(|error| unusable(error.to_string()))?;
        eprintln!(
            "pasd: {} cannot be used ({why}): kept as {}, starting without it",
            path.display(),
            aside.display()
        );
        open_file(path).map_err(|error| unusable(error.to_string()))
    }

    /// The engine as it was: the snapshot, and the journal applied to it.
    pub fn restore(&self, fresh: impl FnOnce() -> Engine) -> Result<Restored, Failed> {
        let read = self.database.begin_read()?;
        let snapshot = read.open_table(SNAPSHOT)?;
        let mut time = match snapshot.get(TIME)? {
            Some(bytes) => Time(serde_json::from_slice(bytes.value())?),
            None => Time(0),
        };
        let mut engine = match snapshot.get(ENGINE)? {
            Some(bytes) => Some(serde_json::from_slice::<Engine>(bytes.value())?),
            None => None,
        };
        let mut fresh = Some(fresh);
        for entry in read.open_table(JOURNAL)?.iter()? {
            let (_, bytes) = entry?;
            let (at, command) = serde_json::from_slice::<(Time, Command)>(bytes.value())?;
            if let Some(fresh) = fresh.take() {
                engine = engine.or_else(|| Some(fresh()));
            }
            if let Some(engine) = &mut engine {
                engine.apply(at, command);
            }
            time = at;
        }
        Ok(Restored { engine, time })
    }

    /// Appends a batch; `sync` where somebody is promised that it is kept.
    pub fn append(&mut self, batch: &[(Time, Command)], sync: bool) -> Result<(), Failed> {
        let mut write = self.database.begin_write()?;
        write.set_durability(if sync { Durability::Immediate } else { Durability::None });
        {
            let mut journal = write.open_table(JOURNAL)?;
            for entry in batch {
                journal.insert(self.next, serde_json::to_vec(entry)?.as_slice())?;
                self.next += 1;
            }
        }
        write.commit()?;
        self.since_snapshot += batch.len() as u64;
        Ok(())
    }

    /// True when the journal has grown long enough for a new snapshot.
    pub fn wants_snapshot(&self) -> bool {
        self.since_snapshot >= JOURNAL_MAX
    }

    /// Replaces snapshot and journal by the engine as it is.
    pub fn snapshot(&mut self, engine: &Engine, time: Time) -> Result<(), Failed> {
        let write = self.database.begin_write()?;
        write.delete_table(JOURNAL)?;
        write.open_table(JOURNAL)?;
        {
            let mut snapshot = write.open_table(SNAPSHOT)?;
            snapshot.insert(ENGINE, serde_json::to_vec(engine)?.as_slice())?;
            snapshot.insert(TIME, serde_json::to_vec(&time)?.as_slice())?;
        }
        write.commit()?;
        self.since_snapshot = 0;
        Ok(())
    }
}

fn open_file(path: &Path) -> Result<Store, Failed> {
    let database = Database::create(path)?;
    let write = database.begin_write()?;
    let next = {
        let journal = write.open_table(JOURNAL)?;
        let last = journal.last()?.map(|(key, _)| key.value());
        last.map_or(0, |last| last + 1)
    };
    {
        let mut snapshot = write.open_table(SNAPSHOT)?;
        let format = snapshot.get(FORMAT)?.map(|bytes| bytes.value().to_vec());
        match format {
            Some(format) if format == FORMAT_NUMBER => {}
            Some(format) => {
                let format = String::from_utf8_lossy(&format).into_owned();
                return Err(format!("its format is {format:?}").into());
            }
            None => {
                snapshot.insert(FORMAT, FORMAT_NUMBER)?;
            }
        }
    }
    write.commit()?;
    Ok(Store { database, next, since_snapshot: 0 })
}
