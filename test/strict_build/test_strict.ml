(* That the library is all that a program has to name: here, what others use is not to be seen. *)

module Array = Muster.Parallel.Array

let channels () =
  let channel : int Muster.Chan.t = Muster.Chan.bounded 1 in
  Muster.Chan.send channel 42;
  Alcotest.(check int) "received" 42 (Muster.Chan.recv channel)

let locks () =
  let lock = Muster.Mutex.create () and answer = Muster.Lazy.from_fun (fun () -> 42) in
  let force () = Muster.Lazy.force answer in
  Alcotest.(check int) "forced" 42 (Muster.Mutex.protect lock force)

let collections () =
  let sum = Array.fold ( + ) 0 (Array.init 10 Fun.id) in
  Alcotest.(check int) "sum" 45 sum;
  Alcotest.(check (list int)) "list" [ 2; 3 ] (Muster.Parallel.List.map succ [ 1; 2 ])

let pools () =
  let size = Muster.Pool.with_ ~domains:1 (fun pool -> (Muster.Pool.stats pool).size) in
  Alcotest.(check int) "size" 1 size

let () =
  let case name run = Alcotest.test_case name `Quick run in
  Alcotest.run "strict"
    [
      ( "by its name alone",
        [
          case "channels" channels;
          case "locks" locks;
          case "collections" collections;
          case "pools" pools;
        ] );
    ]
