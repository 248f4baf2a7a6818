//! libpas.so.
