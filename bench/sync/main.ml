let () =
  Gc.full_major ();
  let shapes = Contended.[ 
   { domains = 1; tasks = 8; inside = 20; outside = 50 };
   { domains = 2; tasks = 2; inside = 20; outside = 50 };
   { domains = 2; tasks = 2; inside = 20; outside = 1000 };
   { domains = 2; tasks = 16; inside = 20; outside = 50 };
   { domains = 4; tasks = 4; inside = 20; outside = 50 };
   { domains = 8; tasks = 8; inside = 20; outside = 50 };
   { domains = 8; tasks = 64; inside = 20; outside = 50 };
   { domains = 2; tasks = 8; inside = 1000; outside = 1000 };
 ] in
  List.iter (fun (s : Contended.shape) ->
    Printf.printf "%d domains %d tasks in %d out %d:" s.domains s.tasks s.inside s.outside;
    let all = Contended.measure ~repeat:7 s ~calls:(10_000 / (1 + s.inside / 200)) in
    List.iter (fun (make, sample) -> Printf.printf "  %s %s" (make ()).Contended.name (Clock.show (Measure.median sample))) all;
    print_newline ()) shapes
