"""biowarp: protein language models (ESM-2), fast on the CPU.

>>> import biowarp
>>> model = biowarp.Model.from_pretrained("650M")            # or a folder, a file, a hub name
>>> records = biowarp.read_fasta("proteins.fasta")
>>> model.encode(records).shape                              # one mean embedding per protein
(24, 1280)
"""

from biowarp import _core
from biowarp.errors import BiowarpError, DeviceError, Error, InputError, InternalError, UsageError
from biowarp.model import VOCABULARY, MaskedPerplexity, Model, ModelInfo, PseudoPerplexity
from biowarp.records import Record, iter_fasta, read_fasta

__version__: str = _core.version

__all__ = [
    "BiowarpError",
    "DeviceError",
    "Error",
    "InputError",
    "InternalError",
    "MaskedPerplexity",
    "Model",
    "ModelInfo",
    "PseudoPerplexity",
    "Record",
    "UsageError",
    "VOCABULARY",
    "__version__",
    "iter_fasta",
    "read_fasta",
]
