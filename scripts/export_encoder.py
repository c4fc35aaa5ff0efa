#!/usr/bin/env python3
"""Make the encoder that ships: a SentenceTransformer folder to ONNX with int8 weights, parity proven.

    scripts/export_encoder.py FOLDER [--out index/model] [--name NAME] [--upstream ID@REVISION]

Needs torch, sentence-transformers, onnx and onnxruntime beside firstfault's own packages. Mean pooling
and normalisation are inside the graph, so that no second implementation of them can disagree with it.

Only the *weights* become int8 (a 16-bit scale for each block of 32, or each row of an embedding table),
save a few matrices that are found to matter most and stay in 16 bits; the arithmetic stays float32. Dynamic quantisation computes in int8 too and is twice as fast, but its
scales depend on the other tokens of the text: with it top-1 of the ranking differed on 4 to 14 % of the
queries. Weights alone keep the file just as small.

The result is written only if it ranks the entries as SentenceTransformer.encode does, on the evaluation
questions over all passages of the corpus: top-1 equal for 98 %, top-5 overlap 95 %; once with the vectors
that SentenceTransformer.encode made (the release index) and once with its own (a checkout's index). The
same figures over single passages are on the card beside them: there ties within 0.002 change places.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from corpus.catalogue import Catalogue  # noqa: E402
from index.encoder import CARD, OnnxEncoder, SentenceTransformerEncoder  # noqa: E402
from index.store import all_passages, encode_passages  # noqa: E402

TOP_1, TOP_5 = 0.98, 0.95
MODEL = "model_int8.onnx"
TRAINING = "training.json"
"""What scripts/train_encoder.py writes beside the weights."""
OPSET = 17
SMALLEST = 50_000
"""Tensors below this many values (biases, norms) stay float32: they cost nothing and matter most."""
SPARE = 3_600_000
"""Bytes that the most sensitive matrices may take more, to stay in 16 bits."""
BLOCK = 32
"""Weights that share a scale; the rankings of one scale a channel differ on 2 % of the questions."""


def main() -> int:
    """Export, quantise, prove, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a SentenceTransformer folder (modules.json, model.safetensors)")
    parser.add_argument("--out", type=Path, default=ROOT / "index" / "model")
    parser.add_argument("--name", help="name of the encoder (default: the folder's)")
    parser.add_argument("--upstream", default="", help="where the weights come from, as ID@REVISION")
    parser.add_argument("--licence", type=Path, help="licence text of the weights, copied beside them")
    parser.add_argument("--cache", type=Path, help="file of vectors to reuse between runs")
    parser.add_argument("--questions", type=Path, default=ROOT / "tests" / "evaluation" / "questions.jsonl")
    options = parser.parse_args()
    name = options.name or options.folder.resolve().name
    with tempfile.TemporaryDirectory(prefix="export-encoder-") as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        source = SentenceTransformerEncoder(str(options.folder))
        _export(source, Path(scratch) / "float.onnx")
        texts = [json.loads(line)["q"] for line in options.questions.read_text(encoding="utf-8").splitlines()]
        samples = [
            source._model.tokenizer(text, return_tensors="np")["input_ids"] for text in texts[:: len(texts) // 40]
        ]
        _quantise(Path(scratch) / "float.onnx", made / MODEL, samples)
        _copy_tokenizer(options.folder / "tokenizer.json", made / "tokenizer.json")
        _write_card(made, name, source, options)
        parity = _parity(source, OnnxEncoder(made), options.questions, options.cache)
        print(json.dumps(parity, indent=1))
        judged = [found for label, found in parity["rankings"].items() if label.endswith("entries")]
        if any(found["top_1"] < TOP_1 or found["top_5"] < TOP_5 for found in judged):
            print(f"export_encoder: refused, top-1 must be {TOP_1:.0%} and top-5 {TOP_5:.0%}", file=sys.stderr)
            return 1
        card = json.loads((made / CARD).read_text(encoding="utf-8"))
        (made / CARD).write_text(json.dumps({**card, "parity": parity}, indent=1) + "\n", encoding="utf-8")
        (made / "CARD.md").write_text(
            card_text(json.loads((made / CARD).read_text(encoding="utf-8"))), encoding="utf-8"
        )
        if options.licence:
            shutil.copy(options.licence, made / "LICENSE")
        options.out.mkdir(parents=True, exist_ok=True)
        for path in sorted(made.iterdir()):
            shutil.copy(path, options.out / path.name)
            print(f"{options.out / path.name}  {path.stat().st_size:,} bytes")
    return 0


def _copy_tokenizer(source: Path, target: Path) -> None:
    """The tokenizer on one line: newer libraries save each of its 30,000 words on a line of its own."""
    target.write_text(
        json.dumps(json.loads(source.read_text(encoding="utf-8")), ensure_ascii=False, separators=(",", ":")),
        encoding="utf-8",
    )


def _export(source: SentenceTransformerEncoder, path: Path) -> None:
    import torch

    transformer = source._model[0]
    bert = getattr(transformer, "auto_model", None) or transformer.model
    # The fused attention has no ONNX form; the plain one computes the same.
    bert.set_attn_implementation("eager")

    class Sentence(torch.nn.Module):
        """Token vectors, their mean over the real tokens, at unit length."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]
            weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2, dim=1)

    ids = torch.tensor([[101, 7592, 2088, 102, 0], [101, 2054, 2003, 2023, 102]])
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        Sentence().eval(), (ids, mask), str(path), dynamo=False, opset_version=OPSET,
        input_names=["input_ids", "attention_mask"], output_names=["embedding"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "embedding": {0: "batch"}},
    )  # fmt: skip


def _quantise(path: Path, out: Path, samples: list[Any]) -> None:
    """Replace the large float tensors by int8, scales, and the nodes that make floats of them again.

    onnxruntime folds those of the matrix products when it loads the model; of an embedding table only
    the rows that a text needs are ever made floats.
    """
    import onnx
    from onnx import numpy_helper
    from onnxruntime.quantization.shape_inference import quant_pre_process

    folded = path.with_name("folded.onnx")
    quant_pre_process(str(path), str(folded), skip_symbolic_shape=True)
    model = onnx.load(str(folded))
    graph = model.graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    large = {name for name, values in tensors.items() if values.ndim == 2 and values.size >= SMALLEST}
    tables = {node.input[0] for node in graph.node if node.op_type == "Gather"} & large
    kept = [tensor for tensor in graph.initializer if tensor.name not in large]
    first: list[Any] = []
    spared = _most_sensitive(folded, sorted(large - tables), samples)
    for name in sorted(large - tables):
        added, nodes = _half_matrix(name, tensors[name]) if name in spared else _small_matrix(name, tensors[name])
        kept += added
        first += nodes
    later: list[Any] = []
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in tables:
            added, nodes = _small_table(node, tensors[node.input[0]])
            kept += added
            later += nodes
        else:
            later.append(node)
    for field, values in ((graph.initializer, kept), (graph.node, [*first, *later])):
        del field[:]
        field.extend(values)
    del graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, str(out))


def _most_sensitive(path: Path, names: list[str], samples: list[Any]) -> set[str]:
    """The matrices whose rounding moves the sentence vectors most for their size, SPARE bytes of them.

    Each is rounded alone and the vectors of some questions are compared with the exact ones.
    """
    import numpy as np
    import onnx
    from onnx import numpy_helper

    exact = _run(onnx.load(str(path)), samples)
    effects = []
    for name in names:
        model = onnx.load(str(path))
        tensor = next(item for item in model.graph.initializer if item.name == name)
        values = numpy_helper.to_array(tensor)
        inputs, outputs = values.shape
        whole, scale = _int8(values.reshape(inputs // BLOCK, BLOCK, outputs), axis=1)
        rounded = (whole * scale.astype(np.float32)).reshape(inputs, outputs)
        tensor.CopyFrom(numpy_helper.from_array(rounded, name))
        effects.append((float(1 - (_run(model, samples) * exact).sum(axis=1).mean()) / values.size, name, values.size))
    spared: set[str] = set()
    left = SPARE
    for _, name, size in sorted(effects, reverse=True):
        # Two bytes a weight instead of one and its share of the scales.
        if size <= left:
            spared.add(name)
            left -= size
    return spared


def _run(model: Any, samples: list[Any]) -> Any:
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.concatenate(
        [session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0] for ids in samples]
    )


def _half_matrix(name: str, values: Any) -> tuple[list[Any], list[Any]]:
    """A weight matrix in 16 bits."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    tensors = [numpy_helper.from_array(values.astype(np.float16), f"{name}_half")]
    return tensors, [helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT)]


