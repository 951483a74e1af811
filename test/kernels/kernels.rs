//! muster.h from Rust: its declarations, and stubs that OCaml calls.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

type SliceFn = extern "C" fn(ctx: *mut c_void, worker: usize, start: usize, count: usize);
type IndexFn = extern "C" fn(ctx: *mut c_void, worker: usize, index: usize);

extern "C" {
    fn muster_for_slices(n: usize, body: Option<SliceFn>, ctx: *mut c_void);
    fn muster_for_n_dynamic(n: usize, body: Option<IndexFn>, ctx: *mut c_void);
    fn muster_for_slices_exn(n: usize, body: Option<SliceFn>, ctx: *mut c_void) -> isize;
    fn muster_workers() -> usize;
}

extern "C" fn add(ctx: *mut c_void, _worker: usize, start: usize, count: usize) {
    let sum = unsafe { &*(ctx as *const AtomicUsize) };
    sum.fetch_add((start..start + count).sum(), Ordering::Relaxed);
}

extern "C" fn count_one(ctx: *mut c_void, _worker: usize, _index: usize) {
    let count = unsafe { &*(ctx as *const AtomicUsize) };
    count.fetch_add(1, Ordering::Relaxed);
}

fn context(cell: &AtomicUsize) -> *mut c_void {
    cell as *const AtomicUsize as *mut c_void
}

// OCaml passes and takes integers as they are: [@untagged].

#[no_mangle]
pub extern "C" fn rust_sum_to(n: isize) -> isize {
    let sum = AtomicUsize::new(0);
    unsafe { muster_for_slices(n as usize, Some(add), context(&sum)) };
    sum.into_inner() as isize
}

#[no_mangle]
pub extern "C" fn rust_count_dynamic(n: isize) -> isize {
    let count = AtomicUsize::new(0);
    unsafe { muster_for_n_dynamic(n as usize, Some(count_one), context(&count)) };
    count.into_inner() as isize
}

#[no_mangle]
pub extern "C" fn rust_workers(_unit: isize) -> isize {
    unsafe { muster_workers() as isize }
}

/// Whether it is the result that means an exception.
#[no_mangle]
pub extern "C" fn rust_fails(_unit: isize) -> isize {
    let result = unsafe { muster_for_slices_exn(1, None, std::ptr::null_mut()) };
    (result & 3 == 2) as isize
}
