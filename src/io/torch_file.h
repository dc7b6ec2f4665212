// Reader of files written by torch.save (pytorch_model.bin, *.pt, *.pth), without torch and without executing
// them.
//
// Layout (torch/serialization.py): a zip archive <root>/ with data.pkl (a pickle of everything but tensor
// data), data/<key> (one storage each, plain bytes), byteorder, version. Tensors are views into storages and
// stay mapped.
#pragma once

#include "io/weight_file.h"

namespace biowarp {

// True for files of torch.save, also for those kinds that open_torch_file refuses.
bool looks_like_torch(std::span<const std::byte> bytes);

// The state dict: the file's dict itself when it holds tensors, otherwise the one under "model",
// "state_dict", "model_state_dict" or "module". Throws Error(input); TorchScript archives and files older
// than torch 1.6 (not a zip) are refused with a sentence that says what to do.
WeightFile open_torch_file(const MappedFile& file);

}  // namespace biowarp
