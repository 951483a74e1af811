(* A result array is made with a value of its elements, since only that tells whether it is an
   array of floats.

   In a short one each element may be a job of its own, so none is computed before the others: the
   worker that has an element first makes the array. Two at once make two, and drop one. A long one
   is made with its first element, by all workers. *)

let[@inline] put a i v = Compat.set_fresh a i v

(* The kernel hands out memory page by page, to the worker that touches it first, and clears each:
   for a million elements that takes 2 to 5 ms, as long as sixteen workers need for 40 ns of work on
   each. So all workers touch it. A region's caller stays on its domain. *)
let touch n put =
  Pool.with_current (fun w ->
      let workers = Pool.size w.pool in
      Region.run w ~to_the_end:true ~revoke:true ~workers (fun worker ->
          let start, count = Slices.slice n workers worker in
          put start count))

(* A fiber of another scheduler has a task make it: cancelled, it would leave the memory to others
   that still touch it. *)
let make n v =
  let make () = Compat.make_together n v ~share:touch in
  if n < Tuning.first_touch then Compat.make_fresh n v
  else if Fiber.is_elsewhere () then Adaptive.in_pool make
  else make ()

(* The array of [n], with its element [i] in it; [made] is empty until it is there. *)
let with_element made n i v =
  let seen = Atomic.get made in
  let mine = if Array.length seen > 0 then seen else Compat.make_blank n ~like:v in
  if mine != seen then ignore (Atomic.compare_and_set made seen mine);
  let made = Atomic.get made in
  put made i v;
  made

let build_short code n one chunk f s =
  let made = Atomic.make [||] in
  let chunk f s lo hi = chunk f s (with_element made n lo (one f s lo)) (lo + 1) hi in
  Chunks.run code n chunk f s;
  Atomic.get made

let rec build code n one chunk f s =
  if n = 0 then [||]
  else if Adaptive.holds_up code ~n then
    Adaptive.in_pool (fun () -> build code n one chunk f s)
  else if n = 1 then Compat.make_fresh 1 (one f s 0)
  else if n <= Tuning.short_result && not (Place.is_quiet ()) then build_short code n one chunk f s
  else begin
    let made = make n (one f s 0) in
    Chunks.fill code (n - 1) (fun f s r lo hi -> chunk f s r (lo + 1) (hi + 1)) f s made;
    made
  end
