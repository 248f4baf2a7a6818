//! Rules against what the libraries were seen to do, and every collective against its table.

use super::*;
use crate::schedule::{NoSchedule, Schedule};

const OPEN_MPI: Library = Library { family: Family::OpenMpi, major: 4, minor: 1, patch: 4 };
const MPICH: Library = Library { family: Family::Mpich, major: 4, minor: 0, patch: 2 };

const COLLECTIVES: [Collective; 22] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Gather,
    Collective::Gatherv,
    Collective::Scatter,
    Collective::Scatterv,
    Collective::Allgather,
    Collective::Allgatherv,
    Collective::Alltoall,
    Collective::Alltoallv,
    Collective::Alltoallw,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::ReduceScatterBlock,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
    Collective::NeighborAllgather,
    Collective::NeighborAllgatherv,
    Collective::NeighborAlltoall,
    Collective::NeighborAlltoallv,
    Collective::NeighborAlltoallw,
];

fn query(library: Library, collective: Collective, ranks: u32, bytes: u64) -> Query {
    Query {
        library,
        collective,
        nonblocking: false,
        ranks,
        hosts: Some(ranks),
        bytes,
        elements: (bytes / 4) as u32,
        predefined_op: true,
        in_place: false,
    }
}

fn pattern(query: Query) -> Pattern {
    predict(&query, &Forced::default()).pattern
}

/// Sizes around every limit of the rules.
fn sizes() -> impl Iterator<Item = u64> {
    (0..25).map(|bit| 1u64 << bit).flat_map(|size| [size - 1, size])
}

#[test]
fn open_mpi_does_what_it_was_seen_to_do() {
    // Read off the messages of Open MPI 4.1.4 with its monitoring component.
    for (collective, nonblocking, ranks, bytes, seen) in [
        (Collective::Allreduce, false, 4, 5_000, Pattern::RecursiveDoubling),
        (Collective::Allreduce, false, 4, 1 << 20, Pattern::RecursiveHalvingDoubling),
        (Collective::Allreduce, false, 3, 50_000, Pattern::Ring),
        (Collective::Allreduce, true, 4, 50_000, Pattern::ReduceBroadcast),
        (Collective::Allreduce, true, 4, 1 << 20, Pattern::RecursiveHalvingDoubling),
        (Collective::Bcast, false, 5, 1 << 20, Pattern::Chain),
        (Collective::Bcast, true, 5, 1_200_000, Pattern::BinomialTree),
        (Collective::Bcast, true, 4, 1_200_000, Pattern::Linear),
        (Collective::Allgather, false, 6, 5_000, Pattern::Bruck),
        (Collective::Allgather, false, 8, 5_000, Pattern::RecursiveDoubling),
        (Collective::Allgatherv, false, 8, 20_000, Pattern::Bruck),
        (Collective::ReduceScatterBlock, false, 4, 40, Pattern::Butterfly),
        (Collective::ReduceScatter, false, 8, 300_000, Pattern::Ring),
        (Collective::Reduce, false, 8, 20_000, Pattern::BinomialTree),
        (Collective::Gather, false, 8, 20_000, Pattern::BinomialTree),
        (Collective::Scan, false, 8, 20_000, Pattern::Chain),
        (Collective::Barrier, false, 8, 0, Pattern::RecursiveDoubling),
    ] {
        let query = Query { nonblocking, ..query(OPEN_MPI, collective, ranks, bytes) };
        let said = predict(&query, &Forced::default());
        assert_eq!(said.pattern, seen, "{query:?} {said:?}");
        assert!(said.confidence >= trust::EXACT, "{said:?}");
    }
}

#[test]
fn mpich_does_what_it_was_seen_to_do() {
    // Read off the receives that MPICH 4.0.2 posts to UCX, one rank on each host.
    for (collective, nonblocking, ranks, bytes, seen) in [
        (Collective::Allreduce, false, 4, 4, Pattern::RecursiveDoubling),
        (Collective::Allreduce, false, 4, 1000, Pattern::RecursiveHalvingDoubling),
        (Collective::Allreduce, true, 4, 1000, Pattern::RecursiveDoubling),
        (Collective::Bcast, false, 5, 1 << 20, Pattern::BinomialTree),
        (Collective::Bcast, false, 8, 20_000, Pattern::ScatterAllgather),
        (Collective::Bcast, false, 8, 600_004, Pattern::Ring),
        (Collective::Allgather, false, 4, 5_000, Pattern::RecursiveDoubling),
        (Collective::Allgather, false, 5, 5_000, Pattern::Bruck),
        (Collective::Allgather, false, 8, 100_004, Pattern::Ring),
        (Collective::Alltoall, false, 8, 100, Pattern::Linear),
        (Collective::Alltoall, false, 9, 100, Pattern::Bruck),
        (Collective::Alltoall, false, 9, 50_000, Pattern::Pairwise),
        (Collective::ReduceScatterBlock, false, 3, 300_000, Pattern::Pairwise),
        (Collective::ReduceScatterBlock, true, 3, 300_000, Pattern::RecursiveHalving),
        (Collective::Reduce, false, 8, 1000, Pattern::BinomialTree),
        (Collective::Reduce, false, 8, 5000, Pattern::RecursiveHalvingDoubling),
        (Collective::Barrier, false, 8, 0, Pattern::Dissemination),
    ] {
        let query = Query { nonblocking, ..query(MPICH, collective, ranks, bytes) };
        let said = predict(&query, &Forced::default());
        assert_eq!(said.pattern, seen, "{query:?} {said:?}");
        assert!(said.confidence >= trust::EXACT, "{said:?}");
    }
}

