(* C kernels. Their bodies are instrumented as well, and share plain cells: with the caller, with
   each other one loop after another, and a cell for each worker's number. *)

module Pool = Muster.Pool
open Rounds

let n = 48
let rec all_are cells value i = i = n || (cells.{i} = value && all_are cells value (i + 1))

let step loop cells ~long round =
  for i = 0 to n - 1 do
    cells.{i} <- cells.{i} + 1
  done;
  check "workers" (loop cells ~long >= 1);
  check "all cells" (all_are cells (2 * (round + 1)) 0)

let alone loop ~long times =
  let cells = C_loops.cells n in
  in_task 2 times (step loop cells ~long)

let one_after_another =
  let cells = C_loops.cells n in
  in_task 3 300 (fun round ->
      let add loop = check "workers" (loop cells ~long:false >= 1) in
      add C_loops.slices;
      add C_loops.indices;
      add C_loops.slices;
      check "all cells" (all_are cells (3 * (round + 1)) 0))

(* Loops of several callers, and OCaml's beside them. *)
let several_callers pool =
  let cells = Array.init 3 (fun _ -> C_loops.cells n) in
  let caller i round =
    let loop = if (round + i) land 1 = 0 then C_loops.slices else C_loops.indices in
    Pool.run pool (fun () ->
        step loop cells.(i) ~long:false round;
        Muster.parallel_for ~grain:1 ~start:0 ~finish:7 (fun _ -> pauses 8))
  in
  race 200 (List.init 3 caller)

(* {2 What C was told of pools}: each by several callers, who hear the same. *)

let told () =
  let pool = ref (Pool.default ()) and heard = [| 0; 0; 0 |] in
  let before _ = pool := Pool.create ~domains:2 ~oversubscribe:true () in
  let ask i _ = heard.(i) <- Pool.run !pool C_loops.workers in
  let after _ =
    check "the same" (Array.for_all (fun workers -> workers = heard.(0)) heard);
    Pool.close !pool
  in
  race 60 ~before ~after (List.init 3 ask)

let told_of_several () =
  let ask _ =
    Pool.with_ ~domains:2 ~oversubscribe:true (fun _ ->
        let workers = C_loops.workers () in
        check "the same again" (C_loops.workers () = workers))
  in
  race 60 (List.init 3 (fun _ -> ask))

let () =
  main
    [
      case "kernel: slices" (alone C_loops.slices ~long:false 1_000);
      case "kernel: slices without the lock" (alone C_loops.slices ~long:true 60);
      case "kernel: indices" (alone C_loops.indices ~long:false 1_000);
      case "kernel: indices without the lock" (alone C_loops.indices ~long:true 60);
      case "kernel: one after another" one_after_another;
      case "kernel: three callers" (with_pool 2 several_callers);
      case "told: of one pool, by three" told;
      case "told: of a pool each" told_of_several;
    ]
