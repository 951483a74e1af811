/* Canaries: blocks whose death is told. */

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/mlvalues.h>
#include <pthread.h>
#include <stdlib.h>

struct death {
  struct death *next;
  value number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct death *deaths = NULL; /* written under the lock */

#define Death_val(v) (*(struct death **)Data_custom_val(v))

static void finalize(value canary) {
  struct death *death = Death_val(canary);
  pthread_mutex_lock(&lock);
  death->next = deaths;
  __atomic_store_n(&deaths, death, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
}

static struct custom_operations operations = {
    "muster.canary",            finalize,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

value muster_canary_create(value number) {
  struct death *death = malloc(sizeof *death);
  if (death == NULL) caml_raise_out_of_memory();
  death->number = number;
  value canary = caml_alloc_custom(&operations, sizeof death, 0, 1);
  Death_val(canary) = death;
  return canary;
}

value muster_canary_next_death(value unit) {
  if (__atomic_load_n(&deaths, __ATOMIC_RELAXED) == NULL) return Val_long(-1);
  pthread_mutex_lock(&lock);
  struct death *death = deaths;
  if (death != NULL) __atomic_store_n(&deaths, death->next, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
  value number = death != NULL ? death->number : Val_long(-1);
  free(death);
  return number;
}
