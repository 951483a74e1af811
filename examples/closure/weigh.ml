(* A walk in breadth. [seen.(q) = p] says that the walk from [p] has met [q], so
   nothing needs to be cleared between two walks, which begin at different packages. *)
type scratch = { seen : int array; queue : int array }

let scratch ~packages = { seen = Array.make packages (-1); queue = Array.make packages 0 }

type weight = { count : int array; size : int array }

let weight ~packages = { count = Array.make packages 0; size = Array.make packages 0 }

let closure (graph : Graph.t) ~sizes { seen; queue } weight package =
  seen.(package) <- package;
  queue.(0) <- package;
  let met = ref 1 and visited = ref 0 and size = ref 0 in
  while !visited < !met do
    let p = queue.(!visited) in
    incr visited;
    size := !size + sizes.(p);
    let targets = graph.(p).targets in
    for i = 0 to Array.length targets - 1 do
      let target = targets.(i) in
      if seen.(target) <> package then begin
        seen.(target) <- package;
        queue.(!met) <- target;
        incr met
      end
    done
  done;
  weight.count.(package) <- !met;
  weight.size.(package) <- !size
