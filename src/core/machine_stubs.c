/* What the OCaml runtime does not offer: a thread's identity, a cheap clock, a
   yield that keeps the domain, and a sleep that a timeout or a wake ends.
   POSIX threads are everywhere that OCaml 5 runs (winpthreads on Windows). */

#define CAML_NAME_SPACE
#define CAML_INTERNALS /* Is_young, a domain's weak pointers and finalisers */
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/domain.h>
#include <caml/domain_state.h>
#include <caml/fail.h>
#include <caml/fiber.h>
#include <caml/finalise.h>
#include <caml/gc_ctrl.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
#include <caml/misc.h>
#include <caml/mlvalues.h>
#include <caml/roots.h>
#include <caml/shared_heap.h>
#include <caml/signals.h>
#include <caml/version.h>
#include <caml/weak.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* Identity of the calling system thread: a number that it draws when it is first asked for. To read a
   variable of its own takes no call of the system's library. (The variable's address would do for
   live threads; but the locks that a thread leaves behind would be those of the next one on its stack.) */
#if defined(__GLIBC__) /* has room for such a variable in a library that is loaded later, too */
#define AT_ONCE __attribute__((tls_model("initial-exec")))
#else
#define AT_ONCE
#endif
static __thread AT_ONCE intnat own_number = Val_long(0); /* its double, as an OCaml int; 0: not drawn yet */
static intnat numbers = 0; /* atomic */

static __attribute__((noinline)) value draw_number(void) {
  own_number = Val_long(2 * __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED));
  return Val_long(Long_val(own_number) >> 1);
}

value muster_thread_id(value unit) {
  (void)unit;
  return own_number != Val_long(0) ? Val_long(Long_val(own_number) >> 1) : draw_number();
}

/* The same, and whether the thread records backtraces, in one word. */
enum { RECORDS = 2 };

value muster_seal(value unit) {
  (void)unit;
  return own_number + (Caml_state->backtrace_active ? RECORDS : 0);
}

/* A compare-and-set for the thread of that seal, where the atomic is in the minor heap: no write to that needs a
   barrier. See Machine.claim. */
enum { REFUSED, YOUNG, OLD };

value muster_claim(value seal, value atomic, value from, value to) {
  if ((seal & ~(value)RECORDS) != own_number) return Val_int(REFUSED);
  if (!Is_young(atomic)) return Val_int(OLD);
  if (caml_domain_alone()) {
    if (Field(atomic, 0) != from) return Val_int(REFUSED);
    Field(atomic, 0) = to;
    return Val_int(YOUNG);
  }
  return __atomic_compare_exchange_n(&Field(atomic, 0), &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
             ? Val_int(YOUNG)
             : Val_int(REFUSED);
}

/* {2 Variables in the minor heap (young.ml)} */

/* A compaction moves blocks of up to 128 words (SIZECLASS_MAX), the minor heap has those of up to 256. */
enum { CELL_WORDS = 160 };

/* A new cell, which is young; the number that tells so as long as it is where it is now. Where C allocates, no signal's
   handler runs. */
value muster_renew(value variable, value v) {
  CAMLparam2(variable, v);
  value cell = caml_alloc_small(CELL_WORDS, 0);
  Field(cell, 0) = v;
  for (int i = 1; i < CELL_WORDS; i++) Field(cell, i) = Val_unit;
  caml_modify(&Field(variable, 0), cell);
  Field(variable, 1) = cell | Val_long(1);
  Field(variable, 2) += Val_long(1) - Val_long(0);
  CAMLreturn(Val_unit);
}

/* {2 Fences} */

value muster_fence(value unit) {
  (void)unit;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return Val_unit;
}

/* A fence in every thread of the process, by membarrier(2): to each of them its memory accesses look as if it had passed
   one at a moment while this call lasts. */
#if defined(__linux__) && defined(__NR_membarrier)
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 }; /* linux/membarrier.h */

