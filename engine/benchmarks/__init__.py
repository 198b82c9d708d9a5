"""What `warmline bench` measures of the engine."""

from ..backends import openmp as openmp  # before torch