def _small_matrix(name: str, values: Any) -> tuple[list[Any], list[Any]]:
    """A weight matrix (inputs, outputs) in blocks of BLOCK inputs, each with a scale per output."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    inputs, outputs = values.shape
    blocks = values.reshape(inputs // BLOCK, BLOCK, outputs)
    whole, scale = _int8(blocks, axis=1)
    tensors = [
        numpy_helper.from_array(whole, f"{name}_int8"),
        numpy_helper.from_array(scale, f"{name}_scale"),
        numpy_helper.from_array(np.array([inputs, outputs], dtype=np.int64), f"{name}_shape"),
    ]
    nodes = [
        helper.make_node("Cast", [f"{name}_int8"], [f"{name}_whole"], to=TensorProto.FLOAT),
        helper.make_node("Cast", [f"{name}_scale"], [f"{name}_factor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}_whole", f"{name}_factor"], [f"{name}_blocks"]),
        helper.make_node("Reshape", [f"{name}_blocks", f"{name}_shape"], [name]),
    ]
    return tensors, nodes


def _small_table(node: Any, values: Any) -> tuple[list[Any], list[Any]]:
    """An embedding table with a scale per row; rows are gathered before they become floats."""
    from onnx import TensorProto, helper, numpy_helper

    name, output = node.input[0], node.output[0]
    whole, scale = _int8(values, axis=1)
    tensors = [numpy_helper.from_array(whole, f"{name}_int8"), numpy_helper.from_array(scale, f"{name}_scale")]
    nodes = [
        helper.make_node("Gather", [f"{name}_int8", node.input[1]], [f"{output}_rows"], axis=0),
        helper.make_node("Gather", [f"{name}_scale", node.input[1]], [f"{output}_scales"], axis=0),
        helper.make_node("Cast", [f"{output}_rows"], [f"{output}_whole"], to=TensorProto.FLOAT),
        helper.make_node("Cast", [f"{output}_scales"], [f"{output}_factor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{output}_whole", f"{output}_factor"], [output]),
    ]
    return tensors, nodes


def _int8(values: Any, axis: int) -> tuple[Any, Any]:
    """Whole numbers from -127 to 127, and the 16-bit scale along the axis that makes the values of them."""
    import numpy as np

    scale = np.maximum(np.abs(values).max(axis=axis, keepdims=True) / 127, 1e-6).astype(np.float16)
    return np.clip(np.round(values / scale.astype(np.float32)), -127, 127).astype(np.int8), scale


def _write_card(folder: Path, name: str, source: SentenceTransformerEncoder, options: argparse.Namespace) -> None:
    model, weights = folder / MODEL, options.folder / "model.safetensors"
    identifier, _, revision = options.upstream.partition("@")
    command = f"scripts/export_encoder.py {name}/ --name {name}" + (
        f" --upstream {options.upstream}" if identifier else ""
    )
    card = {
        "name": name,
        "dimension": source.dimension,
        "max_tokens": source.max_tokens,
        "pooling": "mean over the attention mask, then unit length; both inside the graph",
        "model": {
            "file": MODEL, "weights": "int8", "arithmetic": "float32",
            "bytes": model.stat().st_size, "sha256": _sha256(model),
        },
        "tokenizer": {"file": "tokenizer.json", "sha256": _sha256(folder / "tokenizer.json")},
        "source": {
            "id": identifier or name, "revision": revision, "file": weights.name,
            "bytes": weights.stat().st_size, "sha256": _sha256(weights),
        },
        "licence": "Apache-2.0",
        "command": command,
        "made_with": _versions(),
    }  # fmt: skip
    training = options.folder / TRAINING
    if training.is_file():
        card["training"] = json.loads(training.read_text(encoding="utf-8"))
    (folder / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def card_text(card: dict[str, Any]) -> str:
    """The card for people, from the card for programs."""
    source, model, parity = card["source"], card["model"], card["parity"]
    rows = "".join(
        f"| {label} | {found['top_1']:.1%} | {found['top_5']:.1%} |\n" for label, found in parity["rankings"].items()
    )
    return f"""\
