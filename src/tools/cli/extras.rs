//! `pas completions` and `pas man`: made from the argument tree, so that they never differ
//! from it.

use crate::cli::{Cli, Failure, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const COMPLETION_EXAMPLES: &str = "\
Examples:
  pas completions bash > ~/.local/share/bash-completion/completions/pas
  pas completions zsh > ~/.zfunc/_pas
  pas completions fish > ~/.config/fish/completions/pas.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  pas man | man -l -                    the page of pas
  pas man --dir ~/.local/share/man/man1   a page for each subcommand";

/// The arguments of `pas completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a shell's completion script.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn completions(arguments: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "pas", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The arguments of `pas man`.
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct Man {
    /// Write a page for pas and for each subcommand into this folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints or writes the manual pages.
///
/// # Errors
///
/// What could not be written.
pub fn man(arguments: &Man) -> Result<ExitCode, Failure> {
    match &arguments.dir {
        Some(folder) => write_pages(folder)?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Failure::new)?;
            output::text(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_pages(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot write to {} ({error})", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)
}
