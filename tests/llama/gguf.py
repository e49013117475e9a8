"""Writes a tiny model of the llama architecture in the GGUF format, with the standard library alone.
Its weights are random (seeded); only what a text is made of is decided: how likely its pieces are."""

import random
import re
import struct
from collections import Counter

WIDTH, HEADS, LAYERS, INNER = 64, 2, 1, 64
MERGES = 900
NEVER = -60.0
SPACE = "\u2581"

# Kinds of tokens and of values, as GGUF numbers them.
NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9

SPECIAL = [("<unk>", UNKNOWN), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL),
           ("<tool_call>\n{", USER), ("</tool_call>", USER)]
END, CALL, CLOSE = 2, 3, 4
LINE_END, QUOTE = "<0x0A>", '"'

# What many models' templates look like: tools as JSON, calls as JSON between two marks.
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{%- if messages[0].role == 'system' %}
{{ messages[0].content }}
{%- endif %}
# Tools
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call, answer with JSON between marks:
<tool_call>
{"name": <name>, "arguments": <arguments>}
</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or message.role == 'tool' %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def pieces(text):
    """The vocabulary's longer pieces: what is most often side by side in the words of `text`."""
    words = Counter(re.findall(r" ?[A-Za-z]+|[0-9]+| +|[^A-Za-z0-9 \n]+", text))
    split = {word: [SPACE if c == " " else c for c in word] for word in words}
    found = []
    while len(found) < MERGES:
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(split[word], split[word][1:]):
                pairs[pair] += count
        # Several a round, none of which touches another: otherwise it takes long.
        touched = set()
        for (left, right), _ in pairs.most_common(30):
            if left in touched or right in touched or len(found) == MERGES:
                continue
            touched |= {left, right}
            found.append(left + right)
            for word, parts in split.items():
                if left in parts:
                    split[word] = merged(parts, left, right)
    return found


def merged(parts, left, right):
    out, at = [], 0
    while at < len(parts):
        pair = at + 1 < len(parts) and parts[at] == left and parts[at + 1] == right
        out.append(left + right if pair else parts[at])
        at += 2 if pair else 1
    return out


def vocabulary(text):
    """(piece, kind, score) of every token."""
    tokens = [(piece, kind, 0.0) for piece, kind in SPECIAL]
    tokens += [(f"<0x{byte:02X}>", BYTE, 0.0) for byte in range(256)]
    letters = [SPACE] + [chr(code) for code in range(33, 127)]
    tokens += [(letter, NORMAL, -10_000.0) for letter in letters]
    known = {piece for piece, _, _ in tokens}
    longer = [piece for piece in dict.fromkeys(pieces(text)) if piece not in known and
              all(letter in letters for letter in piece)]
    return tokens + [(piece, NORMAL, -float(rank)) for rank, piece in enumerate(longer)]


def likely(tokens, ends, calls):
    """How much more likely than by chance each token is. Control and bytes never come. `ends` is
    of the mark that ends an answer. With `calls`, strings end soon and a call ends the list of
    calls: the server's grammar lets more follow after a comma."""
    said = {END: ends}
    if calls:
        said |= {CLOSE: NEVER / 2, QUOTE: 4.0, LINE_END: NEVER / 2}

    def one(number, piece, kind):
        if number in said or piece in said:
            return said.get(number, said.get(piece))
        return NEVER if kind != NORMAL or (calls and "," in piece) else 0.0

    return [one(number, piece, kind) for number, (piece, kind, _) in enumerate(tokens)]


