//! What users get wrong, and what the command says.

use crate::{Run, command, run};
use std::path::Path;
use std::process::Stdio;

/// Runs with files `NAME` of these texts, which arguments name as `@NAME`.
fn with_files(files: &[(&str, &str)], arguments: &[&str]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(directory.path().join(name), text).unwrap());
    let replaced = |argument: &&str| match argument.split_once('@') {
        Some((before, name)) if files.iter().any(|(known, _)| *known == name) => {
            format!("{before}{}", directory.path().join(name).display())
        }
        _ => argument.to_string(),
    };
    let arguments: Vec<String> = arguments.iter().map(replaced).collect();
    run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The exit code and a part of what standard error says; nothing on standard output.
fn fails(arguments: &[&str], code: i32, parts: &[&str]) {
    check(&run(arguments), arguments, code, parts);
}

fn check(run: &Run, arguments: &[&str], code: i32, parts: &[&str]) {
    assert_eq!(run.code, Some(code), "tatpio {arguments:?}: {}{}", run.out, run.err);
    for part in parts {
        assert!(run.err.contains(part), "tatpio {arguments:?}: no \"{part}\" in: {}", run.err);
    }
    assert!(!run.err.contains("panicked"), "tatpio {arguments:?}: {}", run.err);
    assert!(code == 0 || run.out.is_empty(), "tatpio {arguments:?}: {}", run.out);
}

#[test]
fn mistakes_on_the_command_line() {
    fails(&[], 2, &["Usage: tatpio"]);
    fails(&["plan", "ior:4", "--ranks", "4"], 2, &["expected cube:N or btio:N", "ior:4"]);
    fails(&["plan", "cube:16"], 2, &["Give --ranks or --hosts"]);
    fails(&["plan", "btio:16", "--ranks", "8"], 2, &["square number of ranks, not 8: take 4 or 9"]);
    fails(&["plan", "cube:16", "--ranks", "0"], 2, &["--ranks"]);
    fails(
        &["plan", "cube:16", "--ranks", "4", "--assign", "best"],
        2,
        &["expected one of rank_order", "\"best\""],
    );
    fails(
        &["plan", "cube:16", "--ranks", "4", "--topology", "ring:4"],
        2,
        &["expected automatic, flat", "ring:4"],
    );
    fails(&["plan", "cube:16", "--ranks", "4", "--hints", "cb_nodes=x"], 2, &["cb_nodes", "whole number"]);
    fails(&["plan", "cube:16", "--ranks", "4", "--hints", "tatpio_asign=x"], 2, &["tatpio_assign"]);
    fails(&["plan", "cube:16", "--ranks", "4", "--picture", "a.jpg"], 2, &["a.jpg", ".svg or .png"]);
    fails(&["plan", "cube:16", "--ranks", "4", "--order", "random"], 2, &["scattered:SEED"]);
    fails(&["plan", "cube:16", "--ranks", "4", "--positions", "scattered:1"], 2, &["synthetic topology"]);
    let both =
        ["plan", "cube:16", "--ranks", "4", "--positions", "sorted:1", "--topology", "tree:4,2@0,1,2,3"];
    fails(&both, 2, &["give one"]);
    fails(
        &["plan", "cube:16", "--hosts", "a:2,b:2", "--ranks", "8"],
        2,
        &["places for 4 ranks", "asks for 8", "HOST:COUNT"],
    );
    fails(&["plan", "cube:16", "--hosts", "a:x"], 2, &["number of ranks after the colon"]);
    fails(
        &["simulate", "hops", "btio:16", "--ranks", "8", "--topology", "flat"],
        2,
        &["no number of ranks fits"],
    );
    fails(&["topology", "ring:4"], 2, &["expected automatic, flat"]);
}

