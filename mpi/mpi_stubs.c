/* MPI's calls, as [Link] declares them. All but the shortest let go of the domain while they wait:
   what they send and receive lies outside of OCaml's heap, or in blocks of it that the collector
   never moves (large ones of the major heap). */

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/intext.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#ifdef __linux__
#include <sys/mman.h>
#include <sys/prctl.h>
#endif

/* A communicator of our own: the program's messages, if it has any, are not ours. */
static MPI_Comm comm = MPI_COMM_NULL;
static int rank = 0, ranks = 1;

static void *checked(void *p) {
  if (p == NULL) caml_raise_out_of_memory();
  return p;
}

value muster_mpi_start(value wanted) {
  CAMLparam1(wanted);
  int provided = MPI_THREAD_SINGLE, level = Int_val(wanted), started;
  caml_enter_blocking_section();
  MPI_Initialized(&started);
  if (started) MPI_Query_thread(&provided);
  else MPI_Init_thread(NULL, NULL, level, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  caml_leave_blocking_section();
  CAMLreturn(Val_int(provided));
}

value muster_mpi_stop(value unit) {
  caml_enter_blocking_section();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  caml_leave_blocking_section();
  return unit;
}

value muster_mpi_abort(value code) {
  MPI_Abort(MPI_COMM_WORLD, Int_val(code));
  return Val_unit;
}

/* Levels in MPI's order; their numbers are the implementation's. */
value muster_mpi_level(value name) {
  switch (Int_val(name)) {
  case 0: return Val_int(MPI_THREAD_SINGLE);
  case 1: return Val_int(MPI_THREAD_FUNNELED);
  case 2: return Val_int(MPI_THREAD_SERIALIZED);
  default: return Val_int(MPI_THREAD_MULTIPLE);
  }
}

value muster_mpi_rank(value unit) { (void)unit; return Val_int(rank); }
value muster_mpi_ranks(value unit) { (void)unit; return Val_int(ranks); }

/* A sleep of 20 us lasts 70 with the usual slack of Linux's timers. */
value muster_mpi_wake_exactly(value unit) {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
#endif
  return unit;
}

/* ---- Packets: a value's bytes outside of the heap, in whole words ---- */

struct packet {
  size_t words;
  char *data;
};

#define Packet_val(v) ((struct packet *)Data_custom_val(v))

static void free_packet(value v) { free(Packet_val(v)->data); }

static struct custom_operations packet_operations = {
    "muster.mpi.packet", free_packet, custom_compare_default, custom_hash_default,
    custom_serialize_default, custom_deserialize_default, custom_compare_ext_default,
    custom_fixed_length_default};

/* Owns [data] from now on. */
static value new_packet(char *data, size_t words) {
  value v = caml_alloc_custom_mem(&packet_operations, sizeof(struct packet), words * 8);
  Packet_val(v)->words = words;
  Packet_val(v)->data = data;
  return v;
}

value muster_mpi_encode(value v, value flags) {
  CAMLparam2(v, flags);
  char *data;
  intnat length;
  caml_output_value_to_malloc(v, flags, &data, &length);
  size_t words = (length + 7) / 8;
  char *whole = realloc(data, words * 8);
  if (whole == NULL) {
    free(data);
    caml_raise_out_of_memory();
  }
  memset(whole + length, 0, words * 8 - length);
  CAMLreturn(new_packet(whole, words));
}

value muster_mpi_words(value packet) { return Val_long(Packet_val(packet)->words); }

value muster_mpi_decode(value packet, value word) {
  CAMLparam2(packet, word);
  struct packet *p = Packet_val(packet);
  size_t from = Long_val(word);
  CAMLreturn(caml_input_value_from_block(p->data + from * 8, (p->words - from) * 8));
}

/* ---- Collectives ---- */

/* Each rank's slot, in the order of ranks. */
value muster_mpi_exchange(value slot) {
  CAMLparam1(slot);
  CAMLlocal1(all);
  size_t length = caml_string_length(slot);
  char *mine = checked(malloc(length * (ranks + 1)));
  char *others = mine + length;
  memcpy(mine, Bytes_val(slot), length);
  caml_enter_blocking_section();
  MPI_Allgather(mine, (int)length, MPI_BYTE, others, (int)length, MPI_BYTE, comm);
  caml_leave_blocking_section();
  all = caml_alloc_string(length * ranks);
  memcpy(Bytes_val(all), others, length * ranks);
  free(mine);
  CAMLreturn(all);
}

/* The same, looking now and then at whether it is over: for [MUSTER_MPI_CHECK]. */
struct pending_exchange {
  MPI_Request request;
  size_t length;
  char *mine;
};

static struct pending_exchange pending;

value muster_mpi_begin_exchange(value slot) {
  pending.length = caml_string_length(slot);
  pending.mine = checked(malloc(pending.length * (ranks + 1)));
  memcpy(pending.mine, Bytes_val(slot), pending.length);
  MPI_Iallgather(pending.mine, (int)pending.length, MPI_BYTE, pending.mine + pending.length,
                 (int)pending.length, MPI_BYTE, comm, &pending.request);
  return Val_unit;
}

value muster_mpi_exchanged(value unit) {
  int over;
  MPI_Test(&pending.request, &over, MPI_STATUS_IGNORE);
  (void)unit;
  return Val_bool(over);
}

value muster_mpi_end_exchange(value unit) {
  value all = caml_alloc_string(pending.length * ranks);
  memcpy(Bytes_val(all), pending.mine + pending.length, pending.length * ranks);
  free(pending.mine);
  (void)unit;
  return all;
}

/* Where each rank's words begin, of all in a row. */
struct layout {
  int *counts, *starts;
  size_t total;
};

static struct layout layout_of(value counts) {
  struct layout it;
  it.counts = checked(malloc(2 * ranks * sizeof(int)));
  it.starts = it.counts + ranks;
  it.total = 0;
  for (int i = 0; i < ranks; i++) {
    it.counts[i] = Int_val(Field(counts, i));
    it.starts[i] = (int)it.total;
    it.total += it.counts[i];
  }
  return it;
}

value muster_mpi_gather_packets(value packet, value counts) {
  CAMLparam2(packet, counts);
  struct layout it = layout_of(counts);
  char *all = checked(malloc(it.total * 8)), *mine = Packet_val(packet)->data;
  caml_enter_blocking_section();
  MPI_Allgatherv(mine, it.counts[rank], MPI_UINT64_T, all, it.counts, it.starts, MPI_UINT64_T, comm);
  caml_leave_blocking_section();
  free(it.counts);
  CAMLreturn(new_packet(all, it.total));
}

/* [packet] is heeded on [root] alone. */
value muster_mpi_broadcast(value packet, value words, value root) {
  CAMLparam3(packet, words, root);
  int from = Int_val(root), count = Int_val(words);
  char *data = from == rank ? Packet_val(packet)->data : checked(malloc((size_t)count * 8));
  caml_enter_blocking_section();
  MPI_Bcast(data, count, MPI_UINT64_T, from, comm);
  caml_leave_blocking_section();
  CAMLreturn(from == rank ? packet : new_packet(data, count));
}

/* ---- Arrays of floats, and of values that are no pointers ---- */

enum { empty, floats, immediates, others };

value muster_mpi_kind(value array) {
  if (Wosize_val(array) == 0) return Val_int(empty);
  if (Tag_val(array) == Double_array_tag) return Val_int(floats);
  for (mlsize_t i = 0; i < Wosize_val(array); i++)
    if (Is_block(Field(array, i))) return Val_int(others);
  return Val_int(immediates);
}

/* Blocks of more words (Max_young_wosize) are in the major heap, which never moves large ones. */
#define Unmoved 256

/* Of 2 MB: to have the memory of a long array by 4 kB takes longer than MPI's copy into it. */
static void ask_for_large_pages(value array, size_t words) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = 1 << 21;
  uintptr_t first = (array + page - 1) & -page, next = (array + words * 8) & -page;
  if (first < next) madvise((void *)first, next - first, MADV_HUGEPAGE);
#endif
}