value muster_can_fence_others(value unit) {
  (void)unit;
  return Val_bool(syscall(__NR_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0);
}

static int fence_others(void) { return syscall(__NR_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0; }

/* A child of fork(2) may have to register again. Where a filter of system calls that came later forbids it, there is
   time instead: a store leaves its buffer by itself, within a microsecond or so. */
value muster_fence_others(value unit) {
  static const struct timespec long_enough = {0, 100000};
  (void)unit;
  if (!fence_others() && !(Bool_val(muster_can_fence_others(Val_unit)) && fence_others()))
    nanosleep(&long_enough, NULL);
  return Val_unit;
}
#else
value muster_can_fence_others(value unit) { (void)unit; return Val_false; }
value muster_fence_others(value unit) { (void)unit; return Val_unit; }
#endif

/* The address of a closure's code, as a key for what is remembered of it. With several
   parameters the first field is a stub that all such closures share. */
value muster_code_of(value closure) {
  intnat arity = Arity_closinfo(Closinfo_val(closure)); /* 0 in bytecode, negative for a tuple */
  int several = arity != 0 && arity != 1;
  return Val_long((intnat)(((uintptr_t)Field(closure, several ? 2 : 0)) >> 1));
}

/* sched_yield without giving up the domain: it is called between two polls of
   a loop that looks for stop-the-world requests at every turn. */
value muster_yield(value unit) {
  (void)unit;
  sched_yield();
  return Val_unit;
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A clock that costs a few nanoseconds. Its unit differs from machine to
   machine: see muster_ticks_per_us. */
static inline int64_t ticks(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
  return (int64_t)(((uint64_t)high << 32) | low);
#elif defined(__aarch64__)
  uint64_t now;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(now));
  return (int64_t)now;
#else
  return nanoseconds();
#endif
}

intnat muster_ticks_untagged(value unit) {
  (void)unit;
  return (intnat)ticks();
}

value muster_ticks(value unit) { return Val_long(muster_ticks_untagged(unit)); }

/* Ticks per microsecond times 1024, found by watching both clocks for 50 us:
   counters of 24 MHz (Apple) need the fraction. */
value muster_ticks_per_us(value unit) {
  (void)unit;
  int64_t from = nanoseconds(), first = ticks(), now;
  do now = nanoseconds(); while (now - from < 50000);
  int64_t rate = (ticks() - first) * 1024 * 1000 / (now - from);
  return Val_long(rate > 0 ? rate : 1024);
}

/* A sleeper holds at most one wake-up token. */
struct sleeper {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int token; /* guarded by mutex */
};

#define Sleeper_val(v) (*(struct sleeper **)Data_custom_val(v))

static void sleeper_finalize(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_cond_destroy(&s->cond);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}

static struct custom_operations sleeper_ops = {
    "muster.sleeper",           sleeper_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

value muster_sleeper_create(value unit) {
  CAMLparam1(unit);
  CAMLlocal1(v);
  struct sleeper *s = malloc(sizeof *s);
  if (s == NULL) caml_raise_out_of_memory();
  pthread_mutex_init(&s->mutex, NULL);
#if defined(__APPLE__) || defined(_WIN32)
  pthread_cond_init(&s->cond, NULL);
#else
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&s->cond, &attr);
  pthread_condattr_destroy(&attr);
#endif
  s->token = 0;
  v = caml_alloc_custom(&sleeper_ops, sizeof s, 0, 1);
  Sleeper_val(v) = s;
  CAMLreturn(v);
}

static struct timespec deadline(intnat ms) {
  struct timespec at;
#if defined(__APPLE__) || defined(_WIN32)
  clock_gettime(CLOCK_REALTIME, &at);
#else
  clock_gettime(CLOCK_MONOTONIC, &at);
#endif
  at.tv_sec += ms / 1000;
  at.tv_nsec += (ms % 1000) * 1000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_sec += 1;
    at.tv_nsec -= 1000000000;
  }
  return at;
}

/* Sleep until there is a token, which is consumed, or for [ms] milliseconds
   (negative: no limit). Returns whether there was one. The domain is free for its other threads meanwhile. */
value muster_sleeper_sleep(value v, value ms) {
  CAMLparam1(v);
  struct sleeper *s = Sleeper_val(v);
  intnat limit = Long_val(ms);
  caml_enter_blocking_section();
  pthread_mutex_lock(&s->mutex);
  if (limit < 0) {
    while (!s->token) pthread_cond_wait(&s->cond, &s->mutex);
  } else {
    struct timespec at = deadline(limit);
    while (!s->token && pthread_cond_timedwait(&s->cond, &s->mutex, &at) == 0);
  }
  int woken = s->token;
  s->token = 0;
  pthread_mutex_unlock(&s->mutex);
  caml_leave_blocking_section();
  CAMLreturn(Val_bool(woken));
}

/* The same for a thread that has nothing to do: signals are left to those who have. */
value muster_sleeper_doze(value v, value ms) {
#if defined(_WIN32)
  return muster_sleeper_sleep(v, ms);
#else
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  value woken = muster_sleeper_sleep(v, ms);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return woken;
#endif
}

/* For an interrupt that struck a thread with nothing to interrupt: sends it again, to the
   others; this thread takes no more. False where nobody handles it. */
value muster_pass_interrupt_on(value unit) {
  (void)unit;
#if !defined(_WIN32)
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
      action.sa_handler != SIG_IGN) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    return Val_bool(kill(getpid(), SIGINT) == 0);
  }
