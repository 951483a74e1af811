(* Programs with one problem each, which [muster why] has to find; and one without: planted.exe NAME
   [SIZE], a size of 1 being a second or two. Some end in other ways. *)

let size = if Array.length Sys.argv > 2 then float_of_string Sys.argv.(2) else 1.
let sized n = int_of_float (size *. float n)

let rec burn n x = if n = 0 then x else burn (n - 1) ((x * 1103515245) + 12345)
let spin n = ignore (Sys.opaque_identity (burn n 1))

(* Some 1 ms. *)
let piece = 1_000_000
let spread n f = Muster.Task.scope (fun s -> for i = 1 to n do ignore (Muster.Task.fork s (fun () -> f i)) done)

(* A task for each line: without these it fails, as few programs do. *)
let reads () =
  let lines = In_channel.input_lines stdin in
  if List.length lines <> sized 1000 then exit 3;
  spread (sized 1000) (fun _ -> spin piece)

let healthy () = spread (sized 2000) (fun _ -> spin piece)

(* Each task waits for the one before it. *)
let sequential () =
  let rec chain n before =
    if n > 0 then
      chain (n - 1) (Muster.Task.async (fun () -> Muster.Task.await before; spin piece))
    else Muster.Task.await before
  in
  Muster.Pool.run (Muster.Pool.default ()) (fun () -> chain (sized 1000) (Muster.Task.async ignore))

(* Four fifths of the time before the first call of Muster. *)
let prologue () =
  for _ = 1 to sized 1000 do spin piece done;
  spread (sized 500) (fun _ -> spin piece)

(* A left spine: the child is short, and the work lies before the next fork. *)
let spine () =
  let rec walk n =
    if n > 0 then begin
      spin piece;
      ignore (Muster.both (fun () -> walk (n - 1)) (fun () -> spin (piece / 20)))
    end
  in
  walk (sized 1500)

(* Fine: the work is in domains of its own, which the first one awaits. *)
let spawned () =
  spread 20 (fun _ -> spin piece);
  let domain _ = Domain.spawn (fun () -> spin (sized 1000 * piece)) in
  List.iter Domain.join (List.init 2 domain)

(* As a program that waits for its input. *)
let outside () =
  Unix.sleepf size;
  spread 100 (fun _ -> spin piece)

let tiny () =
  spread (sized 40_000) (fun _ ->
      let tasks = List.init 100 (fun _ -> Muster.Task.async (fun () -> spin 10)) in
      List.iter Muster.Task.await tasks)

let straggler () = spread 200 (fun i -> spin (if i = 100 then sized 1000 * piece else piece))

(* The same in the first iteration of a loop, which begins before the loop can know that it pays. *)
let first () =
  Muster.parallel_for ~start:1 ~finish:200 (fun i -> spin (if i = 1 then sized 1000 * piece else piece))

(* Two branches, the one nine times as long as the other. *)
let branches left right () =
  let branch part () = spin (sized (180 * part) * piece) in
  ignore (Muster.both (branch left) (branch right))

