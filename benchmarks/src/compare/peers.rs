//! The peers: MPI-IO implementations that the same program can run under. One more is one more entry of
//! [`PEERS`].

use nix::unistd::geteuid;

/// An MPI library, for which the programs are built once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Mpi {
    /// The name of its directory below the target directory, and of `ci/build`'s argument.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::Mpich => "mpich",
            Mpi::OpenMpi => "openmpi",
        }
    }

    /// What its mpirun may be called, the name that is unmistakable first: both libraries may be installed.
    pub fn mpiruns(self) -> [&'static str; 2] {
        match self {
            Mpi::Mpich => ["mpirun.mpich", "mpirun"],
            Mpi::OpenMpi => ["mpirun.openmpi", "mpirun"],
        }
    }

    /// The arguments that start `ranks` processes, more than cores if need be, and make waiting ranks give up
    /// their core. (MPICH has no such option: its peers preload yield.so.)
    pub fn launch_arguments(self, ranks: u32) -> Vec<String> {
        let mut arguments = vec!["-n".to_owned(), ranks.to_string()];
        if self == Mpi::OpenMpi {
            arguments.extend(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"].map(String::from));
            if geteuid().is_root() {
                arguments.push("--allow-run-as-root".to_owned());
            }
        }
        arguments
    }

    /// The arguments that set a variable for the program, and not for mpirun itself.
    pub fn variable(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Mpi::Mpich => vec!["-genv".to_owned(), name.to_owned(), value.to_owned()],
            Mpi::OpenMpi => vec!["-x".to_owned(), format!("{name}={value}")],
        }
    }
}

/// An MPI-IO implementation and how to have a program run under it.
#[derive(Debug, PartialEq, Eq)]
pub struct Peer {
    /// The name on the command line and in the tables.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The library that the program is built with.
    pub mpi: Mpi,
    /// Further arguments of mpirun.
    pub arguments: &'static [&'static str],
    /// Files of the MPI library's release directory to preload, in this order.
    pub preload: &'static [&'static str],
    /// Variables of the program.
    pub environment: &'static [(&'static str, &'static str)],
    /// MPI-IO hints that only this peer gets.
    pub hints: &'static [(&'static str, &'static str)],
    /// Whether tatpio is at work: it is then enabled, and its statistics are read.
    pub tatpio: bool,
}

/// A peer without anything special.
const PLAIN: Peer = Peer {
    name: "",
    about: "",
    mpi: Mpi::Mpich,
    arguments: &[],
    preload: &[],
    environment: &[],
    hints: &[],
    tatpio: false,
};

/// A peer as it is measured: tatpio may be, once with each of several assignments.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The peer.
    pub peer: &'static Peer,
    /// The value of tatpio's hint `tatpio_assign`; its default if none.
    pub assign: Option<String>,
}

impl Contender {
    /// Every peer, and those with tatpio once with each of the assignments, if there are any.
    pub fn all(peers: &[&'static Peer], assignments: &[String]) -> Vec<Contender> {
        let mut all = Vec::new();
        for &peer in peers {
            if peer.tatpio && !assignments.is_empty() {
                let with = |assign: &String| Contender { peer, assign: Some(assign.clone()) };
                all.extend(assignments.iter().map(with));
            } else {
                all.push(Contender { peer, assign: None });
            }
        }
        all
    }

    /// The name in the tables.
    pub fn name(&self) -> String {
        match &self.assign {
            Some(assign) => format!("{} {assign}", self.peer.name),
            None => self.peer.name.to_owned(),
        }
    }
}

/// All peers.
pub const PEERS: [Peer; 5] = [
    Peer { name: "romio", about: "the ROMIO inside MPICH", preload: &["yield.so"], ..PLAIN },
    Peer {
        name: "tatpio",
        about: "tatpio, preloaded, over MPICH",
        preload: &["libtatpio.so", "yield.so"],
        tatpio: true,
        ..PLAIN
    },
    Peer {
        name: "ompio",
        about: "Open MPI's own OMPIO",
        mpi: Mpi::OpenMpi,
        arguments: &["--mca", "io", "ompio"],
        ..PLAIN
    },
    Peer {
        name: "openmpi-romio",
        about: "the ROMIO inside Open MPI 4",
        mpi: Mpi::OpenMpi,
        arguments: &["--mca", "io", "romio321"],
        ..PLAIN
    },
    Peer {
        name: "openmpi-tatpio",
        about: "tatpio, preloaded, over Open MPI",
        mpi: Mpi::OpenMpi,
        preload: &["libtatpio.so"],
        tatpio: true,
        ..PLAIN
    },
];

/// The peer of a name.
///
/// Errors: there is none; the text lists all.
pub fn by_name(name: &str) -> Result<&'static Peer, String> {
    PEERS.iter().find(|peer| peer.name == name).ok_or_else(|| {
        let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
        format!("no peer is called {name:?}; there are {}", known.join(", "))
    })
}

/// One line a peer.
pub fn list() -> String {
    PEERS.iter().map(|peer| format!("{:<16}{}\n", peer.name, peer.about)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_multiply_tatpio() {
        let peers = [by_name("romio").unwrap(), by_name("tatpio").unwrap()];
        let names = |assignments: &[&str]| {
            let assignments: Vec<String> = assignments.iter().map(|&name| name.to_owned()).collect();
            Contender::all(&peers, &assignments).iter().map(Contender::name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["romio", "tatpio"]);
        assert_eq!(names(&["locality", "stripes"]), ["romio", "tatpio locality", "tatpio stripes"]);
    }

    #[test]
    fn names_are_unique() {
        for peer in &PEERS {
            assert_eq!(by_name(peer.name), Ok(peer));
        }
    }
}