#endif
  return Val_false;
}

/* For a thread that is about to end. A thread that it starts inherits that: hence the mask of who
   made the first pool, for new residents to take over. */
value muster_block_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
#endif
  return Val_unit;
}

#if !defined(_WIN32)
static sigset_t usual_mask;
static pthread_once_t usual_mask_read = PTHREAD_ONCE_INIT;
static void read_mask(void) { pthread_sigmask(SIG_BLOCK, NULL, &usual_mask); }
#endif

value muster_note_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  pthread_once(&usual_mask_read, read_mask);
#endif
  return Val_unit;
}

value muster_usual_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  pthread_sigmask(SIG_SETMASK, &usual_mask, NULL);
#endif
  return Val_unit;
}

/* The innermost call of OCaml by C on the calling thread: where its frame is. Native code keeps a
   list of them, bytecode that of its interpreter's. */
intnat muster_callback_untagged(value unit) {
  (void)unit;
  return (intnat)(((uintptr_t)Caml_state->c_stack + (uintptr_t)Caml_state->external_raise) >> 2);
}

value muster_callback(value unit) { return Val_long(muster_callback_untagged(unit)); }

/* A finaliser runs in one thread of the domain for which the runtime notes that one runs. That a
   thread has begun with some is not taken back if one raises. */
static __thread int finalises;
static caml_timing_hook next_finalise_begin, next_finalise_end;

static void begin_to_finalise(void) {
  finalises = 1;
  if (next_finalise_begin != NULL) next_finalise_begin();
}

static void end_to_finalise(void) {
  finalises = 0;
  if (next_finalise_end != NULL) next_finalise_end();
}

/* Called before there is a second domain. */
value muster_watch_finalisers(value unit) {
  (void)unit;
  next_finalise_begin = caml_finalise_begin_hook;
  next_finalise_end = caml_finalise_end_hook;
  caml_finalise_begin_hook = begin_to_finalise;
  caml_finalise_end_hook = end_to_finalise;
  return Val_unit;
}

/* What a thread blocks by itself: as it was when it first worked in a pool. It may have inherited that
   from one that started it within a handler. */
#if !defined(_WIN32)
static __thread sigset_t own_mask;
#endif
static __thread int own_noted;
static __thread intnat own_call; /* in which it came */

