//! Asks the MPI compiler wrapper where its mpi.h is, reads it, and says what it found to this crate and its
//! dependents.

use bindgen::callbacks::{ItemInfo, ParseCallbacks};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rerun-if-changed=c");
    let wrapper = Wrapper::find();
    let bindings = read_header(&wrapper);
    compile_handles(&wrapper);

    let declares = |name| bindings.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let large_count = declares("PMPI_Type_get_envelope_c") && declares("PMPI_File_write_at_all_c");
    println!("cargo:rustc-check-cfg=cfg(large_count)");
    if large_count {
        println!("cargo:rustc-cfg=large_count");
    }
    println!("cargo:rustc-env=PMPI_IMPLEMENTATION={}", wrapper.implementation);
    println!("cargo:implementation={}", wrapper.implementation);
    println!("cargo:large_count={}", u8::from(large_count));
    println!("cargo:mpicc={}", wrapper.program);
    println!("cargo:link_args={}", wrapper.link_args.join(" "));
    if env::var_os("CARGO_FEATURE_LINK").is_some() {
        link(&wrapper.link_args);
    }
}

/// What the compiler wrapper of an MPI library says about itself.
struct Wrapper {
    program: String,
    /// `mpich` (and its descendants, which share its binary interface) or `openmpi`.
    implementation: &'static str,
    /// `-I` and `-D` only.
    compile_args: Vec<String>,
    /// `-L` and `-l` only.
    link_args: Vec<String>,
}

impl Wrapper {
    /// The wrapper that MPICC names, else the first that is installed.
    fn find() -> Wrapper {
        let named = env::var("MPICC").ok().filter(|name| !name.is_empty());
        let candidates = named.map_or_else(|| vec!["mpicc.mpich".into(), "mpicc".into()], |name| vec![name]);
        candidates.iter().find_map(|program| Wrapper::ask(program)).unwrap_or_else(|| {
            panic!(
                "no MPI compiler wrapper answers (tried {}): install libmpich-dev or libopenmpi-dev, \
                 or name one in the environment variable MPICC",
                candidates.join(", ")
            )
        })
    }

    fn ask(program: &str) -> Option<Wrapper> {
        // Open MPI's wrapper knows --showme:*; MPICH's hands what it does not know to the C compiler, which
        // refuses.
        let (implementation, compile, link) = match output(program, "--showme:compile") {
            Some(compile) => ("openmpi", compile, output(program, "--showme:link")?),
            None => output(program, "-show").map(|both| ("mpich", both.clone(), both))?,
        };
        Some(Wrapper {
            program: program.to_owned(),
            implementation,
            compile_args: arguments(&compile, &["-I", "-D"]),
            link_args: arguments(&link, &["-L", "-l"]),
        })
    }
}

/// The standard output of a command that succeeds.
fn output(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The arguments that start with one of the options; an option that stands alone is joined to what follows
/// it.
fn arguments(line: &str, options: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        if options.contains(&word) {
            found.extend(words.next().map(|value| format!("{word}{value}")));
        } else if options.iter().any(|option| word.starts_with(option)) {
            found.push(word.to_owned());
        }
    }
    found
}

/// Writes the bindings to OUT_DIR and returns their text.
fn read_header(wrapper: &Wrapper) -> String {
    let bindings = bindgen::Builder::default()
        .header("c/bindings.h")
        .clang_args(&wrapper.compile_args)
        .allowlist_function("PMPI_.*")
        .allowlist_function("tatpio_.*")
        .allowlist_var("tatpio_number_.*")
        .rust_target(bindgen::RustTarget::stable(85, 0).expect("a version that bindgen knows"))
        .rust_edition(bindgen::RustEdition::Edition2024)
        .use_core()
        .layout_tests(false)
        .generate_comments(false)
        .formatter(bindgen::Formatter::Prettyplease)
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .parse_callbacks(Box::new(NumberNames))
        .generate()
        .unwrap_or_else(|error| panic!("mpi.h of {} cannot be read: {error}", wrapper.program));
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("bindings.rs");
    bindings.write_to_file(path).expect("OUT_DIR can be written");
    bindings.to_string()
}

/// Gives the numbers of bindings.h MPI's names back.
#[derive(Debug)]
struct NumberNames;

impl ParseCallbacks for NumberNames {
    fn item_name(&self, item: ItemInfo<'_>) -> Option<String> {
        item.name.strip_prefix("tatpio_number_").map(str::to_owned)
    }
}

fn compile_handles(wrapper: &Wrapper) {
    let mut build = cc::Build::new();
    build.file("c/handles.c");
    for argument in &wrapper.compile_args {
        build.flag(argument);
    }
    build.compile("pmpi_handles");
}

fn link(arguments: &[String]) {
    for argument in arguments {
        if let Some(directory) = argument.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", Path::new(directory).display());
        } else if let Some(library) = argument.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
