//! Links the programs with the MPI library that pmpi-sys was built for. (Its feature `link` would do so too, but cargo
//! would then give it to the preloaded library as well whenever both are built in one go.)

fn main() {
    let arguments = std::env::var("DEP_PMPI_LINK_ARGS").expect("pmpi-sys says how to link");
    for argument in arguments.split_whitespace() {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!("cargo:rustc-check-cfg=cfg(large_count)");
    if std::env::var("DEP_PMPI_LARGE_COUNT").is_ok_and(|value| value == "1") {
        println!("cargo:rustc-cfg=large_count");
    }
}
