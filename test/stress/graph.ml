type team = For_n | For_n_dynamic | For_slices | Broadcast
type meeting = Mutex | Semaphore | Rwlock | Barrier | Latch | Condition | Lazy
type collection = Map | Sort | Filter | Fold | Parts | With_state | On_list | On_seq | On_bytes

type fault =
  | Overflow
  | Overflow_in_forks
  | Memory
  | Combine
  | Hook
  | Compact
  | Full_major
  | Finaliser

type t =
  | Leaf of int
  | Fail of int
  | Both of t * t
  | Async of t list
  | Shared of int * t
  | All of t list
  | First of t list
  | Any of t list
  | Promised of t
  | Named of int * t
  | Scope of t list
  | Deadline of t
  | Cancel of { early : bool; victim : t; rest : t }
  | For of { count : int; grain : int option; fails_at : int; body : t }
  | Reduce of { count : int; grain : int option; fails_at : int; body : t }
  | Find of { count : int; found_at : int; fails_at : int }
  | Scan of int
  | Team of { team : team; count : int; fails_at : int; body : t }
  | Run of t
  | Elsewhere of t
  | In_domain of t
  | In_thread of t
  | Below_c of t
  | Fresh of t
  | Ported of t list
  | Pipeline of { stages : int; bound : int option; items : t list }
  | Bounded of { max : int; items : t list }
  | Windowed of { window : int; items : t list }
  | Selected of t list
  | Meeting of meeting * t list
  | Blocking of int
  | Kernel of { dynamic : bool; count : int }
  | Collection of collection * int
  | Hurried of t
  | Dropped of t list
  | Fault of fault

(* Random graphs. [fuel] bounds the leaves that are evaluated.

   A broadcast waits for every worker; a task that joins a thread or a domain keeps its worker
   until that has ended, which may in turn wait for a task below which a helping worker has
   begun the broadcast. So a run has either broadcasts or such joins, of which to close a pool is one.

   Where C code, a signal or a finaliser has called OCaml within a fiber, OCaml 5.4 leaves for a
   moment a block on the heap that points to a stack, also after that has been freed; a
   compaction meanwhile crashes. So a run has either compactions or such calls. *)

type rules = { joins : bool; compacts : bool }

let rules_of_seed seed = { joins = seed land 1 = 0; compacts = seed land 2 = 0 }
let pick state choices = choices.(Random.State.int state (Array.length choices))
let below state n = Random.State.int state n
let grain state = if Random.State.bool state then None else Some (1 + below state 20)

(* Mostly outside the range, so that most loops succeed. *)
let some_index state count = below state (8 * (count + 1))

let leaf state =
  let n = below state 1000 in
  if below state 60 = 0 then Fail n else Leaf n

let rec graph state rules fuel =
  if fuel <= 1 then leaf state
  else
    let all = [| forks; forks; forks; loops; loops; places; traffic; traffic; leaves |] in
    let branch = pick state all in
    branch state rules fuel

and several state rules fuel =
  let count = 1 + below state 6 in
  List.init count (fun _ -> graph state rules (fuel / count))

and forks state rules fuel =
  let sub share = graph state rules (fuel / share) in
  match below state 16 with
  | 9 | 10 -> Scope (several state rules fuel)
  | 11 -> Deadline (sub 1)
  | 13 -> Any (List.init (below state 4) (fun i -> Fail i) @ [ sub 1 ] @ [ Fail 9 ])
  | 14 -> Promised (sub 1)
  | 15 -> Named (below state 1000, sub 1)
  | 12 -> Cancel { early = Random.State.bool state; victim = sub 2; rest = sub 2 }
  | 0 | 1 | 2 -> Both (sub 2, sub 2)
  | 3 | 4 -> Async (several state rules fuel)
  | 5 -> Shared (1 + below state 4, sub 1)
  | 6 | 7 -> All (several state rules fuel)
  | _ -> First (List.init (below state 4) (fun i -> Fail i) @ [ sub 1 ] @ [ Fail 9 ])

and loops state rules fuel =
  let count = below state (1 + min fuel 40) in
  let body () = graph state rules (fuel / (count + 1)) in
  let fails_at = some_index state count in
  match below state 8 with
  | 0 | 1 -> For { count; grain = grain state; fails_at; body = body () }
  | 2 | 3 -> Reduce { count; grain = grain state; fails_at; body = body () }
  | 4 -> Find { count = 10 * count; found_at = some_index state count; fails_at }
  | 5 -> Scan (20 * count)
  | _ ->
    let static = [| For_n; For_n_dynamic; For_slices |] in
    let teams = if rules.joins then static else Array.append static [| Broadcast |] in
    Team { team = pick state teams; count; fails_at; body = body () }

and places state rules fuel =
  let fuel = fuel - 1 in
  match below state 16 with
  | 12 when rules.joins && below state 4 = 0 -> Fresh (graph state rules fuel)
  | 13 | 14 -> Ported (several state rules fuel)
  | 0 | 1 | 2 -> Run (graph state rules fuel)
  | 3 | 4 | 5 -> Elsewhere (graph state rules fuel)
  | 6 when rules.joins -> In_domain (graph state rules fuel)
  | (7 | 8) when rules.joins -> In_thread (graph state rules fuel)
  | _ when rules.compacts -> Run (graph state rules fuel)
  | _ -> Below_c (graph state rules fuel)

