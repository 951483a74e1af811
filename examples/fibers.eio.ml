let each first last f =
  let fiber i () =
    Eio.Fiber.yield ();
    f i
  in
  Eio_posix.run (fun _ -> Eio.Fiber.all (List.init (last - first + 1) (fun i -> fiber (first + i))))
