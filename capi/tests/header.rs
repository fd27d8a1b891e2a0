//! include/tatpio.h is what cbindgen makes of src/api.rs.

use std::fs;
use std::path::Path;

/// `TATPIO_UPDATE_HEADER=1 cargo test -p tatpio-capi` writes the header anew.
#[test]
fn the_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(here.join("src/api.rs"))
        .generate()
        .expect("src/api.rs can be read");
    let mut generated = Vec::new();
    bindings.write(&mut generated);
    let generated = String::from_utf8(generated).expect("a text");

    let path = here.join("../include/tatpio.h");
    if std::env::var_os("TATPIO_UPDATE_HEADER").is_some() {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "include/tatpio.h is not what src/api.rs says: run TATPIO_UPDATE_HEADER=1 cargo test -p tatpio-capi"
    );
}
