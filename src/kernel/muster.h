/* C kernels on the workers of Muster's pools: loops whose bodies are C, C++ or Rust.

   A stub that OCaml calls (an ordinary external) calls one of these functions, which runs the body
   in parallel and returns when all of it has ended:

     static void scale(void *ctx, size_t worker, size_t start, size_t count) {
       double *a = ctx;
       for (size_t i = start; i < start + count; i++) a[i] *= 2;
     }

     value scale_all(value bigarray) {
       CAMLparam1(bigarray);
       struct caml_ba_array *a = Caml_ba_array_val(bigarray);
       muster_for_slices((size_t)a->dim[0], scale, a->data);
       CAMLreturn(Val_unit);
     }

   Link the OCaml library muster, and add (include_dirs (lib muster.kernel)) to the stubs' stanza.

   What holds for all of them:

   Pool.    They act on the current pool: that of the running task, else the default pool, which
            starts on first use. The calling thread is one of the workers.
   Domains. To be called by any thread that holds OCaml's runtime lock, in or outside of a task, in
            a stub that is not [@@noalloc]. A thread without the lock ends the program with a message.
   Bodies.  A body must not touch the OCaml heap nor call OCaml, must not raise (a C++ exception
            or an unwinding panic may not leave it), and must not wait for another call of
            itself. Its domain may or may not hold the runtime lock: slices of 20 us or more run
            without, so that they keep no minor collection waiting. (How long one takes is told by
            what the same fn took before: where ctx makes it much slower than that, or one fn
            serves for different kernels, it may hold the lock to its end.) So ctx must not point into the
            OCaml heap; bigarrays' data is outside of it. What is in ctx may lie on the caller's stack:
            nothing of the call goes on after its end, however it ends.
   Nesting. A body may call these functions, too: they run the inner loop at once, on the same worker.
   Order.   What the caller did before happens before every body, every body before the return.
            Bodies are unordered among each other.
   Raises.  Invalid_argument if fn is NULL or n is above Max_long; Out_of_memory; and an exception of
            OCaml's that strikes the caller meanwhile (Sys.Break of Ctrl-C, one that a signal handler
            raises). It comes out when all that was begun has ended; some of the loop may then not
            have been done. The plain functions raise as caml_raise does, past the stub's C frames:
            C++ destructors do not run. The others, named _exn, return it.
   Cancels. In a cancelled task: at the call, before a slice and between chunks; a body is never
            interrupted. Then the exception is Muster.Task.Cancelled. */

#ifndef MUSTER_H
#define MUSTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The indices start to start + count - 1, by the worker of that number; count is at least 1. */
typedef void (*muster_slice_fn)(void *ctx, size_t worker, size_t start, size_t count);

/* One index. */
typedef void (*muster_index_fn)(void *ctx, size_t worker, size_t index);

/* Calls fn for the indices 0 to n - 1 in as many slices as there are workers, whose lengths differ by
   at most 1; empty ones are left out. Two calls with one worker number never run at the same
   time within one call of this, and the number is less than muster_workers(). The caller takes
   over the slice of a worker that has not begun when its own is done.

   Cost: that of Team.for_slices, about 0.5 us on 2 cores for a pool that was busy less than 60 us ago;
   10-16 us more for each worker that sleeps. */
void muster_for_slices(size_t n, muster_slice_fn fn, void *ctx);

/* The same with the indices shared out as workers get free, in shrinking chunks; fn is called for
   each index, by C. A loop so short that sharing would gain nothing stays with the caller, in
   index order. Cost: that of Team.for_n_dynamic. */
void muster_for_n_dynamic(size_t n, muster_index_fn fn, void *ctx);

/* The workers of the current pool, the caller included: worker numbers are below it, whatever happens
   to the pool. It does not change while the pool is open: where the process may use more CPUs later
   on, loops of this page keep to the number that was first asked for; outside of all pools also where
   the default pool is closed and another takes its place. In a body: the workers that its loop may use.
   Raises what starting the default pool raises. Cost: about 50 ns. */
size_t muster_workers(void);

/* The same, but an exception is returned and not raised: the result is a caml value, for which
   Is_exception_result of caml/mlvalues.h holds if there was one; caml_raise(Extract_exception(it))
   raises it, when everything is cleaned up. Until then it is to be protected as any value is: it lies
   in the OCaml heap. */
intptr_t muster_for_slices_exn(size_t n, muster_slice_fn fn, void *ctx);
intptr_t muster_for_n_dynamic_exn(size_t n, muster_index_fn fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
