/* C kernels on the workers of Muster's pools: loops whose bodies are C, C++ or Rust.

   A C stub that OCaml calls (an ordinary external) calls one of these functions. That runs the body
   in parallel, and returns when all of it has ended:

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

   Rules for all functions below:

   Pool.    They use the current pool: that of the running task, else the default pool, which starts
            on first use. The calling thread is one of the workers.
   Bodies.  A body must not touch the OCaml heap, call OCaml, or raise (nor may a C++ exception or a
            Rust panic leave it). It must not wait for another call of itself. Slices of about 20 us
            or more run without OCaml's runtime lock, shorter ones may hold it. So ctx must not
            point into the OCaml heap; the data of bigarrays and the caller's stack are fine. See
            doc/limits.md, "Kernels and the runtime lock".
   Nesting. A body may call these functions. They then run the inner loop on the same worker.
   Raises.  Invalid_argument if fn is NULL or n is above Max_long; Out_of_memory; exceptions of
            signal handlers, such as Sys.Break, when all bodies that have started have ended. The
            exception passes the stub's C frames as that of caml_raise does, so no C++ destructor
            runs. The functions named _exn return the exception instead.
   Domains. Any thread that holds OCaml's runtime lock may call them, inside or outside a task, in a
            stub that is not [@@noalloc]. A thread without the lock ends the program with a message.
   Order.   Everything before the call happens before every body, every body before the return.
            Bodies are unordered.
   Cancels. A cancelled task raises Muster.Task.Cancelled at the call, before a slice and between
            chunks. A body is never interrupted. */

#ifndef MUSTER_H
#define MUSTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles the indices start to start + count - 1, on the worker of that number. count is at least
   1. */
typedef void (*muster_slice_fn)(void *ctx, size_t worker, size_t start, size_t count);

/* Handles one index. */
typedef void (*muster_index_fn)(void *ctx, size_t worker, size_t index);

/* Calls fn for slices of the indices 0 to n - 1, one for each worker. Their lengths differ by at
   most 1, and empty ones are left out. Worker numbers are less than muster_workers(). Within one
   call, two calls of fn with the same worker number never run at the same time. The caller also
   runs the slices of late workers.

   Cost: about 0.5 us on 2 cores while the pool is awake; 10 to 16 us more for each sleeping
   worker. */
void muster_for_slices(size_t n, muster_slice_fn fn, void *ctx);

/* Calls fn for each index from 0 to n - 1. Free workers take the indices in shrinking chunks. A
   loop that is too short to share stays with the caller, in the order of its indices.

   Cost: for a short loop, about 100 ns more than the loop in C. */
void muster_for_n_dynamic(size_t n, muster_index_fn fn, void *ctx);

/* The number of workers of the current pool, the caller included. It stays the same while the pool
   is open, also for the loops of this page. In a body: the workers that its own loops may use.

   Raises what starting the default pool raises. Cost: about 50 ns. */
size_t muster_workers(void);

/* The same, but an exception is the result instead of being raised. The result is a caml value, to
   be tested by Is_exception_result of caml/mlvalues.h. Clean up, then call
   caml_raise(Extract_exception(result)). Until then protect it as any value in the OCaml heap. */
intptr_t muster_for_slices_exn(size_t n, muster_slice_fn fn, void *ctx);
intptr_t muster_for_n_dynamic_exn(size_t n, muster_index_fn fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