static value new_array(size_t words, int kind) {
  if (words == 0) return Atom(0);
  value array = caml_alloc_shr(words, kind == floats ? Double_array_tag : 0);
  ask_for_large_pages(array, words);
  if (kind == immediates)
    for (size_t i = 0; i < words; i++) Field(array, i) = Val_unit;
  return array;
}

/* [on]: the one rank that gets the result, or -1. Where the array may move, MPI has a copy. */
value muster_mpi_gather_words(value array, value counts, value kind, value on) {
  CAMLparam4(array, counts, kind, on);
  CAMLlocal1(result);
  int root = Int_val(on), gets = root < 0 || root == rank;
  struct layout it = layout_of(counts);
  size_t mine = Wosize_val(array), words = gets ? it.total : 0;
  int copies_mine = mine <= Unmoved, copies_all = words <= Unmoved;
  result = new_array(words, Int_val(kind));
  char *from = copies_mine ? checked(malloc(mine * 8 + 8)) : (char *)array;
  if (copies_mine) memcpy(from, (char *)array, mine * 8);
  char *to = copies_all ? checked(malloc(words * 8 + 8)) : (char *)result;
  caml_enter_blocking_section();
  if (root < 0)
    MPI_Allgatherv(from, (int)mine, MPI_UINT64_T, to, it.counts, it.starts, MPI_UINT64_T, comm);
  else
    MPI_Gatherv(from, (int)mine, MPI_UINT64_T, to, it.counts, it.starts, MPI_UINT64_T, root, comm);
  caml_leave_blocking_section();
  if (copies_all) {
    memcpy((char *)result, to, words * 8);
    free(to);
  }
  if (copies_mine) free(from);
  free(it.counts);
  CAMLreturn(result);
}

