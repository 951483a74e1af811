(* Failures that nobody awaits: each is told once, and none is lost, while several tasks fail and
   others look for what to tell. *)

type Promise.owner += Mine

exception Failed of int

let model ~fail ~tell =
  let start () =
    let told = ref [] in
    Uncaught.set_handler (fun exn _ -> told := exn :: !told);
    Atomic.set Uncaught.known { pending = Uncaught.Numbers.empty; lost = [] };
    let exns = List.init fail (fun i -> Failed i) in
    let fails exn () =
      let failure = Outcome.{ exn; backtrace = Printexc.get_callstack 0 } in
      let heard = Atomic.make Promise.Unheard in
      let raised = { Promise.failure; heard; after_stop = false; canary = None } in
      Uncaught.note Mine Promise.(any (started nowhere)) raised
    in
    let tells () = Uncaught.flush ~owner:Mine () in
    let verdict () =
      tells ();
      let times exn = List.length (List.filter (( == ) exn) !told) in
      Model.faults
        [
          ("a failure is lost", List.exists (fun exn -> times exn = 0) exns);
          ("a failure is told twice", List.exists (fun exn -> times exn > 1) exns);
        ]
    in
    Model.{ processes = List.map fails exns @ List.init tell (fun _ -> tells); verdict }
  in
  Model.make (Printf.sprintf "uncaught: %d fail, %d tell" fail tell) start

let quick = [ model ~fail:2 ~tell:1; model ~fail:1 ~tell:2 ]
let slow = [ model ~fail:2 ~tell:2 ]
