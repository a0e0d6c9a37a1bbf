"""Types in public signatures. Only type checkers import this module."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from numpy.typing import ArrayLike

from .progress import Progress
from .sinks import Sink

StrPath = Union[str, "os.PathLike[str]"]  # a Run is one
Vectorization = Literal["sync", "async"]
Library = Literal["pandas", "polars"]
DataFrame = Any  # of pandas or Polars; neither need be installed
# The policy's key of Dict observations, and the critic's; several keys are joined.
ObservationKeys = Union[str, Sequence[Union[str, Sequence[str], None]]]  # (policy's, critic's)
Answer = dict[str, Any]  # the output of a command with --json
OnIteration = Callable[[Progress], object]
Sinks = Union[str, Sink, Iterable[Union[str, Sink]]]
Definition = Union[StrPath, Mapping[str, Any]]  # a study
# Rows of one array, or of the groups of a Dict or Tuple.
Observations = Union[ArrayLike, Mapping[str, Any], tuple[Any, ...]]
EnvSource = Union[str, Callable[..., Any]]  # an id, or a function that makes environments