#[test]
fn what_cannot_be_done() {
    fails(
        &["plan", "cube:16", "--ranks", "9", "--topology", "tree:4,2"],
        1,
        &["places 8 nodes and the job has 9"],
    );
    fails(&["plan", "file:/no/such"], 1, &["access pattern /no/such", "could not be read"]);
    fails(&["plan", "cube:16", "--hosts", "/no/such"], 1, &["list of hosts /no/such"]);
    fails(&["topology", "file:/no/such"], 1, &["/no/such"]);
    fails(&["topology", "infiniband:/no/such"], 1, &["/no/such"]);
    fails(&["topology", "tree:1,600", "--picture", "x.svg"], 1, &["600 hosts", "at most 512"]);
    fails(&["plan", "cube:16", "--ranks", "2", "--csv", "/no/such/dir/x.csv"], 1, &["/no/such/dir/x.csv"]);
    let wrong = with_files(&[("racks", "link a b\nlonk a c\n")], &["topology", "file:@racks"]);
    check(&wrong, &["lonk"], 1, &["racks, line 2: expected", "lonk a c"]);
    let wrong = with_files(&[("fabric", "<html>no fabric</html>\n")], &["topology", "infiniband:@fabric"]);
    check(&wrong, &["html"], 1, &["line 1"]);
}

#[test]
fn patterns_that_overlap() {
    let own = with_files(&[("p", "0 0 8\n1 8 8\n0 4 8\n")], &["plan", "file:@p"]);
    check(&own, &["own"], 1, &["lines 1 and 3: rank 0 asks for the same bytes twice"]);
    let shared = [("p", "0 0 8\n1 4 8\n")];
    let write = with_files(&shared, &["plan", "file:@p"]);
    check(&write, &["write"], 0, &["warning: ", "lines 1 and 2: ranks 0 and 1 write the same bytes"]);
    let read = with_files(&shared, &["plan", "file:@p", "--read"]);
    assert_eq!((read.code, read.err.as_str()), (Some(0), ""));
    let few = with_files(&[("p", "0 0 8\n5 8 8\n")], &["plan", "file:@p", "--ranks", "3"]);
    check(&few, &["few"], 2, &["names rank 5, and the job has 3 ranks"]);
    let words = with_files(&[("p", "0 0 8\n1 eight 8\n")], &["plan", "file:@p"]);
    check(&words, &["words"], 1, &["line 2: expected RANK OFFSET LENGTH", "1 eight 8"]);
    let nothing = with_files(&[("p", "0 0 0\n")], &["plan", "file:@p"]);
    check(&nothing, &["nothing"], 0, &["no rank asks for a byte"]);
}

/// A description with gaps is used as far as it goes, with one warning.
#[test]
fn networks_with_gaps() {
    let islands = [("racks", "link a s1\nlink b s1\nlink c s2\nlink d s2\n")];
    let run = with_files(&islands, &["plan", "cube:16", "--hosts", "a,b,c,d", "--topology", "file:@racks"]);
    check(&run, &["islands"], 0, &["warning"]);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    let run = with_files(
        &islands,
        &[
            "plan",
            "cube:16",
            "--hosts",
            "a,b,x,y",
            "--topology",
            "file:@racks",
            "--picture",
            "/dev/null/x.svg",
        ],
    );
    check(&run, &["not writable"], 1, &["warning", "x, y"]);
    assert_eq!(run.err.lines().count(), 2, "{}", run.err);
}

#[test]
fn machines_that_are_none() {
    let wrong = with_files(&[("m.xml", "<html/>\n")], &["topology", "--machine", "@m.xml"]);
    let part = if cfg!(feature = "hwloc") { "lstopo" } else { "--features hwloc" };
    check(&wrong, &["machine"], 1, &[part]);
}

/// A reader that goes away ends the command without a word.
#[test]
fn closed_pipes() {
    for arguments in [
        &["topology", "tree:40,40", "--json"][..],
        &["plan", "--help"],
        &["topology", "tree:40,40", "--links"],
    ] {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "tatpio {arguments:?}");
    }
    assert!(!Path::new("x.svg").exists(), "a picture that was refused is not written");
}
