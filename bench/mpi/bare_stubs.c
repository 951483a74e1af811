/* MPI's own collectives, called from C alone. */

#include <mpi.h>
#include <stdlib.h>
#include <caml/alloc.h>
#include <caml/mlvalues.h>

/* Seconds for so many sums of one float over all ranks. */
value bench_allreduce(value times) {
  double x = 1., sum, began = MPI_Wtime();
  for (long i = 0; i < Long_val(times); i++)
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return caml_copy_double(MPI_Wtime() - began);
}

/* Seconds to fill blocks of so many floats in all, to have them all on all ranks, and to give the memory
   back, as the collector does between two calls of ours. */
value bench_allgather(value total) {
  int ranks, rank, n = Int_val(total);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *counts = malloc(2 * ranks * sizeof(int)), *starts = counts + ranks;
  for (int i = 0; i < ranks; i++) {
    starts[i] = (int)((long)n * i / ranks);
    counts[i] = (int)((long)n * (i + 1) / ranks) - starts[i];
  }
  double began = MPI_Wtime();
  double *own = malloc((size_t)counts[rank] * 8), *all = malloc((size_t)n * 8);
  for (int i = 0; i < counts[rank]; i++) own[i] = (double)(starts[rank] + i);
  MPI_Allgatherv(own, counts[rank], MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
  free(own);
  free(all);
  double took = MPI_Wtime() - began;
  free(counts);
  return caml_copy_double(took);
}