value muster_note_own_signals(value unit) {
  if (!own_noted) {
    own_noted = 1;
    own_call = muster_callback_untagged(unit);
#if !defined(_WIN32)
    pthread_sigmask(SIG_BLOCK, NULL, &own_mask);
#endif
  }
  return Val_unit;
}

/* How many handlers and finalisers the running code may be on top of. A handler runs with its signal
   blocked; a thread may have blocked one that somebody handles for other reasons. */
value muster_interruptions(value unit) {
  if (own_noted && own_call == muster_callback_untagged(unit)) return Val_long(0);
  int n = finalises && Caml_state->final_info->running_finalisation_function;
#if !defined(_WIN32)
  sigset_t blocked;
  struct sigaction action;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  for (int s = 1; s < NSIG; s++)
    if (sigismember(&blocked, s) == 1 && !(own_noted && sigismember(&own_mask, s) == 1) &&
        sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN)
      n++;
#endif
  return Val_long(n);
}

/* A domain that begins may take finalisers over from one that has ended, and call them at its first
   allocation, which is that of its domain-local storage: a finaliser, or a signal's handler, that asks
   for a key there (any call of this library, or Domain.DLS.get) reads from no array at all. So it finds
   one in which nothing is set, which is replaced when storage is set up. From OCaml 5.5 on the hook of a
   domain's beginning returns what was raised, and has another name. */
#if OCAML_VERSION < 50600
extern value caml_domain_dls_set(value storage);
static value unset;

static void give_storage(void) {
  if (Caml_state->dls_root != Val_unit) return;
  value storage = caml_alloc_shr_noexc(8, 0);
  if (storage == 0) return;
  for (int i = 0; i < 8; i++) caml_initialize(&Field(storage, i), unset);
  caml_domain_dls_set(storage);
}

#if OCAML_VERSION < 50500
extern void (*caml_domain_initialize_hook)(void);
static void (*usual_beginning)(void);

static void begin_with_storage(void) {
  usual_beginning();
  give_storage();
}
#else
#define caml_domain_initialize_hook caml_domain_initialize_hook_exn
extern value (*caml_domain_initialize_hook)(void);
static value (*usual_beginning)(void);

static value begin_with_storage(void) {
  value result = usual_beginning();
  give_storage();
  return result;
}
#endif

/* [none]: what stands for a value that is not set. Called before there is a second domain. */
value muster_give_storage(value none) {
  unset = none;
  caml_register_generational_global_root(&unset);
  usual_beginning = caml_domain_initialize_hook;
  caml_domain_initialize_hook = begin_with_storage;
  return Val_unit;
}
#endif

/* A new domain inherits its starter's mask. It takes signals before its storage is set up: where
   begin_with_storage does not serve, a handler that asks for storage would crash there. So ours start
   with signals blocked. */
#if !defined(_WIN32)
static __thread sigset_t held_mask;
static __thread int holds; /* a finaliser may start a domain in the midst of a start */
#endif

value muster_hold_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (holds++ == 0) held_mask = before;
#endif
  return Val_unit;
}

value muster_release_signals(value unit) {
  (void)unit;
#if !defined(_WIN32)
  if (--holds == 0) pthread_sigmask(SIG_SETMASK, &held_mask, NULL);
#endif
  return Val_unit;
}

/* Threads of one domain take turns: every 50 ms the systhreads library has the one that runs give way, through a hook of
   the runtime's. While a thread holds its turn that waits. */
static __thread int turns_held = 0;
static void (*usual_interrupt)(void) = NULL;

static void interrupt_unless_held(void) {
  if (turns_held == 0) usual_interrupt();
}

value muster_watch_turns(value unit) {
  (void)unit;
  usual_interrupt = caml_domain_external_interrupt_hook;
  caml_domain_external_interrupt_hook = interrupt_unless_held;
  return Val_unit;
}

