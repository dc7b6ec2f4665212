# biowarp info, biowarp convert, and the names of models

case: info of the demonstration model
run: biowarp info
exit: 0
out: ^model +biowarp-esm2-8m$
out: ^architecture +ESM-2: 6 layers, width 320, 20 heads of 16, feed-forward 1280, 33 tokens$
out: ^parameters +7,512,353$
out: ^stored as +f16$
out: ^heads +language model: yes, contacts: no$
out: ^hash +[0-9a-f]{32}$
out: ^note +no contact head

case: info as JSON with the tensors of a fair-esm file
run: biowarp info {source}/tests/golden/checkpoints/fair_esm/esm2_tiny.pt --json
exit: 0
out: \A\{"name": "esm2_tiny.pt".*"format": "fair-esm".*"contact_head": true.*"tensors": \[.*"name": "layer.1.fc2.weight"

case: info lists parameters
run: biowarp info {source}/tests/golden/checkpoints/hf_mixed --tensors
exit: 0
out: ^stored as +f16 \(680 values\), f32 \([\d,]+ values\)$
out: ^layer\.0\.fc1\.weight +f16 +\[20, 16\]$

case: hf to nv_esm and back, values and types kept
run: biowarp convert {source}/tests/golden/checkpoints/hf_bf16 nv --to nv_esm
run: biowarp convert nv hf
run: biowarp info hf --json
exit: 0
exists: nv/model.safetensors
exists: nv/config.json
exists: hf/vocab.txt
exists: hf/tokenizer_config.json
absent: hf.partial
content: nv/config.json "padded_vocab_size": 64
content: hf/config.json "torch_dtype": "bfloat16"

case: what nv_esm cannot hold is said
run: biowarp convert {source}/tests/golden/checkpoints/hf_safetensors nv --to nv_esm
exit: 0
err: note: nv_esm has no place for the contact head

case: a destination that exists
file: kept
    x
run: biowarp convert {source}/tests/golden/checkpoints/hf_bin kept
exit: 2
err: kept exists already

case: an adapter is merged
run: biowarp convert {source}/tests/golden/checkpoints/hf_safetensors merged --adapter {source}/tests/golden/checkpoints/lora
run: biowarp info merged
exit: 0
out: ^format +hf$

case: an unknown format
run: biowarp convert 8M out --to onnx
exit: 2
err: unknown checkpoint format "onnx", expected hf or nv_esm

case: S67 a public size that is nowhere says where was looked and what to do
run: HF_HUB_CACHE=$PWD/cache HF_HOME=$PWD biowarp info t33
exit: 2
err: no model "t33".*biowarp pull facebook/esm2_t33_650M_UR50D

case: S67 a name that is nothing
run: biowarp info ./nothing/here.pt
exit: 2
err: no such file or folder

case: S44 a checkpoint with misfits is bad input
run: biowarp info {source}/tests/golden/checkpoints/state_dict_nothing
exit: 3
err: number of attention heads is not known
