(* Every threshold of the loops, the collections, the kernels and Domainslib's loops, each with its
   unit, its reason and the measurement behind it. Times are in ticks (Machine.ticks). *)

open struct
  module Machine = Muster_core.Machine
end

(* {2 Sharing} *)

(* The least work that is shared. On a machine whose CPUs are far from each other (a virtual one,
   where a wake takes 20 us) a loop of 10 us of which one iteration is half ran 1.2 times as long
   when it was shared. *)
let min_shared = Machine.ticks_of_us 12

(* The least work that a caller who runs it alone gives away after all. *)
let min_moved = 3 * min_shared

(* The least work for which a sleeping worker is woken. On that machine a loop of 50 us after a
   pause ran 1.35 times as long when it was shared. *)
let min_waking = Machine.ticks_of_us 60

(* How long a chunk lasts: 1 % of it is some five looks around. *)
let chunk = Machine.ticks_of_us 8

(* A chunk that lasts so long is no longer cut. *)
let coarse = 4 * chunk

(* So long may loops that begin after one another count as one: by then a worker that was woken for
   them has come. *)
let window = 2 * min_waking

(* {2 Looks at the clock} *)

(* A cost that is remembered as shorter than this is trusted to be short if the last such call of
   this domain began less than a moment ago: then it reads the clock once. *)
let tiny = min_shared / 8

let moment = Machine.ticks_of_us 6

(* How many times as long as the measured part the rest may be believed to last: one iteration of
   many may be long by chance. *)
let max_extrapolation = 15

(* Chunks grow so until one lasts so long. A look takes 10 to 25 ns. With a growth of 3 the looks
   around 10 trivial iterations take 15 ns less, but 50 dear iterations after 50 cheap ones are not
   shared. *)
let chunk_growth = 2

let between_looks = Machine.ticks_of_us 3

(* So many iterations are run without a look by a worker that has offered enough already. *)
let max_unmeasured = 16

(* The least time between two checkpoints of a loop that stays with its caller. *)
let between_checkpoints = Machine.ticks_of_us 50

(* {2 Counts of iterations} *)

(* So few of unknown cost are shared at once, as each may be a job of its own; of more, the caller
   tries the first. *)
let few_unknown = 64

(* The caller of a search looks at so many before it asks others: the search may end there. *)
let first_of_search = few_unknown + 1

(* A chunk is at most so many times as long as the one before: the remembered cost may be a poor
   guess for the rest. *)
let growth = 16

(* The most leaves of a reduction whose caller gives no grain. *)
let leaves = 512

(* {2 Teams} *)

(* More than a region costs; and a wake-up for each worker that sleeps. *)
let min_region = Machine.ticks_of_us 1

let min_region_waking = Machine.ticks_of_us 25

(* Shorter work is not worth a thief's trip. *)
let min_stolen = Machine.ticks_of_us 1 / 4

(* Units of each worker: not so many that the last ones keep others waiting. *)
let units_each = 8

(* Indices between two looks of a slice: they grow with the work that has been done. *)
let first_block = 64

let longest_block = 1024

(* Elements of an array whose memory all workers touch first. Half a megabyte: some 100 us for one
   worker, where a region takes a few, or 25 for each worker that sleeps. *)
let first_touch = 1 lsl 16

(* Of a result so short, each element may be a job of its own. Two such arrays cost less than the
   shortest loop that is shared. *)
let short_result = 1024

(* The blocks of a scan, and of groups, at most. *)
let blocks = 64

(* Elements of a leaf of a fold, at least: it is a loop, and a branch of the tree costs as much as
   some turns of it. *)
let shortest_leaf = 32

(* Ranges of this length are sorted by insertion; runs of this length are merged without a cut. *)
let insertion = 8

let longest_merge = 2048

(* The elements for which there is room at first, where there may be a few of many. *)
let first_room = 64

(* Longer arrays are scanned in blocks, with two calls of the operation for each element. *)
let one_block = 1024

(* {2 Lists} *)

(* To walk past so many elements takes so long, in ticks. A function that takes no longer gains
   nothing from a second worker, which waits for the same cells. *)
let walked = 1000

let walk = Machine.ticks_of_us 5

(* So many elements of a list are done without a look if they are trusted to take less than
   [short]. *)
let few = 128

let short = min_shared / 4

(* A list whose first comparison takes longer is sorted as an array, which can be shared. *)
let long_comparison = min_shared / 16

(* Elements of a sequence that take longer are worth to be read in blocks. *)
let worth_a_block = Machine.ticks_of_us 1 / 10

(* Elements of a piece, or of a block of a sequence: longer ones would do the caches no good. *)
let longest_piece = 4096

(* Pieces of a list's first block. *)
let first_pieces = 16

(* {2 Kernels} *)

(* A C body of so long runs without the domain lock: a collection beside one of 10 ms waits 0.04 ms
   then, and not 10. An empty region takes 590 ns without the lock, and 200 with it. *)
let long_body = Machine.ticks_of_us 20
