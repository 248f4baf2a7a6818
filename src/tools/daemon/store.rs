//! The crash-safe store: a snapshot of the engine and the journal of what came after it.
//!
//! Commands are journalled before their effects are carried out. A batch that holds a request is
//! synced to the disk before it is answered; one of heartbeats, ticks and drivers' answers only is
//! not: losing the last of those loses nothing that somebody was promised, since a restart gives
//! leases a full term and reads the switches back.

use pas_core::engine::{Command, Engine};
use pas_core::units::Time;
use pas_core::wire::RankReport;
use redb::{Database, Durability, ReadableTable, TableDefinition};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const JOURNAL: TableDefinition<u64, &[u8]> = TableDefinition::new("journal");
const SNAPSHOT: TableDefinition<&str, &[u8]> = TableDefinition::new("snapshot");
/// Reports as they came, by job and rank.
const REPORTS: TableDefinition<(&str, u32), &[u8]> = TableDefinition::new("reports");
/// The snapshot's keys: format, engine, time.
const FORMAT: &str = "format";
const ENGINE: &str = "engine";
const TIME: &str = "time_ns";
/// Changes with every change of what the engine or a command serialises to.
const FORMAT_NUMBER: &[u8] = b"pasd-1";
/// The snapshot is renewed when the journal has so many bytes and is twice as long as the
/// snapshot: so a large state is not written again and again for little.
const JOURNAL_BYTES: usize = 1 << 20;

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
    path: PathBuf,
    /// Absent after a write that failed: what redb thinks of its file is then in doubt.
    database: Option<Database>,
    next: u64,
    journal_bytes: usize,
    snapshot_bytes: usize,
}

/// What a store held.
#[derive(Default)]
pub struct Restored {
    /// The engine as of its last journalled command.
    pub engine: Option<Engine>,
    /// That command's time.
    pub time: Time,
    /// The ranks' reports, job by job.
    pub reports: Vec<(String, Box<RankReport>, usize)>,
}

type Failed = Box<dyn std::error::Error>;

impl Store {
    /// Opens the store in a folder, or makes it. A file that is none of ours, damaged, or of
    /// another version is set aside under another name: a daemon that starts empty and reads its
    /// switches back is better than one that does not start. One that cannot be read at all is
    /// left alone: it may be good.
    pub fn open(folder: &Path) -> Result<(Store, Restored), StoreError> {
        let path = folder.join("pasd.redb");
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unusable(folder.to_owned(), error.to_string()))?;
        let error = match guarded(|| open_file(&path)) {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        match error.downcast_ref::<redb::Error>() {
            Some(redb::Error::DatabaseAlreadyOpen) => return Err(StoreError::InUse(path)),
            Some(redb::Error::Io(error)) if !is_about_content(error.kind()) => {
                return Err(StoreError::Unusable(path, error.to_string()));
            }
            _ => {}
        }
        let unusable = |error: String| StoreError::Unusable(path.clone(), error);
        let aside = set_aside(&path).map_err(|error| unusable(error.to_string()))?;
        eprintln!(
            "pasd: {} cannot be used ({error}): kept as {}, starting without it",
            path.display(),
            aside.display()
        );
        guarded(|| open_file(&path)).map_err(|error| unusable(error.to_string()))
    }

    /// Opens the file again after a write failed, and writes the engine as it is now: the journal
    /// lacks what happened in between.
    pub fn reopen(&mut self, engine: &Engine, time: Time) -> Result<(), Failed> {
        let (mut store, _) = guarded(|| open_file(&self.path))?;
        store.snapshot(engine, time)?;
        *self = store;
        Ok(())
    }

    /// True after a write failed, until it was opened again.
    pub fn is_broken(&self) -> bool {
        self.database.is_none()
    }

    /// Writes, or breaks.
    fn write(&mut self, work: impl FnOnce(&Database) -> Result<(), Failed>) -> Result<(), Failed> {
        let database = self.database.take().ok_or("a write failed before")?;
        guarded(|| work(&database).map(|()| database)).map(|database| {
            self.database = Some(database);
        })
    }

    /// Appends a batch; `sync` where somebody is promised that it is kept.
    pub fn append(&mut self, batch: &[(Time, Command)], sync: bool) -> Result<(), Failed> {
        let (first, mut bytes) = (self.next, 0);
        self.write(|database| {
            let mut write = database.begin_write()?;
            write.set_durability(if sync { Durability::Immediate } else { Durability::None });
            {
                let mut journal = write.open_table(JOURNAL)?;
                for (key, entry) in (first..).zip(batch) {
                    let entry = serde_json::to_vec(entry)?;
                    bytes += entry.len();
                    journal.insert(key, entry.as_slice())?;
                }
            }
            Ok(write.commit()?)
        })?;
        self.next += batch.len() as u64;
        self.journal_bytes += bytes;
        Ok(())
    }