/* ---- Messages from one rank to another ---- */

/* Those that MPI still reads. */
struct sent {
  MPI_Request request;
  char *data;
  struct sent *next;
};

static struct sent *all_sent = NULL;

static long free_those_through(void) {
  long left = 0;
  struct sent **at = &all_sent;
  while (*at != NULL) {
    struct sent *it = *at;
    int through;
    MPI_Test(&it->request, &through, MPI_STATUS_IGNORE);
    if (through) {
      *at = it->next;
      free(it->data);
      free(it);
    } else {
      at = &it->next;
      left++;
    }
  }
  return left;
}

value muster_mpi_unsent(value unit) {
  (void)unit;
  return Val_long(free_those_through());
}

/* Takes the packet's bytes. */
value muster_mpi_send(value packet, value dest, value tag) {
  struct packet *p = Packet_val(packet);
  struct sent *it = checked(malloc(sizeof(struct sent)));
  free_those_through();
  it->data = p->data;
  p->data = NULL;
  it->next = all_sent;
  all_sent = it;
  MPI_Isend(it->data, (int)p->words, MPI_UINT64_T, Int_val(dest), Int_val(tag), comm, &it->request);
  return Val_unit;
}

/* [None], or who sent it and what. A negative source is any. Looks so many times, each time twice: Open
   MPI's first look fetches what has come, and only the second one sees it. */
value muster_mpi_receive(value source, value tag, value looks) {
  CAMLparam3(source, tag, looks);
  CAMLlocal2(packet, result);
  int from = Int_val(source) < 0 ? MPI_ANY_SOURCE : Int_val(source), label = Int_val(tag);
  int there = 0, words = 0, left = Int_val(looks);
  MPI_Message message;
  MPI_Status status;
  char *data = NULL;
  caml_enter_blocking_section();
  free_those_through();
  for (; !there && left > 0; left--) {
    MPI_Improbe(from, label, comm, &there, &message, &status);
    if (!there) MPI_Improbe(from, label, comm, &there, &message, &status);
    if (!there && left > 1) sched_yield();
  }
  if (there) {
    MPI_Get_count(&status, MPI_UINT64_T, &words);
    data = malloc((size_t)words * 8 + 8);
    if (data != NULL) MPI_Mrecv(data, words, MPI_UINT64_T, &message, &status);
  }
  caml_leave_blocking_section();
  if (!there) CAMLreturn(Val_none);
  packet = new_packet(checked(data), words);
  result = caml_alloc_tuple(2);
  Store_field(result, 0, Val_int(status.MPI_SOURCE));
  Store_field(result, 1, packet);
  CAMLreturn(caml_alloc_some(result));
}
