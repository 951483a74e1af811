(* Open addressing with linear probing: a shard's slot holds the lowest item of a name
   or -1, and [next] chains the others in order. A shard is at most half full. *)

type t = {
  names : Name.t array;
  next : int array;
  members : int array array;  (** The items of each shard, in order. *)
  slots : int array array;
}

(* The low bits choose the slot, these the shard. *)
let shard ~shards (name : Name.t) = (name.hash lsr 40) land (shards - 1)

let partition ~shards shard =
  let count = Array.make shards 0 in
  Array.iter (fun s -> count.(s) <- count.(s) + 1) shard;
  let members = Array.map (fun n -> Array.make n 0) count in
  for item = Array.length shard - 1 downto 0 do
    let s = shard.(item) in
    count.(s) <- count.(s) - 1;
    members.(s).(count.(s)) <- item
  done;
  members

let create ~shards names shard =
  {
    names;
    next = Array.make (Array.length names) (-1);
    members = partition ~shards shard;
    slots = Array.make shards [||];
  }

let rec power_of_two n = if n <= 1 then 1 else 2 * power_of_two ((n + 1) / 2)

let probe t slots (name : Name.t) =
  let mask = Array.length slots - 1 in
  let rec go slot =
    let item = slots.(slot) in
    if item < 0 || Name.equal t.names.(item) name then slot else go ((slot + 1) land mask)
  in
  go (name.hash land mask)

(* From the last item to the first, so that each goes to the front of its chain. *)
let fill t shard =
  let members = t.members.(shard) in
  let slots = Array.make (power_of_two (2 * (Array.length members + 1))) (-1) in
  for i = Array.length members - 1 downto 0 do
    let item = members.(i) in
    let slot = probe t slots t.names.(item) in
    t.next.(item) <- slots.(slot);
    slots.(slot) <- item
  done;
  t.slots.(shard) <- slots

let first t name =
  let slots = t.slots.(shard ~shards:(Array.length t.slots) name) in
  slots.(probe t slots name)

let next t item = t.next.(item)
