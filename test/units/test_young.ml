(* [Young] through collections: what it holds lives, nothing else does, and it tells when there was one. *)

open Harness
open Muster_core

let collect = [ ignore; Gc.minor; Gc.major; Gc.full_major; Gc.compact ]
let fresh i = Some (Sys.opaque_identity i)

(* Every way in which three writes and the collections between them can follow. *)
let holds_what_was_set () =
  let each f = List.iter f collect in
  each (fun first ->
      each (fun second ->
          each (fun third ->
              let t = Young.make (fresh 0) in
              let set_and_collect i collect =
                Young.set t (fresh i);
                check_equal "set" (fresh i) (Young.get t);
                collect ();
                check_equal "after a collection" (fresh i) (Young.get t)
              in
              first ();
              check_equal "made" (fresh 0) (Young.get t);
              List.iteri set_and_collect [ first; second; third ])))

(* Old values over young ones, young ones over old. *)
let random_writes () =
  let random = Random.State.make [| 1 |] in
  let t = Young.make (fresh 0) and olds = Array.init 100 fresh in
  Gc.full_major ();
  let expected = ref (Young.get t) in
  for i = 1 to 200_000 do
    let v = if Random.State.bool random then fresh i else olds.(Random.State.int random 100) in
    Young.set t v;
    expected := v;
    (match Random.State.int random 2_000 with
    | 0 -> Gc.minor ()
    | 1 -> ignore (Gc.major_slice 1_000)
    | 2 -> if Random.State.int random 20 = 0 then Gc.full_major ()
    | n -> ignore (Sys.opaque_identity (Array.make (n land 15) i)));
    check_bool "the very value" true (Young.get t == !expected)
  done

let lets_go_of_what_it_held () =
  let t = Young.make [| 0 |] in
  let kept = Weak.create 1 in
  let hold () =
    let v = Array.make 3 (Sys.opaque_identity 1) in
    Weak.set kept 0 (Some v);
    Young.set t v
  in
  hold ();
  Gc.full_major ();
  check_bool "held" true (Weak.check kept 0);
  Young.set t [| 1 |];
  Gc.full_major ();
  check_bool "let go" false (Weak.check kept 0)

let moments () =
  let t = Young.make 0 in
  let moment v =
    Young.set t v;
    Young.moment t
  in
  let first = moment 1 in
  check_int "no collection" first (moment 2);
  List.iter
    (fun collect ->
      let before = moment 1 in
      collect ();
      check_bool "a collection" true (moment 2 <> before))
    (List.tl collect);
  (* The cells that follow lie where the first one lay. *)
  let same_place () =
    Gc.minor ();
    moment 1
  in
  let all = List.init 100 (fun _ -> same_place ()) in
  check_int "each another" 100 (List.length (List.sort_uniq compare all))

(* It changes hands, while both domains collect. *)
let other_domains () =
  let t = Young.make (fresh 0) in
  let step i =
    check_equal "from the other" (fresh i) (Young.get t);
    Young.set t (fresh (i + 1));
    if i mod 7 = 0 then Gc.minor ();
    Young.set t (fresh (i + 1))
  in
  let turn = Atomic.make 0 in
  let play parity () =
    for i = 0 to 4_999 do
      if i land 1 = parity then begin
        wait_until (fun () -> Atomic.get turn = i);
        step i;
        Atomic.set turn (i + 1)
      end
    done
  in
  let other = Domain.spawn (play 1) in
  play 0 ();
  Domain.join other;
  check_equal "in the end" (fresh 5_000) (Young.get t)

let () =
  Alcotest.run "young"
    [
      ( "young",
        [
          case "holds what was set" holds_what_was_set;
          case "random writes" random_writes;
          case "lets go of what it held" lets_go_of_what_it_held;
          case "tells of collections" moments;
          case "on several domains" other_domains;
        ] );
    ]
