(* Calls nested in each other take time in proportion to their number, also where one of them, or a
   task beside the innermost, is cancelled. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let key = Task.local 0
let await f = Task.await (Task.async f)
let forever () = Chan.recv (Chan.bounded 1)

(* Suspends. *)
let wait s =
  let c = Chan.bounded 1 in
  let t = Task.fork s (fun () -> Chan.send c ()) in
  Chan.recv c;
  Task.await t

let in_scope within f = Task.scope (fun _ -> within f)

(* A call around a function. The last ones pass no cancellation on. *)
let calls =
  [
    ("scope", in_scope (fun f -> f ()));
    ("fork", fun f -> Task.scope (fun s -> Task.await (Task.fork s f)));
    ("scope that waits", fun f -> Task.scope (fun s -> wait s; f (); wait s));
    ("scope in a task", fun f -> await (fun () -> in_scope (fun f -> f ()) f));
    ("with_deadline", Task.with_deadline 1000.);
    ("with_deadline in a task", fun f -> await (fun () -> Task.with_deadline 1000. f));
    ("with_local", in_scope (Task.with_local key 1));
    ("with_on_cancel", in_scope (Task.with_on_cancel ignore));
    ("both", in_scope (fun f -> ignore (both f ignore)));
    ("both, of scopes", fun f -> ignore (both (fun () -> in_scope (fun f -> f ()) f) ignore));
    ("all", fun f -> ignore (Task.all [ ignore; f ]));
    ("first", fun f -> Task.first [ f; forever ]);
  ]

let calls_that_shield =
  [
    ("protect", in_scope Task.protect);
    ("bracket", in_scope (Task.bracket ~acquire:ignore ~release:ignore));
    ("release", fun f -> in_scope (Task.bracket ~acquire:ignore ~release:f) ignore);
  ]

let rec nest within n f = if n = 0 then f () else within (fun () -> nest within (n - 1) f)
let ends within n = nest within n ignore

let cancels_the_outermost within n =
  check_cancelled "outermost" (fun () ->
      Task.scope (fun s ->
          nest within n (fun () ->
              Task.cancel_scope s;
              Task.check ())))

(* The innermost waits. *)
let is_cancelled_from_outside within n =
  let began = Chan.bounded 1 in
  let work () =
    Chan.send began ();
    forever ()
  in
  let t = Task.async (fun () -> in_scope (nest within n) work) in
  Chan.recv began;
  Task.cancel t;
  check_cancelled "from outside" (fun () -> Task.await t)

(* All checkpoints look, as something was stopped. *)
let checks_at_each_level within n =
  Task.cancel (Task.async ignore);
  nest (fun f -> within (fun () -> Task.check (); f (); Task.check ())) n ignore

(* A task stays behind in each. *)
let leaves_tasks within n =
  let never : unit Chan.t = Chan.bounded 1 and tasks = ref [] in
  let stays () = in_scope (fun f -> f ()) (fun () -> Chan.recv never) in
  let leave f =
    within (fun () ->
        tasks := Task.async stays :: !tasks;
        Task.yield ();
        f ())
  in
  nest leave n ignore;
  List.iter Task.cancel !tasks;
  List.iter (fun t -> check_cancelled "left" (fun () -> Task.await t)) !tasks

(* Three thousand take as long as ten times three hundred, or ten times as long if each looks at all
   around it. A minor collection looks at the whole stack, so it is somewhat more. Where workers come
   and go there are more of these. *)
let few = 300
let most = 6.

let is_linear way within () =
  in_pool 1 (fun () ->
      let few_times () =
        for _ = 1 to 10 do
          way within few
        done
      in
      let many () = way within (10 * few) in
      let time f = snd (cpu_seconds f) in
      let rec attempt tries =
        let short = Float.max 0.0005 (time few_times) and long = time many in
        if long > most *. short && not flipped then
          if tries > 1 then attempt (tries - 1)
          else failf "%.4f s, in ten parts %.4f s" long short
      in
      attempt 8)

let () =
  let suite name way calls =
    (name, List.map (fun (name, within) -> case name (is_linear way within)) calls)
  in
  Alcotest.run "nesting"
    [
      suite "ends" ends (calls @ calls_that_shield);
      suite "the innermost cancels the outermost" cancels_the_outermost calls;
      suite "cancelled from outside" is_cancelled_from_outside calls;
      suite "checks" checks_at_each_level calls;
      suite "tasks stay behind" leaves_tasks [ List.hd calls; List.nth calls 4 ];
    ]