(* A child is at once a process of OCaml's; the parent calls Muster later. *)
let forks () =
  let child () = Unix.sleepf 0.2; Unix._exit 0 in
  match Unix.fork () with
  | 0 -> child ()
  | child -> Unix.sleepf 0.1; healthy (); ignore (Unix.waitpid [] child)
[@@ocamlformat "disable"]

(* One task of each round works on when all others have ended. *)
let rounds () =
  for _ = 1 to 20 do
    spread 16 (fun i -> spin (if i = 3 then sized 50 * piece else piece))
  done

(* Three quarters of the time after the tasks, in the same scope. *)
let tail () =
  let work s =
    let tasks = List.init 300 (fun _ -> Muster.Task.fork s (fun () -> spin piece)) in
    List.iter Muster.Task.await tasks;
    spin (sized 500 * piece)
  in
  Muster.Task.scope work

(* Tasks of nothing that no task hands out. *)
let posted () =
  for _ = 1 to sized 100 do
    let tasks = List.init 10_000 (fun _ -> Muster.Task.async (fun () -> spin 10)) in
    List.iter Muster.Task.await tasks
  done

let jobs () =
  let workers = Muster.Workers.create ~workers:2 ignore in
  let job i () = spin (if i = 10 then sized 1000 * piece else piece) in
  List.iter Muster.Task.await (List.init 40 (fun i -> Muster.Workers.post workers (job i)));
  Muster.Workers.drain workers

(* One job at a time. *)
let one_worker () =
  let workers = Muster.Workers.create ~workers:1 ~queue:1_000_000 ignore in
  let post _ = Muster.Workers.post workers (fun () -> spin piece) in
  List.iter Muster.Task.await (List.init (sized 1000) post);
  Muster.Workers.drain workers

(* To wake a worker takes longer than its share. *)
let broadcasts () =
  let pool = Muster.Pool.default () in
  for _ = 1 to sized 100_000 do Muster.Team.broadcast pool (fun _ -> spin 1000) done

(* The one is in C, and no collection can begin until it returns; the other collects. *)
let digest () =
  let text = String.make 60_000_000 'x' in
  let read () = for _ = 1 to sized 15 do ignore (Sys.opaque_identity (Digest.string text)) done in
  let build () =
    for _ = 1 to sized 4_000 do
      ignore (Sys.opaque_identity (List.init 3_000 float))
    done
  in
  ignore (Muster.Task.all [ read; build ])

let allocation () =
  let rec build n = if n = 0 then [] else n :: build (n - 1) in
  spread (sized 400) (fun _ ->
      for _ = 1 to 20 do
        ignore (Sys.opaque_identity (List.map float (build 10_000)))
      done)

(* Two CPUs that wait for each other's collections, with more events than a ring holds. *)
let forced () =
  spread (sized 200) (fun _ ->
      spin piece;
      Gc.full_major ())

let domains () =
  let rec tree n = if n = 0 then `Leaf else `Node (tree (n - 1), tree (n - 1)) in
  Muster.Pool.with_ ~domains:8 ~oversubscribe:true (fun pool ->
      Muster.Pool.run pool (fun () ->
          spread (sized 400) (fun _ ->
              for _ = 1 to 40 do
                ignore (Sys.opaque_identity (tree 10));
                spin (piece / 40)
              done)))

(* Eight workers that only compute: two do as well. *)
let crowd () =
  Muster.Pool.with_ ~domains:8 ~oversubscribe:true (fun pool ->
      Muster.Pool.run pool (fun () -> spread (sized 2000) (fun _ -> spin piece)))

(* Collections that cost little, unless one of the two has no CPU. *)
let trees () =
  let rec tree n = if n = 0 then `Leaf else `Node (tree (n - 1), tree (n - 1)) in
  spread (sized 2000) (fun _ ->
      ignore (Sys.opaque_identity (tree 12));
      spin (piece / 2))

let lock () =
  let lock = Muster.Mutex.create () in
  spread (sized 2000) (fun _ -> Muster.Mutex.protect lock (fun () -> spin piece))

(* Held for so short a time that nobody sleeps: workers only look for it. *)
let hot () =
  let lock = Muster.Mutex.create () and sum = ref 0 in
  spread 4 (fun _ ->
      for _ = 1 to sized 1_000_000 do
        Muster.Mutex.protect lock (fun () -> sum := burn 60 !sum)
      done)

let stdlib's () =
  let lock = Mutex.create () in
  spread (sized 1000) (fun _ -> Mutex.protect lock (fun () -> spin piece))

let channel () =
  let work = Muster.Chan.bounded 1 in
  spread 3 (fun i ->
      if i = 1 then begin
        for _ = 1 to sized 1_000_000 do
          Muster.Chan.send work 1
        done;
        Muster.Chan.close work
      end
      else Muster.Chan.iter ignore work)

(* The elements come one by one, more slowly than they are worked on. *)
let window () =
  let element i = if i < sized 1000 then (spin piece; Some (i, i + 1)) else None in
  let work _ = spin (piece / 8) in
  Muster.Task.with_map ~window:16 work (Seq.unfold element 0) (Seq.iter ignore)
[@@ocamlformat "disable"]

let rendezvous () =
  let channel = Muster.Chan.bounded 0 in
  spread 2 (fun i ->
      for _ = 1 to sized 200_000 do
        if i = 1 then Muster.Chan.send channel 1 else ignore (Muster.Chan.recv channel)
      done)

(* All ask for one value, which takes most of the time. *)
let one_key () =
  let table = Muster.Table.create () in
  let value _ = spin (sized 1000 * piece) in
  spread 100 (fun _ -> Muster.Table.find_or_add table 0 value; spin piece)
[@@ocamlformat "disable"]

let sharing () =
  let counters = Array.make 2 0 in
  spread 2 (fun i ->
      for _ = 1 to sized 1_000_000_000 do
        Array.unsafe_set counters (i - 1) (Array.unsafe_get counters (i - 1) + 1)
      done)

(* All change one key: what takes the time is its cache line, which goes to and fro. *)
let key () =
  let table = Muster.Table.create () in
  let add = function None -> Some 1 | Some n -> Some (n + 1) in
  Muster.parallel_for ~start:1 ~finish:(sized 5_000_000) (fun _ -> Muster.Table.update table 0 add)

(* Each reads a byte of every cache line, of more of its own than a cache holds. *)
let memory () =
  let n = 1 lsl 27 and line = 64 in
  spread 2 (fun _ ->
      let bytes = Bytes.make n 'x' and sum = ref 0 in
      for _ = 1 to sized 150 do
        for i = 0 to (n / line) - 1 do
          sum := !sum + Char.code (Bytes.unsafe_get bytes (i * line))
        done
      done;
      ignore (Sys.opaque_identity !sum))

(* Each task touches the pages of memory that is new. *)
let faults () =
  spread (sized 100) (fun _ ->
      let n = 1 lsl 25 in
      let bytes = Bigarray.(Array1.create char c_layout n) in
      for i = 0 to (n / 4096) - 1 do
        bytes.{i * 4096} <- 'x'
      done)

let blocking () =
  spread (sized 200) (fun _ ->
      spin piece;
      Unix.sleepf 0.01)

(* The consumer waits for results, which wait for the system. *)
let calls () =
  let call _ = spin piece; Muster.Task.blocking (fun () -> Unix.sleepf 0.02) in
  Muster.Task.with_map ~max:2 ~window:16 call (Seq.init (sized 100) Fun.id) (Seq.iter ignore)
[@@ocamlformat "disable"]

(* One iteration is as long as all others, by Domainslib's interface. *)
let domainslib () =
  let module T = Domainslib.Task in
  let pool = T.setup_pool ~num_domains:1 () in
  let body i = spin (if i = 150 then sized 1000 * piece else piece) in
  T.run pool (fun () -> T.parallel_for ~chunk_size:1 ~start:1 ~finish:200 ~body pool);
  T.teardown_pool pool

(* Each worker's share is as long as its number says. *)
let team () =
  let pool = Muster.Pool.default () in
  Muster.Team.broadcast pool (fun worker ->
      spin (piece * if worker = 0 then sized 1000 else sized 100))

(* Those of the examples. To pull in place shares cache lines, and costs two workers a third more with
   256 bodies; with 1,024 a worker seldom meets the line that the other writes, and it scales. *)
let nbody pull bodies () =
  let iterations = sized (420_000_000 / (bodies * bodies)) in
  Muster_examples.Nbody.(parallel ~pull ~iterations (random bodies))

let spectral_norm () =
  ignore (Sys.opaque_identity (Muster_examples.Spectral_norm.parallel (sized 4096)))

let all =
  [
    ("healthy", healthy);
    ("sequential", sequential);
    ("prologue", prologue);
    ("spine", spine);
    ("spawned", spawned);
    ("outside", outside);
    ("window", window);
    ("faults", faults);
    ("tiny", tiny);
    ("straggler", straggler);
    ("first", first);
    ("left", branches 9 1);
    ("right", branches 1 9);
    ("rounds", rounds);
    ("tail", tail);
    ("posted", posted);
    ("jobs", jobs);
    ("one-worker", one_worker);
    ("broadcasts", broadcasts);
    ("digest", digest);
    ("rendezvous", rendezvous);
    ("one-key", one_key);
    ("allocation", allocation);
    ("forced", forced);
    ("domains", domains);
    ("crowd", crowd);
    ("trees", trees);
    ("lock", lock);
    ("hot", hot);
    ("stdlib-lock", stdlib's);
    ("channel", channel);
    ("sharing", sharing);
    ("key", key);
    ("memory", memory);
    ("blocking", blocking);
    ("calls", calls);
    ("domainslib", domainslib);
    ("team", team);
    ("nbody-in-place", nbody Muster_examples.Nbody.pull_in_place 256);
    ("nbody-locally", nbody Muster_examples.Nbody.pull_locally 1024);
    ("spectral-norm", spectral_norm);
    ("talks", fun () -> for i = 1 to 100_000 do Printf.printf "line %d\n" i done);
    ("forks", fun () -> forks ());
    ("replaced", fun () -> healthy (); Unix.execv Sys.executable_name [| "planted"; "outside"; "0.1" |]);
    ("fails", fun () -> healthy (); exit 3);
    ("reads", reads);
    ("crashes", fun () -> healthy (); Unix.kill (Unix.getpid ()) Sys.sigkill);
  ]

let () = (List.assoc Sys.argv.(1) all) ()
