exception Boom of int

type team = For_n | For_n_dynamic | For_slices | Broadcast

type t =
  | Leaf of int
  | Fail of int
  | Both of t * t
  | Async of t list
  | Shared of int * t
  | All of t list
  | First of t list
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

(* Random graphs. [fuel] bounds the leaves that are evaluated.

   A broadcast waits for every worker; a task that joins a thread or a domain keeps its worker
   until that has ended, which may in turn wait for a task below which a helping worker has
   begun the broadcast. So a run has either broadcasts or such joins ([blocked]). *)

let pick state choices = choices.(Random.State.int state (Array.length choices))
let below state n = Random.State.int state n
let grain state = if Random.State.bool state then None else Some (1 + below state 20)

(* Mostly outside the range, so that most loops succeed. *)
let some_index state count = below state (8 * (count + 1))

let leaf state =
  let n = below state 1000 in
  if below state 60 = 0 then Fail n else Leaf n

let rec graph state ~blocked fuel =
  if fuel <= 1 then leaf state
  else
    let branch = pick state [| forks; forks; forks; loops; loops; places |] in
    branch state ~blocked fuel

and several state ~blocked fuel =
  let count = 1 + below state 6 in
  List.init count (fun _ -> graph state ~blocked (fuel / count))

and forks state ~blocked fuel =
  let sub share = graph state ~blocked (fuel / share) in
  match below state 13 with
  | 9 | 10 -> Scope (several state ~blocked fuel)
  | 11 -> Deadline (sub 1)
  | 12 -> Cancel { early = Random.State.bool state; victim = sub 2; rest = sub 2 }
  | 0 | 1 | 2 -> Both (sub 2, sub 2)
  | 3 | 4 -> Async (several state ~blocked fuel)
  | 5 -> Shared (1 + below state 4, sub 1)
  | 6 | 7 -> All (several state ~blocked fuel)
  | _ -> First (List.init (below state 4) (fun i -> Fail i) @ [ sub 1 ] @ [ Fail 9 ])

and loops state ~blocked fuel =
  let count = below state (1 + min fuel 40) in
  let body () = graph state ~blocked (fuel / (count + 1)) in
  let fails_at = some_index state count in
  match below state 8 with
  | 0 | 1 -> For { count; grain = grain state; fails_at; body = body () }
  | 2 | 3 -> Reduce { count; grain = grain state; fails_at; body = body () }
  | 4 -> Find { count = 10 * count; found_at = some_index state count; fails_at }
  | 5 -> Scan (20 * count)
  | _ ->
      let static = [| For_n; For_n_dynamic; For_slices |] in
      let teams = if blocked then static else Array.append static [| Broadcast |] in
      Team { team = pick state teams; count; fails_at; body = body () }

and places state ~blocked fuel =
  let fuel = fuel - 1 in
  match below state 12 with
  | 0 | 1 | 2 -> Run (graph state ~blocked fuel)
  | 3 | 4 | 5 -> Elsewhere (graph state ~blocked fuel)
  | 6 when blocked -> In_domain (graph state ~blocked fuel)
  | (7 | 8) when blocked -> In_thread (graph state ~blocked fuel)
  | _ -> Below_c (graph state ~blocked fuel)

let random state ~blocked = graph state ~blocked (1 + below state 400)

(* Text *)

let team_name = function
  | For_n -> "for_n"
  | For_n_dynamic -> "for_n_dynamic"
  | For_slices -> "for_slices"
  | Broadcast -> "broadcast"

let rec to_string = function
  | Leaf n -> string_of_int n
  | Fail n -> Printf.sprintf "fail %d" n
  | Both (a, b) -> call "both" [ a; b ]
  | Async l -> call "async" l
  | Shared (n, g) -> call (Printf.sprintf "shared %d" n) [ g ]
  | All l -> call "all" l
  | First l -> call "first" l
  | Scope l -> call "scope" l
  | Deadline g -> call "deadline" [ g ]
  | Cancel { early; victim; rest } ->
      call (if early then "cancel at once" else "cancel") [ victim; rest ]
  | For l -> loop "for" l.count l.grain l.fails_at l.body
  | Reduce l -> loop "reduce" l.count l.grain l.fails_at l.body
  | Find { count; found_at; fails_at } ->
      Printf.sprintf "find %d (found at %d, fails at %d)" count found_at fails_at
  | Scan n -> Printf.sprintf "scan %d" n
  | Team t -> loop (team_name t.team) t.count None t.fails_at t.body
  | Run g -> call "run" [ g ]
  | Elsewhere g -> call "elsewhere" [ g ]
  | In_domain g -> call "in_domain" [ g ]
  | In_thread g -> call "in_thread" [ g ]
  | Below_c g -> call "below_c" [ g ]

and call name parts =
  Printf.sprintf "%s (%s)" name (String.concat ", " (List.map to_string parts))

