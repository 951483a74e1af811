/* What tells the tasks of one function from others, and which functions keep to themselves: see habit.mli. Everything
   here is a hint: threads read and write it without any order. */

#define CAML_NAME_SPACE
#define CAML_INTERNALS /* which closures are never moved */
#include <caml/mlvalues.h>
#include <caml/shared_heap.h>
#include <stdint.h>

#define LOAD(variable) __atomic_load_n(&(variable), __ATOMIC_RELAXED)
#define STORE(variable, v) __atomic_store_n(&(variable), v, __ATOMIC_RELAXED)

/* {2 Keys}

   The addresses of the closure's code and of the code of those that it holds, as one does that calls another, or a partial
   application. Closures may hold each other, so it looks at so many values that are held. One of several functions that are
   defined together (an infix) holds what all of them do, and is told by its code alone. */
enum { LOOKS = 8 };
static const uintnat golden = (uintnat)0x9E3779B97F4A7C15; /* Knuth 3, 6.4 */

static int is_closure(value v) { return Is_block(v) && (Tag_val(v) == Closure_tag || Tag_val(v) == Infix_tag); }

extern value muster_code_of(value closure); /* layout.c */

static uintnat key_of(value closure, int *looks) {
  uintnat key = (uintnat)Long_val(muster_code_of(closure)) * golden;
  if (Tag_val(closure) == Closure_tag)
    for (mlsize_t i = Start_env_closinfo(Closinfo_val(closure)); i < Wosize_val(closure) && (*looks)-- > 0; i++)
      if (is_closure(Field(closure, i))) key = (key ^ (key_of(Field(closure, i), looks) >> 7)) * golden;
  return key;
}

/* Mostly a closure holds no other, or one that the compiler has made (a function of a module, say: it holds nothing and is
   never moved). Their keys are remembered by their code: where such a one is held, if anywhere, and which it was. As all closures with
   that code have one layout, [held_at] is within them. */
struct memo {
  uintnat code_and_held_at; /* one word, as [held_at] is of use for that code alone */
  value held;
  uintnat key;
};

enum { MEMOS = 256, AT_BITS = 8, ALIGNMENT = 16 };
static struct memo memos[MEMOS];

static void remember(struct memo *memo, value closure, uintnat key) {
  mlsize_t size = Wosize_val(closure), held_at = 0;
  if (Tag_val(closure) != Closure_tag || size >> AT_BITS != 0 || Field(closure, 0) % ALIGNMENT != 0) return;
  for (mlsize_t i = Start_env_closinfo(Closinfo_val(closure)); i < size; i++) {
    value v = Field(closure, i);
    if (!is_closure(v)) continue;
    if (held_at != 0 || !Has_status_hd(Hd_val(v), NOT_MARKABLE)) return;
    held_at = i;
  }
  STORE(memo->held, held_at == 0 ? Val_unit : Field(closure, held_at));
  STORE(memo->key, key);
  STORE(memo->code_and_held_at, ((uintnat)Field(closure, 0) / ALIGNMENT) << AT_BITS | held_at);
}

static __attribute__((noinline)) uintnat work_out(struct memo *memo, value closure) {
  int looks = LOOKS;
  uintnat key = key_of(closure, &looks) >> 2 | 1;
  remember(memo, closure, key);
  return key;
}

static inline uintnat key(value closure) {
  uintnat code = (uintnat)Field(closure, 0) / ALIGNMENT;
  struct memo *memo = &memos[code % MEMOS];
  uintnat known = LOAD(memo->code_and_held_at), held_at = known & ((1 << AT_BITS) - 1);
  if (known >> AT_BITS == code && (held_at == 0 || Field(closure, held_at) == LOAD(memo->held))) return LOAD(memo->key);
  return work_out(memo, closure);
}

value muster_habit_key(value closure) { return Val_long(key(closure)); }

/* {2 What is known}

   Direct-mapped tables of the functions that have kept to themselves [ENOUGH] times in a row, and of those that have begun to.
   One that is overwritten is forgotten, and has to show itself again. */
enum { CELLS = 1024, ENOUGH = 64 };
static uintnat cells[CELLS];
static struct trial { uintnat key, times; } trials[CELLS];

static uintnat cell_of(uintnat key) { return (key >> 1) % CELLS; }
static int is_good(uintnat key) { return LOAD(cells[cell_of(key)]) == key; }

value muster_habit_is_good(value key) { return Val_bool(is_good(Long_val(key))); }

value muster_habit_seems_good(value key) {
  uintnat its_key = Long_val(key);
  struct trial *trial = &trials[cell_of(its_key)];
  return Val_bool(is_good(its_key) || (LOAD(trial->key) == its_key && LOAD(trial->times) > 0));
}

value muster_habit_find(value closure) {
  uintnat its_key = key(closure);
  return Val_long(is_good(its_key) ? (intnat)its_key : -1); /* Habit.other */
}

/* What is good already is not written to again, since the tables are shared. */
value muster_habit_note(value key) {
  uintnat its_key = Long_val(key);
  struct trial *trial = &trials[cell_of(its_key)];
  if (is_good(its_key)) return Val_unit;
  uintnat times = LOAD(trial->key) == its_key ? LOAD(trial->times) + 1 : 1;
  STORE(trial->key, its_key);
  STORE(trial->times, times);
  if (times >= ENOUGH) STORE(cells[cell_of(its_key)], its_key);
  return Val_unit;
}

value muster_habit_forget(value key) {
  uintnat its_key = Long_val(key);
  struct trial *trial = &trials[cell_of(its_key)];
  if (LOAD(trial->key) == its_key) STORE(trial->times, 0);
  if (is_good(its_key)) STORE(cells[cell_of(its_key)], 0);
  return Val_unit;
}