value muster_hold_turn(value unit) {
  (void)unit;
  turns_held++;
  return Val_unit;
}

value muster_release_turn(value unit) {
  (void)unit;
  turns_held--;
  return Val_unit;
}

/* The mutex is let go first, or who wakes on another CPU has to wait for it at once. The sleeper is still there then: as
   long as this call does not return, no collection begins in its domain. */
value muster_sleeper_wake(value v) {
  struct sleeper *s = Sleeper_val(v);
  pthread_mutex_lock(&s->mutex);
  s->token = 1;
  pthread_mutex_unlock(&s->mutex);
  pthread_cond_signal(&s->cond);
  return Val_unit;
}

/* {2 What the machine does with our threads} */

/* CPU time of the calling thread, and of the process, in ns; -1 where there is no such clock. */
#if defined(CLOCK_THREAD_CPUTIME_ID) && defined(CLOCK_PROCESS_CPUTIME_ID)
static value cpu_time(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return Val_long(-1);
  return Val_long((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

value muster_thread_cpu(value unit) { (void)unit; return cpu_time(CLOCK_THREAD_CPUTIME_ID); }
value muster_process_cpu(value unit) { (void)unit; return cpu_time(CLOCK_PROCESS_CPUTIME_ID); }
#else
value muster_thread_cpu(value unit) { (void)unit; return Val_long(-1); }
value muster_process_cpu(value unit) { (void)unit; return Val_long(-1); }
#endif

value muster_collections(value unit) {
  (void)unit;
  return Val_long(atomic_load_explicit(&caml_minor_collections_count, memory_order_relaxed));
}

value muster_now(value unit) {
  (void)unit;
  return Val_long(nanoseconds());
}

#if defined(__linux__)
/* The field of a one-line file in /proc, counted from 0; -1 if it can't be read. */
static intnat proc_field(const char *path, int field) {
  char text[128];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return -1;
  text[length] = 0;
  char *at = text;
  while (field-- > 0) {
    at = strchr(at, ' ');
    if (at == NULL) return -1;
    at++;
  }
  return (intnat)strtoll(at, NULL, 10);
}
#endif

/* How long the calling thread has waited for a CPU while it could have run, in ns: the second
   field of schedstat (kernel documentation, sched-stats). -1: unknown here. */
value muster_run_queue_wait(value unit) {
  (void)unit;
#if defined(__linux__)
  return Val_long(proc_field("/proc/thread-self/schedstat", 1));
#else
  return Val_long(-1);
#endif
}

/* Threads of the whole machine that run or could: the fourth field of loadavg, proc(5). */
value muster_runnable(value unit) {
  (void)unit;
#if defined(__linux__)
  return Val_long(proc_field("/proc/loadavg", 3));
#else
  return Val_long(-1);
#endif
}

value muster_online_cpus(value unit) {
  (void)unit;
#if defined(_SC_NPROCESSORS_ONLN)
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 0) return Val_long(online);
#endif
  return Val_long(-1);
}

/* Bytes of second-level cache a CPU has; 0 where the system does not say. */
value muster_second_level_cache(value unit) {
  (void)unit;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return Val_long(bytes);
#endif
  return Val_long(0);
}

/* Bytes that the process may still ask for where its address space is bounded (ulimit -v); else -1. */
value muster_address_space(value unit) {
  (void)unit;
#if !defined(_WIN32) && defined(RLIMIT_AS)
  struct rlimit bound;
  if (getrlimit(RLIMIT_AS, &bound) != 0 || bound.rlim_cur == RLIM_INFINITY) return Val_long(-1);
  unsigned long long used = 0;
  FILE *file = fopen("/proc/self/statm", "re"); /* in pages; its first field is all */
  if (file != NULL) {
    if (fscanf(file, "%llu", &used) != 1) used = 0;
    fclose(file);
  }
  used *= (unsigned long long)sysconf(_SC_PAGESIZE);
  return Val_long(bound.rlim_cur > used ? (intnat)(bound.rlim_cur - used) : 0);
#else
  return Val_long(-1);
#endif
}

/* A program that forks in place for seconds never enters the scheduler. But it allocates, so
   every minor collection asks whether it is time for the domain's worker to look up: then the
   worker's first word (quiet) is cleared, which sends its next fork to the scheduler, and
   its second, an atomic, is set to tell why. Both are immediate before and after, so the
   collector need not hear of it; relaxed, as the worker only ever looks a little later.

   The hook runs while other domains may still be promoting: what it finds in domain-local
   storage may be a block in the making. So it only touches what the hook of the domain's previous
   collection has found at the same address of the major heap, which is complete by now: for a block to be
   freed after that, and another to be made there, the domain's storage has to let go of it, which darkens
   it, and a major cycle to begin and end, whose collections find something else here. A compaction
   gives addresses back at once, so what was found before one is forgotten. What was found is the domain's, not the thread's:
   while a domain sleeps the runtime's own thread collects for it, and the address that another
   thread remembers is older than that. Others' hooks are kept.

   The same hook counts collections and the time from begin hook to end hook in the worker's third
   and fourth word, atomics too. That is the domain's share of the copying. The runtime has no hook
   around its barriers, one before the begin hook and one after the end hook, so how long domains
   wait for each other there is not known. Only the domain's collector writes these words, be it
   the worker's thread or the one that the runtime lends to a domain that sleeps. (Where threads of
   several domains share a worker, that of who has none, counts may get lost.)

   Several domains may make their first pool at once: who changes [hooked] sets the hooks. Another
   domain may find them before all else is set, as it loads them relaxed and may still be in the
   end hook of the collection before. So [look_index] is set last, with release, and tells that
   [look_every] is there; the next hooks are atomic themselves. The end hook may also run beside
   the domain that promotes the roots of all, [dls_root] too. */

static int hooked = 0;      /* atomic */
static int look_index = -1; /* atomic */
static int64_t look_every;
static caml_timing_hook next_hook = NULL, next_begin_hook = NULL; /* atomic */

static void call(caml_timing_hook *next) {
  caml_timing_hook hook = __atomic_load_n(next, __ATOMIC_RELAXED);
  if (hook != NULL) hook();
}

#define MOST_DOMAINS 4096 /* the runtime's own bound; 128 by default. Lines that no domain touches take no memory. */

static struct last_look {
  int64_t at;
  value locals, worker; /* as of the last collection; never followed */
  int64_t begun;        /* this collection */
  uintnat compactions;  /* before the last collection */
  int domain;           /* the one whose turn it is at this index */
} last_looks[MOST_DOMAINS] __attribute__((aligned(64)));

static struct last_look *my_last_look(void) {
  int index = Caml_state->id, domain = Caml_state->unique_id;
  if (index < 0 || index >= MOST_DOMAINS) return NULL;
  struct last_look *last = &last_looks[index];
  if (last->domain != domain) {
    last->domain = domain;
    last->at = 0;
    last->locals = last->worker = Val_unit;
  }
  return last;
}

static int is_old(value v) { return Is_block(v) && !Is_young(v); }

static void remind(value worker) {
  value look = Field(worker, 1);
  if (!is_old(look)) return;
  __atomic_store_n(&Field(look, 0), Val_long(1), __ATOMIC_RELAXED);
  __atomic_store_n(&Field(worker, 0), Val_long(0), __ATOMIC_RELAXED);
}

static void add(value cell, int64_t n) {
  if (!is_old(cell)) return;
  value before = __atomic_load_n(&Field(cell, 0), __ATOMIC_RELAXED);
  __atomic_store_n(&Field(cell, 0), Val_long(Long_val(before) + n), __ATOMIC_RELAXED);
}

static void begin(void) {
  call(&next_begin_hook);
  struct last_look *last = my_last_look();
  if (last != NULL) last->begun = ticks();
}

static void look_at_worker(struct last_look *last) {
  int64_t now = ticks();
  int index = __atomic_load_n(&look_index, __ATOMIC_ACQUIRE);
  uintnat compactions = atomic_load_explicit(&caml_compactions_count, memory_order_relaxed);
  if (last->compactions != compactions) {
    last->compactions = compactions;
    last->locals = last->worker = Val_unit;
  }
  value locals = __atomic_load_n(&Caml_state->dls_root, __ATOMIC_RELAXED), worker = Val_unit;
  if (index >= 0 && is_old(locals) && locals == last->locals &&
      (mlsize_t)index < Wosize_val(locals))
    worker = Field(locals, index);
  if (is_old(worker) && worker == last->worker && Wosize_val(worker) > 3) {
    add(Field(worker, 2), 1);
    add(Field(worker, 3), now - last->begun);
    if (now - last->at > look_every) {
      last->at = now;
      remind(worker);
    }
  }
  last->locals = is_old(locals) ? locals : Val_unit;
  last->worker = is_old(worker) ? worker : Val_unit;
}

static void look_up(void) {
  struct last_look *last = my_last_look();
  if (last != NULL) look_at_worker(last);
  call(&next_hook);
}

/* [index]: where domain-local storage keeps the domain's worker, -1 if that is not known. */
value muster_look_up_every(value index, value every) {
  if (Long_val(index) >= 0 && !__atomic_exchange_n(&hooked, 1, __ATOMIC_RELAXED)) {
    look_every = Long_val(every);
    __atomic_store_n(&next_hook, caml_minor_gc_end_hook, __ATOMIC_RELAXED);
    __atomic_store_n(&next_begin_hook, caml_minor_gc_begin_hook, __ATOMIC_RELAXED);
    caml_minor_gc_begin_hook = begin;
    caml_minor_gc_end_hook = look_up;
    __atomic_store_n(&look_index, (int)Long_val(index), __ATOMIC_RELEASE);
  }
  return Val_unit;
}

/* The systhreads of a domain are known to their library alone, which shows them to the collector: the
   descriptor of each is a root. Its third field is a custom block of theirs. */
static void count_thread(void *threads, value root, volatile value *at) {
  (void)at;
  if (root == 0 || !Is_block(root) || Tag_val(root) != 0 || Wosize_val(root) < 3) return;
  value status = Field(root, 2);
  if (status != 0 && Is_block(status) && Tag_val(status) == Custom_tag &&
      strcmp(Custom_ops_val(status)->identifier, "_threadstatus") == 0)
    ++*(intnat *)threads;
}

/* Whether the calling domain has threads beside this one. It reads their stacks, too. */
static int has_other_threads(void) {
  scan_roots_hook show = atomic_load(&caml_scan_roots_hook);
  intnat threads = 0;
  if (show != NULL) show(count_thread, 0, &threads, Caml_state);
  return threads > 1;
}

/* Whether the calling domain owns weak pointers, ephemerons or finalised values, or has other threads. When
   a domain ends, what it owns passes to another: before OCaml 5.5 weak ones without being cleaned, and then
   they dangle (ocaml/ocaml 14718 and others); for finalisers the end forces a major cycle. For threads its end
   waits, for ever maybe: it would do nothing, and still be one of the runtime's domains. */
value muster_domain_must_stay(value unit) {
  (void)unit;
  struct caml_ephe_info *weak = Caml_state->ephe_info;
  struct caml_final_info *finalised = Caml_state->final_info;
  return Val_bool(weak->todo != 0 || weak->live != 0 || finalised->first.young > 0 ||
                  finalised->last.young > 0 || finalised->todo_head != NULL ||
                  has_other_threads());
}

/* A domain keeps the stacks of fibers that have ended, in a list for each of five sizes (0.5 to 8 KB).
   Up to OCaml 5.4 these lists have no bound, so they grow where more fibers end than begin; and all of
   them are lost when the domain ends. So all but [keep] of each are freed here, as the runtime frees
   a stack of no size class. (ocaml/ocaml 14940 mends both in 5.5.)

   Only who has the domain's lock touches the lists: its thread here, which does not poll meanwhile,
   and at other times the backup thread that sweeps for it. The stacks in use are in none.
   Only for releases whose sources were compared: not for older or newer ones, nor for pre-releases. */
value muster_free_stacks(value keep) {
  (void)keep;
#if OCAML_VERSION >= 50300 && OCAML_VERSION <= 50401
  if (sizeof OCAML_VERSION_STRING != sizeof "5.4.1") return Val_unit;
  for (int size = 0; size < 5; size++) {
    struct stack_info *last = NULL, *stack = Caml_state->stack_cache[size];
    for (intnat n = Long_val(keep); n > 0 && stack != NULL; n--) {
      last = stack;
      stack = (struct stack_info *)stack->exception_ptr;
    }
    if (last != NULL) last->exception_ptr = NULL;
    else Caml_state->stack_cache[size] = NULL;
    while (stack != NULL) {
      struct stack_info *next = (struct stack_info *)stack->exception_ptr;
      stack->cache_bucket = -1;
      caml_free_stack(stack);
      stack = next;
    }
  }
#endif
  return Val_unit;
}

/* The part of Gc.set that is the calling domain's own. All else that Gc.set takes is the program's, such as
   the limit of stacks: to read it and write it back would undo what another domain sets between the two. */
value muster_set_minor_heap(value words) {
  uintnat wanted = caml_norm_minor_heap_size(Long_val(words));
  if (wanted > caml_minor_heap_max_wsz) caml_update_minor_heap_max(wanted);
  if (wanted != Caml_state->minor_heap_wsz) caml_set_minor_heap_size(wanted);
  return Val_unit;
}

/* {2 Canaries}: a block whose death somebody else can see. Both hold a count on the cell; a
   block's finaliser runs when the collector has found it unreachable. */

struct cell {
  int holders; /* atomic */
  int dead;    /* atomic */
};

#define Cell_val(v) (*(struct cell **)Data_custom_val(v))

static void let_go(struct cell *cell) {
  if (__atomic_sub_fetch(&cell->holders, 1, __ATOMIC_ACQ_REL) == 0) free(cell);
}

static void canary_finalize(value v) {
  __atomic_store_n(&Cell_val(v)->dead, 1, __ATOMIC_RELEASE);
  let_go(Cell_val(v));
}

static void watch_finalize(value v) { let_go(Cell_val(v)); }

static struct custom_operations canary_ops = {
    "muster.canary",            canary_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

static struct custom_operations watch_ops = {
    "muster.watch",             watch_finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

/* A pair of the two. */
value muster_canary_create(value unit) {
  CAMLparam1(unit);
  CAMLlocal3(canary, watch, pair);
  struct cell *cell = malloc(sizeof *cell);
  if (cell == NULL) caml_raise_out_of_memory();
  cell->holders = 0;
  cell->dead = 0;
  canary = caml_alloc_custom(&canary_ops, sizeof cell, 0, 1);
  Cell_val(canary) = cell;
  cell->holders = 1;
  watch = caml_alloc_custom(&watch_ops, sizeof cell, 0, 1);
  Cell_val(watch) = cell;
  cell->holders = 2;
  pair = caml_alloc_small(2, 0);
  Field(pair, 0) = canary;
  Field(pair, 1) = watch;
  CAMLreturn(pair);
}

value muster_canary_is_dead(value watch) {
  return Val_bool(__atomic_load_n(&Cell_val(watch)->dead, __ATOMIC_ACQUIRE));
}
