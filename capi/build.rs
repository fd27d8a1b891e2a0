//! Passes on what pmpi-sys found in mpi.h, and checks how the shared library will be linked.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(large_count)");
    if std::env::var("DEP_PMPI_LARGE_COUNT").is_ok_and(|value| value == "1") {
        println!("cargo::rustc-cfg=large_count");
    }
    // The MPI library's symbols stay open, for the program's library to fill in. A preloaded libtatpio also
    // lands in processes without MPI (mpirun, the shell around the program): unless symbols are looked up at
    // the first call, which rustc's default link forbids, the dynamic linker ends those.
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if !flags.contains("relro-level=partial") && !flags.contains("relro-level=off") {
        println!(
            "cargo::warning=without the flag -Crelro-level=partial (.cargo/config.toml has it; RUSTFLAGS \
             replaces it) a preloaded libtatpio.so ends every process that has no MPI"
        );
    }
}
