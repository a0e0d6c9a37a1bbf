"""What public signatures name, for who checks types; not imported otherwise."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

StrPath = Union[str, "os.PathLike[str]"]  # a Run is one
Vectorization = Literal["sync", "async"]
Library = Literal["pandas", "polars"]
DataFrame = Any  # of pandas or Polars, neither of which need be there
Answer = dict[str, Any]  # what a command prints with --json
OnIteration = Callable[[dict[str, Any]], object]
Definition = Union[StrPath, Mapping[str, Any]]  # of a study
EnvSource = Union[str, Callable[..., Any]]  # an id, or what makes environments