and traffic state rules fuel =
  match below state 11 with
  | 8 | 9 -> Bounded { max = 1 + below state 4; items = several state rules fuel }
  | 10 -> Windowed { window = 1 + below state 4; items = several state rules fuel }
  | 0 | 1 ->
    let bound = if Random.State.bool state then None else Some (below state 3) in
    Pipeline { stages = below state 4; bound; items = several state rules fuel }
  | 2 -> Selected (several state rules fuel)
  | 3 -> Hurried (graph state rules (fuel - 1))
  | 4 -> Dropped (several state rules fuel)
  | _ ->
    let all = [| Mutex; Semaphore; Rwlock; Barrier; Latch; Condition; Lazy |] in
    Meeting (pick state all, several state rules fuel)

(* What has no parts of its own. *)
and leaves state rules fuel =
  match below state 12 with
  | 0 | 1 -> Blocking (below state 1000)
  | (2 | 3 | 4) when not rules.compacts ->
    Kernel { dynamic = Random.State.bool state; count = below state (10 * fuel) }
  | 5 when below state 4 = 0 ->
    let cheap = [| Overflow; Overflow_in_forks; Memory; Combine; Hook |] in
    let dear = if rules.compacts then [| Compact; Full_major |] else [| Finaliser; Full_major |] in
    Fault (pick state (if below state 6 = 0 then dear else cheap))
  | _ ->
    let all = [| Map; Sort; Filter; Fold; Parts; With_state; On_list; On_seq; On_bytes |] in
    Collection (pick state all, below state (20 * fuel))

let random state rules = graph state rules (1 + below state 400)

(* Text *)

let team_name = function
  | For_n -> "for_n"
  | For_n_dynamic -> "for_n_dynamic"
  | For_slices -> "for_slices"
  | Broadcast -> "broadcast"

let meeting_name = function
  | Mutex -> "mutex"
  | Semaphore -> "semaphore"
  | Rwlock -> "rwlock"
  | Barrier -> "barrier"
  | Latch -> "latch"
  | Condition -> "condition"
  | Lazy -> "lazy"

let collection_name = function
  | Map -> "array map"
  | Sort -> "array sort"
  | Filter -> "array filter"
  | Fold -> "array fold"
  | Parts -> "folds in parts"
  | With_state -> "calls with a state"
  | On_list -> "list"
  | On_seq -> "seq"
  | On_bytes -> "bytes"

let fault_name = function
  | Overflow -> "overflow"
  | Overflow_in_forks -> "overflow in forks"
  | Memory -> "out of memory"
  | Combine -> "raise in combine"
  | Hook -> "raise in hook"
  | Compact -> "compact"
  | Full_major -> "full major"
  | Finaliser -> "finaliser"

let name = function
  | Leaf _ -> "leaf"
  | Fail _ -> "fail"
  | Both _ -> "both"
  | Async _ -> "async"
  | Shared _ -> "shared"
  | All _ -> "all"
  | First _ -> "first"
  | Any _ -> "any"
  | Promised _ -> "promise"
  | Named _ -> "local"
  | Scope _ -> "scope"
  | Deadline _ -> "deadline"
  | Cancel { early; _ } -> if early then "cancel at once" else "cancel"
  | For _ -> "for"
  | Reduce _ -> "reduce"
  | Find _ -> "find"
  | Scan _ -> "scan"
  | Team t -> team_name t.team
  | Run _ -> "run"
  | Elsewhere _ -> "elsewhere"
  | In_domain _ -> "in domain"
  | In_thread _ -> "in thread"
  | Below_c _ -> "below c"
  | Fresh _ -> "fresh pool"
  | Ported _ -> "domainslib"
  | Pipeline _ -> "pipeline"
  | Bounded _ -> "bounded"
  | Windowed _ -> "windowed"
  | Selected _ -> "select"
  | Meeting (m, _) -> meeting_name m
  | Blocking _ -> "blocking"
  | Kernel { dynamic; _ } -> if dynamic then "kernel, dynamic" else "kernel"
  | Collection (c, _) -> collection_name c
  | Hurried _ -> "hurried"
  | Dropped _ -> "dropped"
  | Fault f -> fault_name f

(* Numbers, then parts. *)
let contents = function
  | Leaf n | Fail n | Scan n | Blocking n -> ([ n ], [])
  | Collection (_, count) | Kernel { count; _ } -> ([ count ], [])
  | Fault _ -> ([], [])
  | Both (a, b) -> ([], [ a; b ])
  | Shared (n, g) | Named (n, g) -> ([ n ], [ g ])
  | Async l | All l | First l | Any l | Scope l | Ported l | Selected l | Meeting (_, l) | Dropped l
    ->
    ([], l)
  | Promised g | Deadline g | Run g | Elsewhere g | In_domain g | In_thread g | Below_c g | Fresh g | Hurried g
    ->
    ([], [ g ])
  | Cancel { victim; rest; _ } -> ([], [ victim; rest ])
  | For { count; grain; fails_at; body } | Reduce { count; grain; fails_at; body } ->
    ((count :: Option.to_list grain) @ [ fails_at ], [ body ])
  | Find { count; found_at; fails_at } -> ([ count; found_at; fails_at ], [])
  | Team t -> ([ t.count; t.fails_at ], [ t.body ])
  | Bounded { max; items } -> ([ max ], items)
  | Windowed { window; items } -> ([ window ], items)
  | Pipeline { stages; bound; items } -> (stages :: Option.to_list bound, items)

let rec to_string graph =
  let numbers, parts = contents graph in
  let words = String.concat " " (name graph :: List.map string_of_int numbers) in
  if parts = [] then words
  else Printf.sprintf "%s (%s)" words (String.concat ", " (List.map to_string parts))