    /// Keeps reports as they came, by job and rank, and gives up those of other jobs.
    pub fn keep_reports(
        &mut self,
        reports: &[(&str, u32, &[u8])],
        given_up: &[String],
    ) -> Result<(), Failed> {
        self.write(|database| {
            let write = database.begin_write()?;
            {
                let mut table = write.open_table(REPORTS)?;
                for (job, rank, bytes) in reports {
                    table.insert((*job, *rank), *bytes)?;
                }
                for job in given_up {
                    let job = job.as_str();
                    table.retain_in((job, 0)..=(job, u32::MAX), |_, _| false)?;
                }
            }
            Ok(write.commit()?)
        })
    }

    /// True when the journal has grown long enough for a new snapshot.
    pub fn wants_snapshot(&self) -> bool {
        self.journal_bytes >= JOURNAL_BYTES.max(2 * self.snapshot_bytes)
    }

    /// Replaces snapshot and journal by the engine as it is.
    pub fn snapshot(&mut self, engine: &Engine, time: Time) -> Result<(), Failed> {
        let engine = serde_json::to_vec(engine)?;
        self.write(|database| {
            let write = database.begin_write()?;
            write.delete_table(JOURNAL)?;
            write.open_table(JOURNAL)?;
            {
                let mut snapshot = write.open_table(SNAPSHOT)?;
                snapshot.insert(ENGINE, engine.as_slice())?;
                snapshot.insert(TIME, serde_json::to_vec(&time)?.as_slice())?;
            }
            Ok(write.commit()?)
        })?;
        (self.journal_bytes, self.snapshot_bytes) = (0, engine.len());
        Ok(())
    }
}

/// redb asserts where a file is damaged or a disk is full: its panics are errors like others.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("redb gave it up".into()))
}

/// True where an error says something of the file's bytes, and not of the way to them.
fn is_about_content(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

/// Gives a file another name, one that nothing has.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let names = (1..).map(|number: u32| path.with_extension(format!("redb.bad-{number}")));
    let aside = names.into_iter().find(|name| !name.exists()).unwrap_or_default();
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

fn open_file(path: &Path) -> Result<(Store, Restored), Failed> {
    let (database, next) = open_tables(path)?;
    let restored = restore(&database)?;
    Ok((
        Store {
            path: path.to_owned(),
            database: Some(database),
            next,
            journal_bytes: 0,
            snapshot_bytes: 0,
        },
        restored,
    ))
}

/// Opens the file and its tables; also answers with the journal's next key.
#[expect(clippy::result_large_err, reason = "the one caller boxes it at once")]
fn open_tables(path: &Path) -> Result<(Database, u64), redb::Error> {
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
                return Err(redb::Error::Corrupted(format!("its format is {format:?}")));
            }
            None => {
                snapshot.insert(FORMAT, FORMAT_NUMBER)?;
            }
        }
    }
    write.open_table(REPORTS)?;
    write.commit()?;
    Ok((database, next))
}

/// The engine as it was: the snapshot, and the journal applied to it.
fn restore(database: &Database) -> Result<Restored, Failed> {
    let read = database.begin_read().map_err(redb::Error::from)?;
    let mut reports = Vec::new();
    for entry in read.open_table(REPORTS)?.iter()? {
        let (key, bytes) = entry?;
        let report = serde_json::from_slice(bytes.value())?;
        reports.push((key.value().0.to_owned(), Box::new(report), bytes.value().len()));
    }
    let snapshot = read.open_table(SNAPSHOT)?;
    let Some(bytes) = snapshot.get(ENGINE)? else { return Ok(Restored::default()) };
    let mut engine = serde_json::from_slice::<Engine>(bytes.value())?;
    let time = snapshot.get(TIME)?.ok_or("the snapshot has no time")?;
    let mut time = serde_json::from_slice(time.value())?;
    for entry in read.open_table(JOURNAL)?.iter()? {
        let (_, bytes) = entry?;
        let (at, command) = serde_json::from_slice::<(Time, Command)>(bytes.value())?;
        engine.apply(at, command);
        time = at;
    }
    Ok(Restored { engine: Some(engine), time, reports })
}
