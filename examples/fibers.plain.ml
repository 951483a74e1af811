let each first last f =
  for i = first to last do
    f i
  done
