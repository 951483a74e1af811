(* A hash table whose lookups take no lock: with a mutex for each of 64 parts a sequential program
   that looks up memoized positions takes 1.6 times as long.

   A key's hash chooses a shard, and in the shard's array a slot. A slot is one atomic with an
   immutable chain of entries, changed as a whole by compare-and-set.

   {v
     absent --claim--> Claimed { before; turn; ... } --settle--> Bound, or absent
        Bound --claim--^
   v}

   The function of a key runs while the key is Claimed. The party that has claimed it alone settles
   it: by a new value, or by the value [before] where its function raised. Others see [before]
   meanwhile. If they need the new value they wait for the mutex [turn], which the party holds until
   it has settled. The next one looks again, as a newcomer, and claims the key with the same mutex.
   So each end of a function wakes one waiter. A newcomer may claim the key before that one, with a
   mutex of its own. Then the woken waiter waits for this mutex, and keeps the old one meanwhile:
   those behind it sleep on. No circle of such waits comes about. Of its parties, take the one that
   looked last. It saw a claim with the mutex that the next one has, and that one has not claimed
   the key since it looked. So the claim was a former holder's, and the next one got the mutex, and
   looked, later.

   A settling that an asynchronous exception cuts short is done once more: a claim that is not found
   is settled.

   When a shard has more entries than slots it grows. A party freezes each slot, by a
   compare-and-set that keeps the chain, and copies all chains to an array of its own. It publishes
   that array by a compare-and-set of the old one. A frozen slot never changes. So any party may do
   the same meanwhile, and does before it changes a key there: all copies are equal, and the first
   one counts. Lookups read frozen chains. They are right: a newer array is published after they
   began. An exception may strike anywhere in between.

   At rest no key is Claimed. Slots may be Frozen where an exception struck the last growth. *)

type ('k, 'v) chain =
  | Nil
  | Bound of { hash : int; key : 'k; value : 'v; next : ('k, 'v) chain }
  | Claimed of {
      hash : int;
      key : 'k;
      before : 'v option;
      turn : Mutex.t;
      next : ('k, 'v) chain;
    }
  | Frozen of ('k, 'v) chain

type ('k, 'v) shard = {
  slots : ('k, 'v) chain Slots.t Atomic.t;  (** a power of two *)
  size : int Atomic.t;  (** entries, those claimed too *)
}

