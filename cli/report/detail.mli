(** What the page's timeline is drawn from: the longest spans one by one, the rest as sums over
    stretches of time. So the page's size has a bound, however long the run. *)

val most_spans : int
(** That many are told one by one, of all workers together. *)

val most_bytes : int
(** The JSON has no more. *)

val to_string : ?most:int -> Recording.t -> Spans.t -> Summary.t -> int * string
(** The length below which spans may be summed, or 0; and JSON without the character [<], so that it may
    stand in a page. With [most] in place of {!most_spans}. Its fields:

    - [duration], in ns as all times; [shortest], that length;
    - [sites], names, those with the most time first, 1,000 at most;
    - [tasks], by columns: [number] and [parent] (their differences from the number before, and from
      the task's own), [site] and [of] (the parent's site), as indices into [sites] or -1; [waited],
      what it lasted longer than it ran in the spans; [more], what it ran in other spans than those
      told; [latency], from its fork to its beginning, or -1; [victim], whom it was stolen from, or
      -1;
    - [lanes]: [name]; [spans] and [gc] have [gap] (from the end of the one before), [length] and
      [what]: a task (from 6 on its index), or 0 to 5: code, region, looking, parked, away, unknown,
      and of the collector 0 to 2: minor, major, stop; their sums are in [sums] and [gcsums]: [from],
      [upto], [count], [ns] and [what], the most of it (from 6 on a site); [queue], the parts of the
      stretches of [load] for which it had no CPU;
    - [load]: [from], [upto], [cpus], [waiting], [busy]. *)
