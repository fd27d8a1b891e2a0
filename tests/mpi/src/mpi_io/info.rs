//! Info objects.

use super::{c_string, check, text_of};
use pmpi_sys::{self as ffi, consts};

/// Hints.
pub struct Info(pub(super) ffi::MPI_Info);

impl Info {
    /// MPI_INFO_NULL.
    pub fn null() -> Info {
        Info(consts::info_null())
    }

    /// These keys and values. Local.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> Info {
        let mut raw = consts::info_null();
        // SAFETY: a place for one handle.
        check(unsafe { ffi::PMPI_Info_create(&raw mut raw) }, "MPI_Info_create")
            .expect("memory for an info object");
        for (key, value) in pairs {
            let (key, value) = (c_string(key.as_ref()), c_string(value.as_ref()));
            // SAFETY: a live handle; both strings end in zero and outlive the call.
            check(unsafe { ffi::PMPI_Info_set(raw, key.as_ptr(), value.as_ptr()) }, "MPI_Info_set")
                .expect("keys and values are short");
        }
        Info(raw)
    }

    /// The value of a key. Local.
    pub fn get(&self, key: &str) -> Option<String> {
        let (mut value, mut found) = ([0; ffi::MPI_MAX_INFO_VAL as usize + 1], 0);
        let key = c_string(key);
        // SAFETY: a live handle; the key ends in zero; the value has the announced room and a final zero.
        let code = unsafe {
            ffi::PMPI_Info_get(
                self.0,
                key.as_ptr(),
                ffi::MPI_MAX_INFO_VAL,
                value.as_mut_ptr(),
                &raw mut found,
            )
        };
        check(code, "MPI_Info_get").expect("a live info object");
        (found != 0).then(|| text_of(&value))
    }

    /// All keys. Local.
    pub fn keys(&self) -> Vec<String> {
        let mut count = 0;
        // SAFETY: a live handle; a place for one int.
        check(unsafe { ffi::PMPI_Info_get_nkeys(self.0, &raw mut count) }, "MPI_Info_get_nkeys")
            .expect("live");
        let nth = |index| {
            let mut key = [0; ffi::MPI_MAX_INFO_KEY as usize + 1];
            // SAFETY: a live handle; the key has room for MPI_MAX_INFO_KEY characters and a final zero.
            let code = unsafe { ffi::PMPI_Info_get_nthkey(self.0, index, key.as_mut_ptr()) };
            check(code, "MPI_Info_get_nthkey").expect("below the number of keys");
            text_of(&key)
        };
        (0..count).map(nth).collect()
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        if self.0 != consts::info_null() {
            // SAFETY: our own handle, freed once.
            check(unsafe { ffi::PMPI_Info_free(&raw mut self.0) }, "MPI_Info_free").expect("freed once");
        }
    }
}