type ('k, 'v) t = { hash : 'k -> int; equal : 'k -> 'k -> bool; shards : ('k, 'v) shard array }

(* One party copies a 64th of the table when it grows, and two seldom add to one count at once. *)
let shard_bits = 6
let equal_to a b = compare a b = 0

let create ?(hash = Hashtbl.hash) ?(equal = equal_to) () =
  let shard _ = { slots = Atomic.make (Slots.make 1 Nil); size = Atomic.make 0 } in
  { hash; equal; shards = Array.init (1 lsl shard_bits) shard }

(* A user's hash may differ in its upper bits, or its lower ones, alone. *)
let[@inline] hash_of t key =
  let product = t.hash key * 0x1E3779B97F4A7C15 in
  product lxor (product lsr 32)

let[@inline] shard_of t hash = t.shards.(hash land ((1 lsl shard_bits) - 1))
let[@inline] index slots hash = (hash lsr shard_bits) land (Slots.length slots - 1)

(* {2 Chains} *)

let rec entry t hash key = function
  | Nil -> Nil
  | Frozen chain -> entry t hash key chain
  | (Bound { hash = h; key = k; next; _ } | Claimed { hash = h; key = k; next; _ }) as it ->
    if h = hash && t.equal k key then it else entry t hash key next

let rec claimed turn = function
  | Claimed c as it -> if c.turn == turn then it else claimed turn c.next
  | Bound { next; _ } -> claimed turn next
  | Nil | Frozen _ -> Nil

let next = function
  | Bound { next; _ } | Claimed { next; _ } -> next
  | Nil | Frozen _ -> assert false

(* The entry with [next] behind it. *)
let followed it next =
  match it with
  | Bound b -> if b.next == next then it else Bound { b with next }
  | Claimed c -> if c.next == next then it else Claimed { c with next }
  | Nil | Frozen _ -> assert false

let rec without it chain = if chain == it then next it else followed chain (without it (next chain))

(* {2 Growth} *)

let rec freeze slots i =
  match Slots.get slots i with
  | Frozen chain -> chain
  | chain -> if Slots.compare_and_set slots i chain (Frozen chain) then chain else freeze slots i

let put wide hash it =
  let i = index wide hash in
  Slots.set_fresh wide i (followed it (Slots.get wide i))

let rec deal wide = function
  | Nil | Frozen _ -> ()
  | (Bound { hash; next; _ } | Claimed { hash; next; _ }) as it ->
    put wide hash it;
    deal wide next

let grow shard slots =
  let wide = Slots.make (4 * Slots.length slots) Nil in
  for i = 0 to Slots.length slots - 1 do
    deal wide (freeze slots i)
  done;
  ignore (Atomic.compare_and_set shard.slots slots wide)

(* [step] gets the chain of [hash] and its slot. It changes the slot by compare-and-set, or calls
   [change] again. *)
let rec change shard hash step =
  let slots = Atomic.get shard.slots in
  let i = index slots hash in
  match Slots.get slots i with
  | Frozen _ ->
    if Atomic.get shard.slots == slots then grow shard slots;
    change shard hash step
  | seen -> step slots i seen

(* {2 Claims} *)

let note_new shard slots =
  let size = 1 + Atomic.fetch_and_add shard.size 1 in
  if size > Slots.length slots then grow shard slots

let value = function
  | Bound { value; _ } -> Some value
  | Claimed { before; _ } -> before
  | Nil | Frozen _ -> None

(* Claims the key, unless it is claimed; the entry that was there. *)
let rec claim t shard hash key turn =
  change shard hash @@ fun slots i seen ->
  match entry t hash key seen with
  | Claimed _ as theirs -> theirs
  | it ->
    let next = if it == Nil then seen else without it seen in
    let before = value it in
    if Slots.compare_and_set slots i seen (Claimed { hash; key; before; turn; next }) then begin
      if it == Nil then note_new shard slots;
      it
    end
    else claim t shard hash key turn

type 'v now = As_before | Now of 'v option

type 'v settling = {
  hash : int;
  mutable turn : Mutex.t;  (** its holder is the party *)
  mutable now : 'v now;
}

let rec settle shard ({ hash; turn; now } as settling) =
  change shard hash @@ fun slots i seen ->
  match claimed turn seen with
  | Claimed { key; before; _ } as it ->
    let value = match now with As_before -> before | Now value -> value in
    let next = without it seen in
    let chain = match value with Some value -> Bound { hash; key; value; next } | None -> next in
    if Slots.compare_and_set slots i seen chain then begin
      if Option.is_none value then Atomic.decr shard.size
    end
    else settle shard settling
  | Nil | Bound _ | Frozen _ -> ()

let release shard settling =
  if Mutex.is_mine settling.turn then begin
    settle shard settling;
    Mutex.unlock settling.turn
  end

(* Unbroken from the lock to the note of it. *)
let wait fn settling theirs =
  if Fiber.is_me (Mutex.holder theirs) then
    invalid_arg ("Muster.Table." ^ fn ^ ": the function of a key asks for the same key");
  let mine = settling.turn in
  Mutex.lock_as (Event.make ("Table." ^ fn)) theirs;
  settling.turn <- theirs;
  Mutex.unlock mine

let rec run fn t shard key f settling =
  match claim t shard settling.hash key settling.turn with
  | Claimed { turn; _ } ->
    wait fn settling turn;
    run fn t shard key f settling
  | it -> settling.now <- Now (f (value it))

(* [f] runs once. Unbroken from its handler to that of [release], so an asynchronous exception
   counts as that of [f]. [fn] is the function that the user called. *)
let alter fn t hash key f =
  let shard = shard_of t hash in
  let settling = { hash; turn = Mutex.locked (); now = As_before } in
  match run fn t shard key f settling with
  | () ->
    Outcome.firmly release shard settling;
    settling.now
  | exception exn ->
    let failure = Outcome.caught exn in
    Outcome.firmly release shard settling;
    Outcome.raise failure

(* {2 The interface} *)

let[@inline] look t hash key =
  let slots = Atomic.get (shard_of t hash).slots in
  entry t hash key (Slots.get slots (index slots hash))

let find_opt t key = value (look t (hash_of t key) key)

let mem t key = Option.is_some (find_opt t key)

let add fn t hash key f =
  let value = function Some _ as there -> there | None -> Some (f key) in
  match alter fn t hash key value with
  | Now (Some value) -> value
  | Now None | As_before -> assert false

let found_or_added fn t key f =
  let hash = hash_of t key in
  match look t hash key with
  | Bound { value; _ } | Claimed { before = Some value; _ } -> value
  | Nil | Frozen _ | Claimed { before = None; _ } -> add fn t hash key f

let find_or_add t key f = found_or_added "find_or_add" t key f
let update t key f = ignore (alter "update" t (hash_of t key) key f)
let replace t key value = ignore (alter "replace" t (hash_of t key) key (fun _ -> Some value))

let remove t key =
  let hash = hash_of t key in
  if look t hash key != Nil then ignore (alter "remove" t hash key (fun _ -> None))

let length t = Array.fold_left (fun n shard -> n + Atomic.get shard.size) 0 t.shards

let rec fold_chain f chain acc =
  match chain with
  | Nil -> acc
  | Frozen chain -> fold_chain f chain acc
  | Bound { key; value; next; _ } | Claimed { key; before = Some value; next; _ } ->
    fold_chain f next (f key value acc)
  | Claimed { before = None; next; _ } -> fold_chain f next acc

let fold f t init =
  let in_shard acc shard =
    let slots = Atomic.get shard.slots in
    let rec from i acc =
      if i = Slots.length slots then acc else from (i + 1) (fold_chain f (Slots.get slots i) acc)
    in
    from 0 acc
  in
  Array.fold_left in_shard init t.shards

let iter f t = fold (fun key value () -> f key value) t ()

let memo ?hash ?equal f =
  let t = create ?hash ?equal () in
  let rec value key = found_or_added "memo" t key compute
  and compute key = f value key in
  value
