//! Which MPI library carries the collectives out, and which algorithms the environment forces.

use crate::units::fnv1a;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who made the library.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// Intel MPI: MPICH's interface, other decision rules.
    IntelMpi,
    /// MVAPICH: likewise.
    Mvapich,
    /// None of these.
    #[default]
    Other,
}

/// A library and its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// Who made it.
    pub family: Family,
    /// The version's first number; 0 where it is not known.
    pub major: u16,
    /// Its second.
    pub minor: u16,
    /// Its third.
    pub patch: u16,
}

/// The algorithms that the environment forces on the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forced {
    values: BTreeMap<String, String>,
}

impl Library {
    /// Reads the text of `MPI_Get_library_version`.
    pub fn parse(text: &str) -> Library {
        const NAMES: [(&str, Family); 5] = [
            ("Open MPI", Family::OpenMpi),
            ("Intel(R) MPI", Family::IntelMpi),
            ("MVAPICH", Family::Mvapich),
            ("MPICH", Family::Mpich),
            ("", Family::Other),
        ];
        let found =
            NAMES.iter().find_map(|(name, family)| Some((*family, text.split_once(name)?.1)));
        let Some((family, rest)) = found else { return Library::default() };
        let mut numbers = version_numbers(rest);
        let mut next = || numbers.next().unwrap_or(0);
        Library { family, major: next(), minor: next(), patch: next() }
    }
}

/// The numbers of the first dotted version in `text`.
fn version_numbers(text: &str) -> impl Iterator<Item = u16> + '_ {
    let version = text
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    version.unwrap_or("").split('.').map(|number| number.parse().unwrap_or(0))
}

impl Forced {
    /// Keeps what matters of an environment's (name, value) pairs.
    pub fn from_env<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Forced {
        let values = pairs
            .into_iter()
            .filter(|(name, _)| {
                let name = name.as_ref();
                name == "OMPI_MCA_coll"
                    || name.starts_with("OMPI_MCA_coll_")
                    || name.starts_with("MPIR_CVAR_")
            })
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()))
            .collect();
        Forced { values }
    }

    /// A number for all of it together: other variables or values, another number.
    pub fn fingerprint(&self) -> u64 {
        let texts = self.values.iter().flat_map(|(name, value)| [name, value]);
        fnv1a(texts.flat_map(|text| text.bytes().chain([0])))
    }

    /// The value of a variable that was kept.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_version_texts_are_read() {
        let library = |family, major, minor, patch| Library { family, major, minor, patch };
        for (text, expected) in [
            (
                "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, \
                 2022",
                library(Family::OpenMpi, 4, 1, 4),
            ),
            (
                "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n",
                library(Family::Mpich, 4, 0, 2),
            ),
            (
                "Intel(R) MPI Library 2021.19 for Linux* OS\n",
                library(Family::IntelMpi, 2021, 19, 0),
            ),
            ("MVAPICH2 Version      :\t2.3.7\n", library(Family::Mvapich, 2, 3, 7)),
            ("Some MPI 1.2.3", library(Family::Other, 1, 2, 3)),
            ("", library(Family::Other, 0, 0, 0)),
        ] {
            assert_eq!(Library::parse(text), expected, "{text:?}");
        }
    }
}
