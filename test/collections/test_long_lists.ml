(* Lists that go to the major heap at once (Chain), lists of lengths around those at which work
   in place is given more (Walk), and what is remembered as short. *)

module Ours = Muster.Parallel.List
module Theirs = Stdlib.List
module Site = Muster_loop.Site

let on_domains domains f =
  Muster.Pool.with_ ~domains ~oversubscribe:true (fun _ -> f ())

let input n = Theirs.init n (fun i -> i * 7919 land 0xFFFFF)
let even x = x land 1 = 0
let text x = string_of_int x
let few x = Theirs.init (x land 3) (fun i -> (x, i))
let some x = if even x then Some (text x) else None

(* Everything that makes a list, of elements that are immediate, old, and new: once when costs are
   unknown, and again when they are remembered. *)
let same n =
  let l = input n in
  let check what ours theirs =
    for _ = 1 to 3 do
      let made = ours l in
      Gc.minor ();
      if made <> theirs l then Alcotest.failf "%s of %d elements differs" what n
    done
  in
  check "map" (Ours.map succ) (Theirs.map succ);
  check "map to strings" (Ours.map text) (Theirs.map text);
  check "map to floats" (Ours.map float_of_int) (Theirs.map float_of_int);
  check "mapi" (Ours.mapi ( + )) (Theirs.mapi ( + ));
  check "filter" (Ours.filter even) (Theirs.filter even);
  check "filteri" (Ours.filteri (fun i _ -> even i)) (Theirs.filteri (fun i _ -> even i));
  check "filter_map" (Ours.filter_map some) (Theirs.filter_map some);
  check "concat_map" (Ours.concat_map few) (Theirs.concat_map few);
  check "init" (fun _ -> Ours.init n text) (fun _ -> Theirs.init n text);
  check "map2"
    (fun l -> Ours.map2 ( - ) l (Theirs.rev l))
    (fun l -> Theirs.map2 ( - ) l (Theirs.rev l));
  check "sort" (Ours.sort Int.compare) (Theirs.sort Int.compare);
  check "partition"
    (fun l ->
      let yes, no = Ours.partition even l in
      yes @ no)
    (fun l ->
      let yes, no = Theirs.partition even l in
      yes @ no);
  check "searches"
    (fun l -> [ Ours.for_all (fun x -> x >= 0) l; Ours.exists (fun x -> x < 0) l ])
    (fun _ -> [ true; false ]);
  let last = Theirs.nth l (n - 1) in
  check "find_index"
    (fun l -> [ Ours.find_index (Int.equal last) l ])
    (fun l -> [ Theirs.find_index (Int.equal last) l ]);
  check "fold" (fun l -> [ Ours.fold ( + ) 0 l ]) (fun l -> [ Theirs.fold_left ( + ) 0 l ]);
  check "iteri"
    (fun l ->
      let sum = Atomic.make 0 in
      Ours.iteri (fun i x -> ignore (Atomic.fetch_and_add sum (i lxor x))) l;
      [ Atomic.get sum ])
    (fun l ->
      let sum = ref 0 in
      Theirs.iteri (fun i x -> sum := !sum + (i lxor x)) l;
      [ !sum ])

let all_lengths domains () =
  on_domains domains (fun () -> Theirs.iter same [ 2; 127; 128; 129; 700; 5_000; 300_000 ])

(* Not commutative, and sensitive to the bracketing; cut as arrays are. *)
let scans domains () =
  let prefixes n =
    let floats = Theirs.map (fun x -> 1. /. float_of_int (x + 1)) (input n) in
    let array = Muster.Parallel.Array.scan ( +. ) (Array.of_list floats) in
    if Ours.scan ( +. ) floats <> Array.to_list array then Alcotest.failf "floats, %d" n;
    let last _ y = y in
    if Ours.scan last (input n) <> input n then Alcotest.failf "last elements, %d" n
  in
  on_domains domains (fun () -> Theirs.iter prefixes [ 1; 2; 1_024; 1_025; 1_088; 70_001; 300_000 ])

