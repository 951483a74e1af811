let check = ignore

let at time f =
  let timer = Timer.add time f in
  fun () -> Timer.remove timer
