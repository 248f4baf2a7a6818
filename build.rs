//! Builds the one C file of libpas.so and sets how it is linked. Needs no MPI and no network.

fn main() {
    println!("cargo:rerun-if-changed=src/preload/tls.c");
    println!("cargo:rerun-if-changed=src/preload/tls.h");
    let mut tls = cc::Build::new();
    tls.file("src/preload/tls.c").flag("-fvisibility=hidden").warnings(true).extra_warnings(true);
    // TLS descriptors: as cheap as initial-exec where the loader has static room, and unlike it
    // they can be loaded late by dlopen into a process that has none left.
    tls.flag_if_supported("-mtls-dialect=gnu2");
    tls.compile("pas_tls");
    // Worker thread, thread keys and atfork handlers point into the library for the life of the
    // process, so it must never be unmapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpas.so");
    // Symbol tables and code on pages of their own: the first are edited at load
    // (src/preload/newer.rs), and a page of code must not become writable for that.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,separate-code");
    // A symbol that nobody defines must fail here and not in a user's job.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
}
