(* Locks, other ways to wait and the shared table against their models. *)

let cases (name, (module Model : Program.Spec)) =
  let module Checked = Check.Make (Model) in
  (name, Checked.cases ~programs:25 name Check.everywhere)

let () =
  Alcotest.run "locks, against models"
    (List.map cases
       [
         ("mutex", (module Mutex_model : Program.Spec));
         ("semaphore", (module Semaphore_model));
         ("latch", (module Latch_model));
         ("lazy", (module Lazy_model));
         ("rwlock", (module Rwlock_model));
         ("condition", (module Condition_model));
         ("table", (module Table_model));
       ])