# {card["name"]}, int8 weights in ONNX

The encoder that firstfault asks with. Made from [{source["id"]}](https://huggingface.co/{source["id"]}),
revision {source["revision"]}, `{source["file"]}` ({source["bytes"]:,} bytes, SHA-256 `{source["sha256"]}`),
licence {card["licence"]} (`LICENSE`). Changed: the weights of matrix products and embedding tables are
int8 with 16-bit scales (the most sensitive ones 16-bit floats), pooling ({card["pooling"]}).
{_training_text(card.get("training"))}

| | |
|---|---|
| file | `{model["file"]}`, {model["bytes"]:,} bytes, SHA-256 `{model["sha256"]}` |
| output | {card["dimension"]} numbers, unit length; reads {card["max_tokens"]} tokens |
| command | `{card["command"]}` |
| made with | {", ".join(f"{name} {number}" for name, number in card["made_with"].items())} |

Rankings against `SentenceTransformer.encode` float32, {parity["questions"]} questions over
{parity["passages"]:,} passages; mean cosine {parity["mean_cosine"]}:

| | top-1 equal | top-5 overlap |
|---|---|---|
{rows}
What a machine reads is `card.json`; `scripts/export_encoder.py` writes both.
"""


def _training_text(training: dict[str, Any] | None) -> str:
    """What the card says of the training: data, steps, scores before and after."""
    if training is None:
        return "Nothing was trained."
    rows = "".join(
        f"| {look['at']} | {look['recall_1']:.3f} | {look['recall_5']:.3f} | {look['mrr']:.3f} |\n"
        for look in training["log"]
    )
    return f"""\
Trained from those weights by `scripts/train_encoder.py` on firstfault's own corpus and nothing else:
{training["questions"]:,} questions of {training["entries"]:,} entries, {training["steps"]} steps of {training["batch"]}, seed {training["seed"]};
{training["kept"]:.0%} of the trained weights were kept, of the step that answered best the {training["stopped_on"]} development
questions of that time. Scores on the {training["development"]} development questions of
`tests/evaluation/questions.jsonl`, by titles, asks and summaries alone, without words:

| at | recall at 1 | recall at 5 | MRR |
|---|---|---|---|
{rows}"""


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "sentence-transformers", "transformers", "onnx", "onnxruntime")}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _parity(
    source: SentenceTransformerEncoder, made: OnnxEncoder, questions: Path, cache: Path | None
) -> dict[str, Any]:
    """How far the rankings agree, over passages and over entries (by their best passage)."""
    asked = [json.loads(line)["q"] for line in questions.read_text(encoding="utf-8").splitlines() if line]
    passages = all_passages(Catalogue.load(ROOT / "corpus"))
    entries = [passage.entry for passage in passages]
    first_texts, first_asked = encode_passages(passages, source, cache), source.encode(asked)
    own_texts, own_asked = encode_passages(passages, made, cache), made.encode(asked)
    wanted = _rankings(first_asked @ first_texts.T, entries)
    rankings: dict[str, dict[str, float]] = {}
    for label, scores in (("release index", own_asked @ first_texts.T), ("own index", own_asked @ own_texts.T)):
        for what, before, after in zip(("passages", "entries"), wanted, _rankings(scores, entries), strict=True):
            pairs = list(zip(before, after, strict=True))
            rankings[f"{label}, {what}"] = {
                "top_1": round(sum(a[0] == b[0] for a, b in pairs) / len(pairs), 4),
                "top_5": round(sum(len(set(a) & set(b)) / 5 for a, b in pairs) / len(pairs), 4),
            }
    cosine = float((own_asked * first_asked).sum(axis=1).mean())
    return {"questions": len(asked), "passages": len(passages), "mean_cosine": round(cosine, 5), "rankings": rankings}


def _rankings(scores: Any, entries: list[str]) -> tuple[list[list[Any]], list[list[Any]]]:
    """The first five passages and the first five entries of each question."""
    import numpy as np

    by_passage, by_entry = [], []
    for row in scores:
        order = np.argsort(-row, kind="stable")
        by_passage.append(order[:5].tolist())
        by_entry.append(list(dict.fromkeys(entries[number] for number in order[:400]))[:5])
    return by_passage, by_entry


if __name__ == "__main__":
    raise SystemExit(main())
