(* Random collections of numbers, with functions that raise at some of them. *)

open Harness

exception Boom of int

type t = {
  values : int array;
  bad : int list;  (** where functions raise *)
  slow : bool;  (** whether calls take long enough to be shared, however few they are *)
}

let print t =
  let ints l = String.concat " " (List.map string_of_int l) in
  let n = Array.length t.values in
  let values = if n > 300 then "…" else ints (Array.to_list t.values) in
  Printf.sprintf "%d values [%s], raising at [%s]%s" n values (ints t.bad)
    (if t.slow then ", slow" else "")

(* Some are shared whatever the functions cost; in a few the result is made while its elements
   are computed. *)
let length =
  let open QCheck.Gen in
  let tiny = int_range 0 5 and short = int_range 0 300 in
  let shared = oneof [ int_range 1000 1100; int_range 5000 9000 ] in
  let long = oneof [ shared; shared; shared; int_range 66_000 70_000 ] in
  oneof [ tiny; tiny; short; short; short; shared; long ]

let largest = 250

let generator =
  let open QCheck.Gen in
  let value = int_range 0 largest in
  let* n = length in
  let* values = array_size (return n) value in
  let* bad = oneof [ return []; list_size (int_range 1 2) value ] in
  let+ slow = if n <= 300 then bool else return false in
  { values; bad; slow }

let any = QCheck.make ~print generator

let spin () =
  for i = 1 to 500 do
    ignore (Sys.opaque_identity i)
  done

(* [x], after as long as a call takes, unless it raises. *)
let visit t x =
  if t.slow then spin ();
  if List.mem x t.bad then raise (Boom x);
  x

let agree ours theirs = outcome ours = outcome theirs

(* The elements' operation for folds: the first of two bad operands raises. *)
let greater t x y = max (visit t x) (visit t y)

let prefixes op a =
  let sum = ref None in
  Array.map
    (fun x ->
      let next = match !sum with None -> x | Some s -> op s x in
      sum := Some next;
      next)
    a

let groups key a =
  let add groups x =
    let k = key x in
    if List.mem_assoc k groups then
      List.map (fun (k', xs) -> (k', if k = k' then x :: xs else xs)) groups
    else groups @ [ (k, [ x ]) ]
  in
  let groups = Array.fold_left add [] a in
  Array.of_list (List.map (fun (k, xs) -> (k, Array.of_list (List.rev xs))) groups)

let histogram bins f a =
  let counts = Array.make bins 0 in
  Array.iter (fun x -> counts.(f x) <- counts.(f x) + 1) a;
  counts

let extreme better a =
  let pick acc x = match acc with Some y when not (better x y) -> acc | _ -> Some x in
  Array.fold_left pick None a

let by_list f a = Array.of_list (f (Array.to_list a))

(* Each on pools of 1 and 3 domains. *)
let properties ?(count = 60) laws =
  let of_domains domains =
    let count = if domains = 1 then 1 + (count / 4) else count in
    List.map (fun (name, law) -> property ~count ~domains name any (fun _ t -> law t)) laws
  in
  of_domains 1 @ of_domains 3
