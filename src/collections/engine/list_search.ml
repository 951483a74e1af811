(* The first element of a list that a function wants: the work on a piece (Walk), and the findings
   of several pieces. *)

module Fiber = Muster_core.Fiber
module Leftmost = Muster_core.Leftmost
module Machine = Muster_core.Machine
module Outcome = Muster_core.Outcome

type 'b event = Found of 'b | Failed of Outcome.failure

(* A piece ends with the first thing that happens in it. *)
let note first (p : _ Walk.piece) event =
  Leftmost.note first p.start event;
  Walk.reach p [] 0

let search_by walk code look f =
  let first = Leftmost.create () in
  let work (p : _ Walk.piece) =
    match look f p p.rest p.left with
    | None -> ()
    | Some v -> note first p (Found v)
    | exception exn -> note first p (Failed (Outcome.caught exn))
  in
  let failure () =
    match Leftmost.get first with
    | Some (Failed failure) -> Some failure
    | Some (Found _) | None -> None
  in
  let job = List_work.(job ~found:(Leftmost.stops first) code source work) in
  ignore (Fiber.raising failure (fun () -> walk job));
  match Leftmost.get first with Some (Found v) -> Some v | Some (Failed _) | None -> None

let search code look f l =
  if Walk.is_short code then
    let p = Walk.front List_work.source ~code ~unit:1 l in
    match look f p l p.left with
    | None when not (Walk.is_over p) -> search_by (fun job -> Walk.go_on job p) code look f
    | found -> found
  else search_by (fun job -> Walk.run_long 0 job l) code look f

(* Several elements a turn, as in List_work: [exists] of a hundred cheap ones takes 0.82 of the
   time. *)

(* The first element of which [f] says yes, and its index. *)
let rec seek_from f p i l n =
  match l with
  | x1 :: x2 :: l when n >= 2 ->
    if f x1 then Some (i, x1)
    else if f x2 then Some (i + 1, x2)
    else seek_from f p (i + 2) l (n - 2)
  | x :: l when n > 0 -> if f x then Some (i, x) else seek_from f p (i + 1) l (n - 1)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> seek_from f p i l n)

let seek f l = search (Machine.code_of f) (fun f p l n -> seek_from f p p.start l n) f l

let rec find_mapi_from f p i l n =
  match l with
  | x :: l when n > 0 -> (
    match f i x with None -> find_mapi_from f p (i + 1) l (n - 1) | found -> found)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> find_mapi_from f p i l n)

let rec find_map_from f p l n =
  match l with
  | x1 :: x2 :: l when n >= 2 -> (
    match f x1 with
    | None -> ( match f x2 with None -> find_map_from f p l (n - 2) | found -> found)
    | found -> found)
  | x :: l when n > 0 -> ( match f x with None -> find_map_from f p l (n - 1) | found -> found)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> find_map_from f p l n)

let find_mapi f l = search (Machine.code_of f) (fun f p l n -> find_mapi_from f p p.start l n) f l
let find_map f l = search (Machine.code_of f) find_map_from f l

(* The same for those who only ask whether there is one. *)
let rec all f p l n =
  match l with
  | x1 :: x2 :: x3 :: x4 :: l when n >= 4 ->
    if f x1 && f x2 && f x3 && f x4 then all f p l (n - 4) else Some ()
  | x :: l when n > 0 -> if f x then all f p l (n - 1) else Some ()
  | l -> ( match Walk.ended p l n with 0 -> None | n -> all f p l n)

let rec none f p l n =
  match l with
  | x1 :: x2 :: x3 :: x4 :: l when n >= 4 ->
    if f x1 || f x2 || f x3 || f x4 then Some () else none f p l (n - 4)
  | x :: l when n > 0 -> if f x then Some () else none f p l (n - 1)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> none f p l n)

let rec lacks y p l n =
  match l with
  | x1 :: x2 :: l when n >= 2 ->
    if Stdlib.compare x1 y = 0 || Stdlib.compare x2 y = 0 then Some () else lacks y p l (n - 2)
  | x :: l when n > 0 -> if Stdlib.compare x y = 0 then Some () else lacks y p l (n - 1)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> lacks y p l n)

let rec lacks_this y p l n =
  match l with
  | x1 :: x2 :: x3 :: x4 :: l when n >= 4 ->
    if x1 == y || x2 == y || x3 == y || x4 == y then Some () else lacks_this y p l (n - 4)
  | x :: l when n > 0 -> if x == y then Some () else lacks_this y p l (n - 1)
  | l -> ( match Walk.ended p l n with 0 -> None | n -> lacks_this y p l n)

let for_all f l = Option.is_none (search (Machine.code_of f) all f l)
let exists f l = Option.is_some (search (Machine.code_of f) none f l)
let mem y l = Option.is_some (search (Machine.code_of lacks) lacks y l)
let memq y l = Option.is_some (search (Machine.code_of lacks_this) lacks_this y l)
