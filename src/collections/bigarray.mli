(** The stdlib's [Bigarray], with an {!Array1} and an {!Array2} that run in parallel where it
    pays. *)

include module type of struct
  include Stdlib.Bigarray
end

module Array1 = Bigvector
(** {!Array} for bigarrays of one dimension. {!Array.shared} holds here, too. *)

module Array2 = Bigmatrix
(** Elements and rows of bigarrays of two dimensions. *)
