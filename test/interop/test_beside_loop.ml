(* Calls from a fiber of Eio run the program's functions in the pool, whatever the number of
   elements, where nobody knows that they are short: so the event loop goes on. *)

open Harness
open Muster
open In_eio
module List = Stdlib.List

let on_lists work n =
  let l = List.init n Fun.id and int x = work (); x and yes _ = work (); true in
  let module L = Parallel.List in
  [
    ("init", fun () -> ignore (L.init n (fun i -> int i)));
    ("map", fun () -> ignore (L.map (fun x -> int x) l));
    ("mapi", fun () -> ignore (L.mapi (fun _ x -> int x) l));
    ("map_init", fun () -> ignore (L.map_init ~init:ignore (fun () x -> int x) l));
    ("map2", fun () -> ignore (L.map2 (fun x _ -> int x) l l));
    ("filter", fun () -> ignore (L.filter (fun x -> yes x) l));
    ("filter_map", fun () -> ignore (L.filter_map (fun x -> Some (int x)) l));
    ("concat_map", fun () -> ignore (L.concat_map (fun x -> [ int x ]) l));
    ("partition", fun () -> ignore (L.partition (fun x -> yes x) l));
    ("iter", fun () -> L.iter (fun x -> ignore (int x)) l);
    ("fold", fun () -> ignore (L.fold (fun a x -> a + int x) 0 l));
    ("fold_parts", fun () ->
        let init () = 0 and add a x = a + int x in
        ignore (L.fold_parts ~init ~add ~combine:( + ) l));
    ("map_reduce", fun () -> ignore (L.map_reduce ~combine:( + ) ~init:0 (fun x -> int x) l));
    ("reduce", fun () -> ignore (L.reduce (fun a x -> a + int x) l));
    ("scan", fun () -> ignore (L.scan (fun a x -> a + int x) l));
    ("count", fun () -> ignore (L.count (fun x -> yes x) l));
    ("find", fun () -> ignore (L.find (fun x -> yes x) l));
    ("find_map", fun () -> ignore (L.find_map (fun x -> Some (int x)) l));
    ("for_all", fun () -> ignore (L.for_all (fun x -> yes x) l));
    ("sort", fun () -> ignore (L.sort (fun x y -> compare (int x) y) l));
    ("group_by", fun () -> ignore (L.group_by (fun x -> int x) l));
    ("histogram", fun () -> ignore (L.histogram ~bins:n (fun x -> int x) l));
    ("seq iter", fun () -> Parallel.Seq.iter (fun x -> ignore (int x)) (List.to_seq l));
  ]

let on_arrays work n =
  let a = Array.init n Fun.id and int x = work (); x and yes _ = work (); true in
  let module A = Parallel.Array in
  let b = Bigarray.(Array1.init int c_layout n Fun.id) in
  [
    ("init", fun () -> ignore (A.init n (fun i -> int i)));
    ("map", fun () -> ignore (A.map (fun x -> int x) a));
    ("map2", fun () -> ignore (A.map2 (fun x _ -> int x) a a));
    ("map_inplace", fun () -> A.map_inplace (fun x -> int x) (Array.copy a));
    ("iter", fun () -> A.iter (fun x -> ignore (int x)) a);
    ("iter2", fun () -> A.iter2 (fun x _ -> ignore (int x)) a a);
    ("filter", fun () -> ignore (A.filter (fun x -> yes x) a));
    ("partition", fun () -> ignore (A.partition (fun x -> yes x) a));
    ("filter_map", fun () -> ignore (A.filter_map (fun x -> Some (int x)) a));
    ("concat_map", fun () -> ignore (A.concat_map (fun x -> [| int x |]) a));
    ("fold", fun () -> ignore (A.fold (fun s x -> s + int x) 0 a));
    ("fold_parts", fun () ->
        let init () = 0 and add s x = s + int x in
        ignore (A.fold_parts ~init ~add ~combine:( + ) a));
    ("map_reduce", fun () -> ignore (A.map_reduce ~combine:( + ) ~init:0 (fun x -> int x) a));
    ("reduce", fun () -> ignore (A.reduce (fun s x -> s + int x) a));
    ("min", fun () -> ignore (A.min (fun x y -> compare (int x) y) a));
    ("scan", fun () -> ignore (A.scan (fun s x -> s + int x) a));
    ("count", fun () -> ignore (A.count (fun x -> yes x) a));
    ("exists", fun () -> ignore (A.exists (fun x -> yes x) a));
    ("exists2", fun () -> ignore (A.exists2 (fun x _ -> yes x) a a));
    ("for_all2", fun () -> ignore (A.for_all2 (fun x _ -> yes x) a a));
    ("sort", fun () -> A.sort (fun x y -> compare (int x) y) (Array.copy a));
    ("bigarray", fun () -> Parallel.Bigarray.Array1.iter (fun x -> ignore (int x)) b);
    ("bigarray init", fun () ->
        ignore Bigarray.(Parallel.Bigarray.Array1.init int c_layout n (fun i -> work (); i)));
  ]

let in_loops work n =
  let finish = n in
  [
    ("for", fun () -> parallel_for ~start:1 ~finish (fun _ -> work ()));
    ("range", fun () -> parallel_for_range ~start:1 ~finish (fun ~start:_ ~finish:_ -> work ()));
    ("reduce", fun () ->
        parallel_reduce ~start:1 ~finish ~combine:(fun () () -> ()) ~init:() (fun _ -> work ()));
    ("reduce range", fun () ->
        let combine () () = () in
        let part ~start:_ ~finish:_ = work () in
        parallel_reduce_range ~start:1 ~finish ~combine ~init:() part);
    ("find", fun () -> ignore (parallel_find ~start:1 ~finish (fun i -> work (); Some i)));
    ("Task.map", fun () -> ignore (Task.map ~max:2 (fun x -> work (); x) (List.init n Fun.id)));
  ]

(* Each function of the program has code of its own, and none is short. *)
let in_the_pool what calls () =
  let loop = Domain.self () and at = ref "" in
  let work () =
    if Domain.self () = loop then failf "%s: on the loop's domain" !at;
    burn 0.0003
  in
  let one n (name, call) =
    at := Printf.sprintf "%s, %s of %d" what name n;
    call ()
  in
  List.iter (fun n -> List.iter (one n) (calls work n)) [ 1; 3; 40 ]

let () =
  let group what calls = case what (here (in_the_pool what calls)) in
  Alcotest.run "beside the loop"
    [
      ( "in the pool",
        [ group "lists" on_lists; group "arrays" on_arrays; group "loops" in_loops ] );
    ]
