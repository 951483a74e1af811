(* Minor heaps that fit parallel work.

   A minor collection stops all domains. It starts when the first worker's heap is full and
   costs some 10 us of meeting at barriers, and the copying of what survives; a larger heap has
   fewer of both, and loses when it no longer fits the caches. Measured on a 2-core machine with
   1 MB of second-level cache and 32 of third, 2 workers, ratios to the default of 256 k words:
   a builder of trees of which 5 % survive runs 0.87 times as long with 512 k words, 0.80 with
   1 M, 0.77 with 2 M; fork-join of which nothing survives 0.98, 1.02, 1.08.

   So a pool of several workers begins with 512 k words, and a worker whose collections let
   1 % or more survive goes on to 1 M.

   Where a CPU has 2 MB of second-level cache, fork-join of which nothing survives runs 0.93 times as long on two
   workers with three quarters of that, 192 k words, as with 512 k (0.94 with 128 k, 1.15 with 32 k): the memory comes
   from the cache again. More workers take longer to meet, one that sleeps longer still (with lists of a hundred made by
   one of two workers 192 k words took 1.0 to 1.3 times as long), and smaller caches are filled sooner: there 512 k words
   stay.

   The caller's heap follows these rules too while it works in
   the pool. When it leaves after having allocated for long there, its heap becomes what it was: with 2 MB of
   second-level cache lists that die young take up to 1.4 times as long in 1 M words, and the program may go on
   sequentially. After shorter visits, for which a collection and new pages would be too dear, the heap stays: nobody
   calls the library when no other visit follows, and a finaliser that looked for it would be a call from C
   within fibers, beside which OCaml 5.4's [Gc.compact] crashes (doc/correctness.md).

   A user's own choice stands: given to the pool, in OCAMLRUNPARAM, or by Gc.set in the domain that
   creates the pool. *)

open Place

let runtime's_default = 262_144
let first = 524_288
let largest = 1_048_576
let survival = 0.01

(* {2 A heap that fits the second-level cache} *)

let no_survival = 0.001
let cached = Machine.second_level_cache () / (Sys.word_size / 8) * 3 / 4
let least_cached = 196_608
let may_be_cached ~workers = workers = 2 && least_cached <= cached && cached < first

(* Without a number ([s], [s32k]) the runtime sets one, too. *)
let chosen_by_user =
  let sets_heap text =
    List.exists (String.starts_with ~prefix:"s") (String.split_on_char ',' text)
  in
  Option.fold ~none:false ~some:sets_heap (Cpu.parameters Sys.getenv_opt)

let words () = (Gc.get ()).minor_heap_size

(* The runtime reserves address space, for each domain that there may be, for the largest heap that any
   domain has had; where it gets none it ends the program. Hence three quarters: it also needs some. *)
let has_room words =
  let space = Machine.address_space () in
  space < 0 || words * (Sys.word_size / 8) * Cpu.runtime_limit () < space / 4 * 3

(* What the calling domain's heap was set to here; 0 if it never was. Another size is the program's choice. *)
let ours = Domain.DLS.new_key (fun () -> 0)

(* What it was before that, or what a pool's user wants: to go back to. *)
let original = Domain.DLS.new_key (fun () -> 0)

let set ?(lasting = false) wanted =
  let before = words () in
  if wanted < before || (wanted > before && has_room wanted) then begin
    Machine.set_minor_heap ~words:wanted;
    if Domain.DLS.get ours = 0 then Domain.DLS.set original before;
    Domain.DLS.set ours (words ())
  end;
  if lasting then Domain.DLS.set original (words ())

let is_managed words =
  words = runtime's_default || words = first || (words = cached && words = Domain.DLS.get ours)

let is_programs current =
  let ours = Domain.DLS.get ours in
  ours <> 0 && ours <> current

(* What the pool's user wants for its workers, if anything. A new domain begins with what
   OCAMLRUNPARAM says, but knows nothing of a [Gc.set] in the creator's. (1 M words there may also
   be what an earlier pool has grown to: that serves the next one as well.) *)
let wanted = function
  | Some words -> Some words
  | None ->
    let words = words () in
    if chosen_by_user || is_managed words then None else Some words

(* Of the domain that creates a pool of that many workers. *)
let of_creator pool ~size =
  match pool.minor_heap with
  | Some words -> Some words
  | None when size > 1 && words () = runtime's_default && (not chosen_by_user) && has_room first ->
    Some first
  | None -> None

(* A new resident begins with the heap that the runtime gives it, as somebody waits for it. It
   settles before its first sleep, or at its first look. *)
let settle w =
  if not w.own.settled then begin
    w.own.settled <- true;
    if not (is_programs (words ())) then
      Option.iter set (of_creator w.pool ~size:(Atomic.get w.pool.size));
    w.own.counts.heap <- words ()
  end

(* {2 Fitting} *)

(* From [first] it goes one way or the other, from the cached one only up: a heap changes three times at most. *)
let better words ~survived ~workers ~all_busy =
  let next =
    let is_small = words = runtime's_default || words = first in
    if is_small && survived < no_survival && all_busy && may_be_cached ~workers then cached
    else if words = runtime's_default then first
    else if survived >= survival && (words = first || words = cached) then largest
    else words
  in
  if next <= words || has_room next then next else words

(* To wake one that sleeps, for each collection, costs more than to meet one that works. *)
let all_busy pool ~workers =
  Parking.sleepers pool.parking = 0 && Atomic.get pool.residents >= workers - 1

(* What a collection copies may have been allocated before the count began, or by another domain. *)
let surviving ~promoted ~allocated = Float.min 1. (promoted /. allocated)

(* Looks at the collections since the last fit, once there were a few. *)
let fit w ~tell =
  let glance = w.own.glance in
  let minor = Gc.minor_words () in
  let allocated = minor -. glance.minor in
  let current = words () in
  if allocated >= 8. *. float current then begin
    let _, promoted, _ = Gc.counters () in
    let survived = surviving ~promoted:(promoted -. glance.promoted) ~allocated in
    if w.own.fitted = 0 then w.own.fitted <- Machine.ticks ();
    let first_time = glance.minor = 0. in
    glance.minor <- minor;
    glance.promoted <- promoted;
    if (not first_time) && is_managed current && not (is_programs current) then begin
      let workers = Atomic.get w.pool.size in
      let next = better current ~survived ~workers ~all_busy:(all_busy w.pool ~workers) in
      if next <> current then begin
        set next;
        tell next survived
      end
    end
  end

let fit w ~tell =
  settle w;
  if w.pool.minor_heap = None && (not chosen_by_user) && not (alone w) then fit w ~tell

(* {2 The caller's, afterwards} *)

(* To give it back and to have it grow again in the next visit takes some 2 ms, for a collection and new pages. *)
let long = Machine.ticks_of_us 100_000

(* [outermost]: the caller goes back to no other pool, and its domain is its own. *)
let give_back w ~outermost =
  let since = w.own.fitted in
  if since <> 0 then begin
    w.own.fitted <- 0;
    w.own.glance.minor <- 0.;
    let original = Domain.DLS.get original and current = words () in
    let is_ours = current = Domain.DLS.get ours && w.pool.minor_heap = None in
    let is_other = 0 < original && original <> current in
    if outermost && is_ours && is_other && Machine.ticks () - since >= long then set original
  end