(* As arrays' do, in place and shared, whatever is raised where: by a prefix, or in another bracketing alone. *)
exception Odd of int * int

let outcome f = match f () with prefixes -> Ok prefixes | exception Odd (x, y) -> Error (x, y)

let failing_scans domains () =
  let state = Random.State.make [| 17; domains |] in
  let failed = ref 0 in
  let agrees _ =
    let n = 1_025 + Random.State.int state 3_000 and salt = Random.State.int state 1_000_000 in
    let rarely = 1 lsl (9 + Random.State.int state 8) in
    let l = Theirs.init n (fun _ -> Random.State.int state 65_536) in
    let op x y =
      if ((x * 31) + (y * 17) + salt) land (rarely - 1) = 0 then raise (Odd (x, y))
      else (x + y) land 0xFFFF
    in
    let expected = outcome (fun () -> Array.to_list (Muster.Parallel.Array.scan op (Array.of_list l))) in
    let is_as_expected what cost =
      Site.remember (Muster_core.Machine.code_of op) cost;
      if outcome (fun () -> Ours.scan op l) <> expected then Alcotest.failf "%s, %d elements" what n
    in
    if Result.is_error expected then incr failed;
    is_as_expected "in place" 1;
    is_as_expected "shared" (Site.cost_of ~ticks:(Muster_core.Machine.ticks_of_us 1) ~iterations:1)
  in
  on_domains domains (fun () -> Theirs.iter agrees (Theirs.init 300 Fun.id));
  if !failed < 50 || !failed > 290 then Alcotest.failf "%d of 300 failed" !failed

(* They survive compactions, and hold what was new when they were made. *)
let survive () =
  on_domains 3 (fun () ->
      let l = input 300_000 in
      let made = Theirs.init 3 (fun i -> Ours.map (fun x -> (x, text (x + i))) l) in
      Gc.compact ();
      Gc.full_major ();
      let is_right i pair x = pair = (x, text (x + i)) in
      let all_right = Theirs.mapi (fun i made -> Theirs.for_all2 (is_right i) made l) made in
      Alcotest.(check (list bool)) "elements" [ true; true; true ] all_right)

(* What a minor collection would copy: three words for each cell. Words that a domain promoted which has ended since
   may be counted with the next one: hence the lesser of two. *)
let promoted_by f =
  let promoted () =
    Gc.minor ();
    (Gc.quick_stat ()).promoted_words
  in
  let before = promoted () in
  let result = f () in
  let words = promoted () -. before in
  ignore (Sys.opaque_identity result);
  int_of_float words

let few_promoted () =
  let n = 1_000_000 in
  on_domains 2 (fun () ->
      let l = input n in
      let check what f =
        let words = Int.min (promoted_by f) (promoted_by f) in
        if words > n then Alcotest.failf "%s: %d words promoted, of %d" what words (3 * n)
      in
      check "map" (fun () -> Ours.map succ l);
      check "init" (fun () -> Ours.init n succ);
      check "filter" (fun () -> Ours.filter (fun x -> x >= 0) l);
      check "scan" (fun () -> Ours.scan max l))

(* A body that was so short that it is not always timed. *)
let noticed what call =
  let turns = ref 0 in
  let rec spin k = if k > 0 then spin (k - 1) in
  let body _ = spin (Sys.opaque_identity !turns) in
  let code = Muster_core.Machine.code_of body in
  on_domains 1 (fun () ->
      for _ = 1 to 100 do
        call body
      done;
      let short = Site.cost code in
      turns := 2_000;
      for _ = 1 to 100 do
        call body
      done;
      if Site.cost code < 4 * short then
        Alcotest.failf "%s: %d ticks before, %d after" what short (Site.cost code))

let grown_slow () =
  let l = input 100 in
  let a = Array.of_list l in
  noticed "a list" (fun body -> Ours.iter body l);
  noticed "an array" (fun body -> Muster.Parallel.Array.iter body a);
  noticed "a loop" (fun body -> Muster.parallel_for ~start:0 ~finish:99 body);
  (* A worker that has offered enough, as the only one always has, runs 16 iterations unmeasured. *)
  noticed "a loop of few" (fun body -> Muster.parallel_for ~start:0 ~finish:31 body);
  noticed "an array of few" (fun body -> Muster.Parallel.Array.iter body (Array.sub a 0 32))

(* Nobody else is there to share with, and yet the next call should know that it is short. *)
let alone_and_known () =
  let known what call =
    let body _ = () in
    let code = Muster_core.Machine.code_of body in
    for _ = 1 to 3 do
      call body
    done;
    if Site.cost code = Site.unknown then Alcotest.failf "%s: nothing is remembered" what
  in
  let l = input 5 in
  on_domains 1 (fun () ->
      known "a list" (fun body -> Ours.iter body l);
      known "a sequence" (fun body -> Muster.Parallel.Seq.iter body (Theirs.to_seq l)))

let () =
  let case name f = Alcotest.test_case name `Quick f in
  Alcotest.run "long lists"
    [
      ( "long lists",
        [
          case "all functions, 1 domain" (all_lengths 1);
          case "all functions, 2 domains" (all_lengths 2);
          case "all functions, 4 domains" (all_lengths 4);
          case "scans, 1 domain" (scans 1);
          case "scans, 4 domains" (scans 4);
          case "scans that raise, 1 domain" (failing_scans 1);
          case "scans that raise, 3 domains" (failing_scans 3);
          case "long results survive collections" survive;
          case "short-lived lists are not promoted" few_promoted;
          case "calls are shared once their function becomes slow" grown_slow;
          case "a pool of one remembers the cost of a function" alone_and_known;
        ] );
    ]