and loop name count grain fails_at body =
  let grain = Option.fold ~none:"" ~some:(Printf.sprintf " grain %d") grain in
  call (Printf.sprintf "%s %d%s fails at %d" name count grain fails_at) [ body ]

(* Worth *)

module type RUNNER = sig
  val both : (unit -> int) -> (unit -> int) -> int * int
  val async : (unit -> int) list -> int list
  val shared : int -> (unit -> int) -> int list
  val all : (unit -> int) list -> int list
  val first : (unit -> int) list -> int
  val scope : (unit -> int) list -> int list
  val deadline : (unit -> int) -> int
  val cancel : early:bool -> (unit -> int) -> (unit -> int) -> int
  val for_ : grain:int option -> int -> (int -> unit) -> unit
  val reduce : grain:int option -> int -> ('a -> 'a -> 'a) -> 'a -> (int -> 'a) -> 'a
  val find : int -> (int -> int option) -> int option
  val scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
  val team : team -> int -> (int -> unit) -> unit
  val run : (unit -> int) -> int
  val elsewhere : (unit -> int) -> int
  val in_domain : (unit -> int) -> int
  val in_thread : (unit -> int) -> int
  val below_c : (unit -> int) -> int
end

let prime = 999_983
let mix a b = ((a * 31) + b + 7) mod prime

(* x -> a x + b: composition is associative, not commutative. *)
let compose (a, b) (c, d) = (a * c mod prime, ((a * d) + b) mod prime)

module Value (R : RUNNER) = struct
  (* Plain cells, one per index: what a loop wrote must be seen after its join. *)
  let summed count loop f =
    let cells = Array.make count 0 in
    loop (fun i -> cells.(i) <- 1 + f i);
    if Array.mem 0 cells then failwith "an index was not run";
    Array.fold_left mix 0 cells

  let rec value = function
    | Leaf n -> n
    | Fail n -> raise (Boom n)
    | Both (a, b) ->
        let x, y = R.both (part a) (part b) in
        mix x y
    | Async l -> total (R.async (List.map part l))
    | Shared (n, g) -> total (R.shared n (part g))
    | All l -> total (R.all (List.map part l))
    | First l -> R.first (List.map part l)
    | Scope l -> total (R.scope (List.map part l))
    | Deadline g -> R.deadline (part g)
    | Cancel { early; victim; rest } -> R.cancel ~early (part victim) (part rest)
    | For l -> summed l.count (R.for_ ~grain:l.grain l.count) (indexed l.fails_at l.body)
    | Reduce l ->
        let affine i = (i + 2, indexed l.fails_at l.body i) in
        let a, b = R.reduce ~grain:l.grain l.count compose (1, 0) affine in
        mix a b
    | Find { count; found_at; fails_at } ->
        Option.value ~default:(-1) (R.find count (find_step found_at fails_at))
    | Scan n ->
        let maps = R.scan compose (Array.init n (fun i -> (i + 2, i))) in
        Array.fold_left (fun sum (a, b) -> mix sum (mix a b)) 0 maps
    | Team t -> summed t.count (R.team t.team t.count) (indexed t.fails_at t.body)
    | Run g -> R.run (part g)
    | Elsewhere g -> R.elsewhere (part g)
    | In_domain g -> R.in_domain (part g)
    | In_thread g -> R.in_thread (part g)
    | Below_c g -> R.below_c (part g)

  and part g () = value g
  and total values = List.fold_left mix 0 values

  and indexed fails_at body i =
    if i = fails_at then raise (Boom i) else mix i (value body)

  and find_step found_at fails_at i =
    if i = fails_at then raise (Boom i) else if i >= found_at then Some i else None
end

module Sequential = struct
  let both f g =
    let x = f () in
    (x, g ())

  let async = List.map (fun f -> f ())
  let all = async
  let scope = async
  let deadline f = f ()
  let cancel ~early:_ _ rest = rest ()

  let shared n f =
    let x = f () in
    List.init n (fun _ -> x)

  let rec first = function
    | [] -> invalid_arg "first"
    | [ f ] -> f ()
    | f :: others -> (
        try f () with leftmost -> ( try first others with Boom _ -> raise leftmost))

  let loop count f =
    for i = 0 to count - 1 do
      f i
    done

  let for_ ~grain:_ = loop

  let reduce ~grain:_ count combine init f =
    List.fold_left (fun sum i -> combine sum (f i)) init (List.init count Fun.id)

  let find count f = List.find_map f (List.init count Fun.id)

  let scan op a =
    let step i x = if i > 0 then a.(i) <- op a.(i - 1) x in
    Array.iteri step a;
    a

  let team _ = loop
  let run f = f ()
  let elsewhere = run
  let in_domain = run
  let in_thread = run
  let below_c = run
end
