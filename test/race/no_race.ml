(* A program without a race: the same, protected. It prints much. *)

let squares = Muster.Table.create ()
let total = Atomic.make 0
let lock = Muster.Mutex.create ()
let lines = ref 0

let work n =
  Atomic.incr total;
  let square = Muster.Table.find_or_add squares (n land 63) (fun n -> n * n) in
  Muster.Mutex.protect lock (fun () ->
      incr lines;
      Printf.printf "%d: the square of %d is %d\n" !lines (n land 63) square)

let () =
  Muster.Pool.with_ ~domains:2 ~oversubscribe:true @@ fun _ ->
  Muster.Task.iter ~max:4 work (List.init 2_000 Fun.id)
