type curve = { name : string; sign : char; cls : string; speed_up : float -> float }
type t = { cpus : float; measured : (int * float) list; curves : curve list }

let most_workers t = List.fold_left (fun most (n, _) -> Int.max most n) 2 t.measured

(* The ideal line may leave the picture. *)
let highest t ~upto =
  let measured = List.fold_left (fun most (_, s) -> Float.max most s) 1. t.measured in
  let all = List.fold_left (fun most it -> Float.max most (it.speed_up upto)) measured t.curves in
  Float.min upto (1.15 *. all)

let ideal = { name = "ideal"; sign = '.'; cls = "ideal"; speed_up = Fun.id }

(* {2 In a terminal} *)

let columns = 60
let rows = 14
let margin = 8
let column ~upto n = columns * (n - 1) / (upto - 1)

let canvas t ~upto ~top =
  let canvas = Array.init (rows + 1) (fun _ -> Bytes.make (columns + 1) ' ') in
  let put sign n speed_up =
    let row = int_of_float (Float.round (float_of_int rows *. speed_up /. top)) in
    if row <= rows then Bytes.set canvas.(row) (column ~upto n) sign
  in
  let draw it =
    for n = 1 to upto do
      put it.sign n (it.speed_up (float_of_int n))
    done
  in
  List.iter draw (ideal :: t.curves);
  List.iter (fun (n, s) -> put 'o' n s) t.measured;
  canvas

let axis t ~upto =
  let axis = Bytes.make (margin + columns + 1) ' ' in
  let mark (n, _) =
    let text = string_of_int n in
    let at = Int.min (column ~upto n) (columns + 1 - String.length text) in
    Bytes.blit_string text 0 axis (margin + at) (String.length text)
  in
  List.iter mark t.measured;
  Bytes.to_string axis ^ " workers"

let of_laws = "the laws: with a CPU for each worker"

let key t =
  let one it = Printf.sprintf "%c %s" it.sign it.name in
  let space = String.make margin ' ' in
  let signs = String.concat ", " ("o measured" :: List.map one (t.curves @ [ ideal ])) in
  space ^ signs ^ if t.curves = [] then "" else "\n" ^ space ^ of_laws

let to_text t =
  let upto = most_workers t in
  let top = highest t ~upto:(float_of_int upto) in
  let canvas = canvas t ~upto ~top in
  let label row =
    if row mod (rows / 2) > 0 then ""
    else Printf.sprintf "%.2f" (top *. float_of_int row /. float_of_int rows)
  in
  let line i =
    let row = rows - i in
    Printf.sprintf "%*s |%s" (margin - 2) (label row) (Bytes.to_string canvas.(row))
  in
  let rule = String.make (margin - 1) ' ' ^ "+" ^ String.make (columns + 1) '-' in
  let below = [ rule; axis t ~upto; key t; "" ] in
  String.concat "\n" ((" speed-up" :: List.init (rows + 1) line) @ below)

(* {2 SVG} *)

let width = 720.
let height = 440.
let left = 56.
let right = width -. 24.
let plot_top = 64.
let bottom = height -. 84.

(* At most some ten ticks, at round distances. *)
let ticks most =
  let rec step s = function
    | factor :: others -> if most /. s <= 10. then s else step (s *. factor) others
    | [] -> step s [ 2.; 2.5; 2. ]
  in
  let step = step 0.1 [] in
  List.init (1 + int_of_float (most /. step)) (fun i -> float_of_int i *. step)

type scale = { x : float -> float; y : float -> float; upto : float; top : float }

let scale t =
  let upto = float_of_int (2 * most_workers t) in
  let top = highest t ~upto in
  {
    x = (fun n -> left +. ((right -. left) *. n /. upto));
    y = (fun s -> bottom -. ((bottom -. plot_top) *. s /. top));
    upto;
    top;
  }

let grid scale =
  let across s =
    let y = scale.y s in
    [
      Svg.path ~cls:"grid" [ (left, y); (right, y) ];
      Svg.text ~anchor:End ~cls:"tick" ~x:(left -. 8.) ~y:(y +. 4.) (Printf.sprintf "%g" s);
    ]
  in
  let along n =
    Svg.text ~anchor:Middle ~cls:"tick" ~x:(scale.x n) ~y:(bottom +. 18.) (Printf.sprintf "%g" n)
  in
  List.concat_map across (ticks scale.top)
  @ List.map along (List.filter (fun n -> n >= 1. && Float.is_integer n) (ticks scale.upto))

let draw_curve scale it =
  let steps = 200 in
  let point i =
    let n = 1. +. ((scale.upto -. 1.) *. float_of_int i /. float_of_int steps) in
    (n, it.speed_up n)
  in
  let inside (_, s) = s <= scale.top *. 1.001 in
  let points = List.filter inside (List.init (steps + 1) point) in
  Svg.path ~cls:it.cls (List.map (fun (n, s) -> (scale.x n, scale.y s)) points)

let legend scale t =
  let y = height -. 24. in
  let entry i it =
    let x = left +. (165. *. float_of_int i) in
    [
      Svg.path ~cls:it.cls [ (x, y -. 4.); (x +. 22., y -. 4.) ];
      Svg.text ~cls:"note" ~x:(x +. 28.) ~y it.name;
    ]
  in
  let measured = { ideal with name = "measured"; cls = "own" } in
  let x = scale.x t.cpus in
  let limit =
    [
      Svg.vertical ~cls:"ideal" ~x ~top:plot_top ~bottom;
      Svg.text ~cls:"note" ~x:(x +. 5.) ~y:(plot_top -. 4.) "the CPUs here";
    ]
  in
  limit @ List.concat (List.mapi entry ((measured :: t.curves) @ [ ideal ]))

let to_svg ~title t =
  let scale = scale t in
  let points = List.map (fun (n, s) -> (scale.x (float_of_int n), scale.y s)) t.measured in
  let dots = List.map (fun (x, y) -> Svg.dot ~cls:"own" ~x ~y) points in
  let texts =
    [
      Svg.text ~cls:"title" ~x:16. ~y:24. title;
      Svg.text ~cls:"note" ~x:16. ~y:44.
        ("Times faster than on one worker, by the number of workers; " ^ of_laws);
    ]
  in
  let curves = List.map (draw_curve scale) (ideal :: t.curves) in
  Svg.document ~width ~height ~title
    (texts @ grid scale @ legend scale t @ curves @ (Svg.path ~cls:"own" points :: dots))
