let check_grain fn = function
  | Some grain when grain < 1 -> Caller.invalid fn "grain = %d is less than 1" grain
  | _ -> ()

(* {2 Sharing} *)

let failure_of first () =
  match Leftmost.get first with Some (Error failure) -> Some failure | Some (Ok _) | None -> None

let shared ?(grain = 1) code lo hi body =
  let first = Leftmost.create () in
  Fiber.raising (failure_of first) (fun () -> Range.share ~code ~grain body first lo hi);
  Option.bind (Leftmost.get first) Result.to_option

let up_to count lo hi = if Adaptive.span lo hi < count then hi else lo + count - 1

(* The result is the find, and the last index that the body saw. *)
let rec quietly body lo last =
  let next = up_to Tuning.quiet_chunk lo last in
  match body lo next with
  | None when next < last && Place.is_quiet () -> quietly body (next + 1) last
  | found -> (found, next)

let sweep_measured ?grain ~tried code lo hi body =
  let n = Adaptive.length lo hi in
  if Adaptive.is_shared_at_once code ~n:(Int.min n tried) then shared ?grain code lo hi body
  else
    let found = ref None in
    let go k m =
      match body (lo + k) (lo + k + m - 1) with
      | None -> true
      | some ->
        found := some;
        false
    in
    let finished = Adaptive.alone code ~n go in
    if finished < n then shared ?grain code (lo + finished) hi body else !found

let sweep ?grain ?(tried = max_int) code lo hi body =
  if not (Adaptive.begins_quietly code) then sweep_measured ?grain ~tried code lo hi body
  else
    match quietly body lo (up_to Tuning.max_unmeasured lo hi) with
    | None, last when last < hi -> sweep_measured ?grain ~tried code (last + 1) hi body
    | found, _ -> found

(* {2 for} *)

(* Four calls a turn, as around short iterations the loop itself is felt: 100 of them take 60 ns
   less. *)
let each f lo hi =
  let i = ref lo in
  while hi - !i >= 4 do
    let j = !i in
    f j;
    f (j + 1);
    f (j + 2);
    f (j + 3);
    i := j + 4
  done;
  for j = !i to hi do
    f j
  done;
  None

let parallel_for ?grain ~start ~finish f =
  check_grain "parallel_for" grain;
  Fiber.check ();
  if start <= finish then ignore (sweep ?grain (Machine.code_of f) start finish (each f))

let parallel_for_init ?grain ~start ~finish ~init f =
  check_grain "parallel_for_init" grain;
  Fiber.check ();
  if start <= finish then begin
    let states = States.create init in
    let each_with lo hi state =
      for i = lo to hi do
        f state i
      done
    in
    let body lo hi =
      States.use states (each_with lo hi);
      None
    in
    ignore (sweep ?grain (Machine.code_of f) start finish body)
  end

(* {2 Two dimensions}

   The pairs are numbered row by row, from 0: so a chunk is a part of a row, or several rows, and
   the leftmost event is that of the sequential loops. *)

let pairs f (top, left) width lo hi =
  let rec rows i from n =
    let some = Int.min n (width - from) in
    for j = left + from to left + from + some - 1 do
      f i j
    done;
    if some < n then rows (i + 1) 0 (n - some)
  in
  rows (top + (lo / width)) (lo mod width) (hi - lo + 1);
  None

let parallel_for2 ?grain ~start ~finish f =
  check_grain "parallel_for2" grain;
  Fiber.check ();
  let (top, left), (bottom, right) = (start, finish) in
  if top <= bottom && left <= right then begin
    let height = Adaptive.length top bottom and width = Adaptive.length left right in
    (* More pairs than can be numbered: nobody sweeps them all, but one may fail. *)
    if height >= max_int / width then
      parallel_for ~start:top ~finish:bottom (fun i ->
          parallel_for ?grain ~start:left ~finish:right (f i))
    else
      let body lo hi = pairs f start width lo hi in
      ignore (sweep ?grain (Machine.code_of f) 0 ((height * width) - 1) body)
  end

(* {2 find} *)

let rec first_from f j hi =
  match f j with None -> if j < hi then first_from f (j + 1) hi else None | found -> found

(* A search may end at its first iterations, for which nobody is woken unless they last long. *)
let search ?grain code lo hi body = sweep ?grain ~tried:Tuning.first_of_search code lo hi body

let parallel_find ?grain ~start ~finish f =
  check_grain "parallel_find" grain;
  Fiber.check ();
  if start > finish then None else search ?grain (Machine.code_of f) start finish (first_from f)