def weights(tokens, bias, calls, chance):
    """Names and rows. No layer changes the first two numbers of the state. The first is the same
    for every token, so that the last layer's first column says how likely a token is. The second
    is set by a line's end, which is the last of every prompt: with `calls`, a call begins there."""
    def noise(rows, columns, spread):
        return [[chance.gauss(0, spread) for _ in range(columns)] for _ in range(rows)]

    def silent(matrix):
        matrix[:2] = [[0.0] * len(row) for row in matrix[:2]]
        return matrix

    embedding = noise(len(tokens), WIDTH, 0.3)
    output = noise(len(tokens), WIDTH, 0.3)
    for number, (piece, _, _) in enumerate(tokens):
        embedding[number][:2] = [2.0, 2.0 if piece == LINE_END else 0.0]
        output[number][:2] = [0.0, 0.0]
        if bias[number]:
            output[number] = [bias[number] / 4] + [0.0] * (WIDTH - 1)
    if calls:
        output[CALL][1] = -2 * NEVER
    ones = [[1.0] * WIDTH]
    yield "token_embd.weight", embedding
    yield "output_norm.weight", ones
    yield "output.weight", output
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        yield name + "attn_norm.weight", ones
        yield name + "ffn_norm.weight", ones
        for part in ("attn_q", "attn_k", "attn_v"):
            yield f"{name}{part}.weight", noise(WIDTH, WIDTH, 0.1)
        yield name + "attn_output.weight", silent(noise(WIDTH, WIDTH, 0.02))
        yield name + "ffn_gate.weight", noise(INNER, WIDTH, 0.1)
        yield name + "ffn_up.weight", noise(INNER, WIDTH, 0.1)
        yield name + "ffn_down.weight", silent(noise(WIDTH, INNER, 0.02))


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, it):
    if kind == STRING:
        return string(it)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], it)


def entry(key, kind, it, of=None):
    head = string(key) + struct.pack("<I", kind)
    if kind != ARRAY:
        return head + value(kind, it)
    return head + struct.pack("<IQ", of, len(it)) + b"".join(value(of, one) for one in it)


def facts(context, tokens):
    pieces_, kinds, scores = zip(*tokens)
    return [
        entry("general.architecture", STRING, "llama"),
        entry("general.alignment", U32, 32),
        entry("llama.context_length", U32, context),
        entry("llama.embedding_length", U32, WIDTH),
        entry("llama.block_count", U32, LAYERS),
        entry("llama.feed_forward_length", U32, INNER),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.head_count_kv", U32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("llama.rope.dimension_count", U32, WIDTH // HEADS),
        entry("llama.vocab_size", U32, len(tokens)),
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.tokens", ARRAY, pieces_, STRING),
        entry("tokenizer.ggml.scores", ARRAY, scores, F32),
        entry("tokenizer.ggml.token_type", ARRAY, kinds, I32),
        entry("tokenizer.ggml.bos_token_id", U32, 1),
        entry("tokenizer.ggml.eos_token_id", U32, END),
        entry("tokenizer.ggml.unknown_token_id", U32, 0),
        entry("tokenizer.ggml.add_bos_token", BOOL, False),
        entry("tokenizer.ggml.add_eos_token", BOOL, False),
        entry("tokenizer.ggml.add_space_prefix", BOOL, False),
        entry("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def write(path, tokens, context, ends, calls=False, seed=7):
    """`ends`: how soon answers end, `NEVER` for never; `calls`: each answer is a tool call."""
    chance = random.Random(seed)
    entries = facts(context, tokens)
    heads, blobs, offset = [], [], 0
    for tensor, rows in weights(tokens, likely(tokens, ends, calls), calls, chance):
        shape = [len(rows[0])] + ([len(rows)] if len(rows) > 1 else [])
        half = len(rows) > WIDTH  # the two large ones
        flat = [number for row in rows for number in row]
        blob = struct.pack(f"<{len(flat)}{'e' if half else 'f'}", *flat)
        blob += b"\0" * (-len(blob) % 32)
        heads.append(string(tensor) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) +
                     struct.pack("<IQ", 1 if half else 0, offset))
        blobs.append(blob)
        offset += len(blob)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(heads), len(entries))
    head += b"".join(entries) + b"".join(heads)
    with open(path, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32) + b"".join(blobs))
