(* [Leftmost] against the definition for every short sequence, and with two domains. *)

open Harness
open Unit_support
open Muster_core

let smaller_or_first best (event, index) =
  match best with Some (_, least) when least <= index -> best | _ -> Some (event, index)

let check_against best leftmost =
  check_equal "get" (Option.map fst best) (Leftmost.get leftmost);
  check_equal "index" (Option.map snd best) (Leftmost.index leftmost);
  let stops_after i = match best with Some (_, least) -> least < i | None -> false in
  for i = -1 to 5 do
    check_bool "stops" (stops_after i) (Leftmost.stops leftmost i)
  done

let every_sequence () =
  let run indices =
    let leftmost = Leftmost.create () in
    let note best (event, index) =
      Leftmost.note leftmost index event;
      let best = smaller_or_first best (event, index) in
      check_against best leftmost;
      best
    in
    let events = List.mapi (fun event index -> (event, index)) indices in
    ignore (List.fold_left note None events)
  in
  check_against None (Leftmost.create ());
  List.iter (fun length -> each_word [ 0; 1; 2; 4 ] ~length run) [ 1; 2; 3; 4; 5; 6 ]

let reraise () =
  let leftmost = Leftmost.create () in
  Fiber.reraise leftmost;
  let failure exn = Outcome.{ exn; backtrace = Printexc.get_callstack 0 } in
  Leftmost.note leftmost 7 (failure Not_found);
  Leftmost.note leftmost 3 (failure Exit);
  Leftmost.note leftmost 5 (failure Not_found);
  check_raises "the leftmost" Exit (fun () -> Fiber.reraise leftmost);
  check_raises "again" Exit (fun () -> Fiber.reraise leftmost)

(* Each side notes its indices in a random order; what was stopped stays stopped. *)
let two_domains () =
  let random = Random.State.make [| 1 |] in
  let indices () = List.init 20 (fun _ -> Random.State.int random 1_000) in
  let make _ =
    let left = indices () and right = indices () in
    let note list (leftmost, _) =
      let note_one index =
        Leftmost.note leftmost index index;
        check_bool "stops" true (Leftmost.stops leftmost (index + 1))
      in
      List.iter note_one list
    in
    let least = List.fold_left min max_int (left @ right) in
    { state = (Leftmost.create (), least); left = note left; right = note right }
  in
  let verdict (leftmost, least) = check_equal "get" (Some least) (Leftmost.get leftmost) in
  race ~make ~verdict ()

let () =
  Alcotest.run "leftmost"
    [
      ( "leftmost",
        [
          case "every sequence of up to 6 events" every_sequence;
          case "the leftmost failure is raised" reraise;
          case "two domains note events" two_domains;
        ] );
    ]