#[test]
fn every_prediction_has_a_table_or_says_that_nothing_is_known() {
    for library in [OPEN_MPI, MPICH] {
        for collective in COLLECTIVES {
            for nonblocking in [false, true] {
                for ranks in [1, 2, 3, 4, 7, 8, 9, 16, 33, 100, 300, 1000] {
                    for bytes in sizes() {
                        let query =
                            Query { nonblocking, ..query(library, collective, ranks, bytes) };
                        check_table(&query);
                    }
                }
            }
        }
    }
}

fn check_table(query: &Query) {
    let said = predict(query, &Forced::default());
    let shape = Shape {
        collective: query.collective,
        pattern: said.pattern,
        family: query.library.family,
        nonblocking: query.nonblocking,
        ranks: query.ranks.min(16),
        root: 0,
        bytes: query.bytes,
        elements: query.elements,
        segment_bytes: said.segment_bytes,
    };
    match said.pattern {
        Pattern::Neighborhood => {}
        pattern => {
            assert_ne!(pattern, Pattern::Unknown, "{query:?}");
            let table = Schedule::of(&shape);
            assert!(!matches!(table, Err(NoSchedule::NotOfCollective)), "{query:?} {said:?}");
        }
    }
}

#[test]
fn two_ranks_have_one_name_for_one_traffic() {
    for library in [OPEN_MPI, MPICH] {
        for bytes in sizes().filter(|bytes| *bytes >= 8) {
            let allreduce = query(library, Collective::Allreduce, 2, bytes);
            assert_eq!(pattern(allreduce), Pattern::RecursiveDoubling, "{bytes}");
        }
    }
}

#[test]
fn what_the_environment_forces_goes_first() {
    let allreduce = query(OPEN_MPI, Collective::Allreduce, 8, 1 << 20);
    let with =
        |pairs: &[(&str, &str)]| predict(&allreduce, &Forced::from_env(pairs.iter().copied()));
    let on = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    for (value, forced) in [
        ("4", Pattern::Ring),
        ("ring", Pattern::Ring),
        ("3", Pattern::RecursiveDoubling),
        ("6", Pattern::RecursiveHalvingDoubling),
        ("0", Pattern::RecursiveHalvingDoubling),
        ("99", Pattern::RecursiveHalvingDoubling),
    ] {
        let said = with(&[on, ("OMPI_MCA_coll_tuned_allreduce_algorithm", value)]);
        assert_eq!(said.pattern, forced, "{value}");
    }
    let segmented = with(&[
        on,
        ("OMPI_MCA_coll_tuned_allreduce_algorithm", "5"),
        ("OMPI_MCA_coll_tuned_allreduce_segmentsize", "4096"),
    ]);
    assert_eq!(segmented.pattern, Pattern::SegmentedRing);
    let not_on = with(&[("OMPI_MCA_coll_tuned_allreduce_algorithm", "4")]);
    assert_eq!(not_on.pattern, Pattern::RecursiveHalvingDoubling);
    let other = with(&[("OMPI_MCA_coll_hcoll_enable", "1")]);
    assert!(other.confidence <= trust::GUESS && other.because.contains("hcoll"), "{other:?}");

    let cvar = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM";
    let mpich = query(MPICH, Collective::Allreduce, 8, 1 << 20);
    for (value, forced) in [
        ("recursive_doubling", Pattern::RecursiveDoubling),
        ("auto", Pattern::RecursiveHalvingDoubling),
        ("something_new", Pattern::Unknown),
    ] {
        assert_eq!(predict(&mpich, &Forced::from_env([(cvar, value)])).pattern, forced, "{value}");
    }
}

#[test]
fn what_is_not_sure_is_said() {
    let confidence = |query: Query| predict(&query, &Forced::default()).confidence;
    let sure = query(OPEN_MPI, Collective::Allreduce, 8, 1 << 20);
    assert!(confidence(sure) >= 0.9);
    let own_op = Query { predefined_op: false, ..sure };
    assert!(confidence(own_op) <= 0.3, "only the program knows its own operation");
    let older = Library { minor: 0, ..OPEN_MPI };
    assert!(confidence(Query { library: older, ..sure }) <= 0.3);
    for family in [Family::IntelMpi, Family::Mvapich, Family::Other] {
        let query = Query { library: Library { family, ..MPICH }, ..sure };
        let said = predict(&query, &Forced::default());
        assert_eq!((said.pattern, said.confidence), (Pattern::Unknown, 0.0));
    }
    let mpich = query(MPICH, Collective::Allreduce, 8, 1 << 20);
    assert!(confidence(Query { hosts: None, ..mpich }) < confidence(mpich));
    let two_levels = predict(&Query { hosts: Some(4), ..mpich }, &Forced::default());
    assert!(two_levels.two_level && two_levels.because.contains("4 ranks"), "{two_levels:?}");
}
