type t = {
  mutable tasks : int;
  mutable forks : int;
  mutable steals : int;
  mutable parks : int;
  mutable regions : int;
  mutable waits : int;
  mutable waited : int;
  mutable heap : int;
}

let make () =
  Compat.padded
    { tasks = 0; forks = 0; steals = 0; parks = 0; regions = 0; waits = 0; waited = 0; heap = 0 }

let copy t = { t with tasks = t.tasks }
let[@inline] add_task t = t.tasks <- t.tasks + 1
let[@inline] add_fork t = t.forks <- t.forks + 1
let add_steal t = t.steals <- t.steals + 1
let add_park t = t.parks <- t.parks + 1
let add_region t = t.regions <- t.regions + 1

let add_wait t ns =
  t.waits <- t.waits + 1;
  t.waited <- t.waited + ns

let note_heap t = t.heap <- Heap.words ()
