"""Transformers in five styles, with a place for each fault: pages 83c and 84 are tested on them."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.lab.any_model import real_positions
from annotated_transformer.transformer import sinusoids

# ---- around nn.Transformer

class Seq2Seq(nn.Module):
    "A program around `nn.Transformer`, as many are written."
    def __init__(self, sizes=(13, 11), width=16, **options):
        super().__init__()
        self.transformer = nn.Transformer(width, 4, 1, 1, 24, batch_first=True, **options)
        self.src_emb, self.tgt_emb = (nn.Embedding(size, width) for size in sizes)
        self.register_buffer("positions", sinusoids(40, width))
        self.out = nn.Linear(width, sizes[1])
        self.factor = width ** .5

    def embed(self, table, ids): return table(ids) * self.factor + self.positions[:ids.size(1)]

    def forward(self, src, tgt):
        hidden = src == 2
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1) # True: blocked
        x = self.transformer(self.embed(self.src_emb, src), self.embed(self.tgt_emb, tgt),
                             tgt_mask=causal, src_key_padding_mask=hidden,
                             memory_key_padding_mask=hidden)
        return self.out(x)

# ---- from scratch, with names of its own

class Attend(nn.Module):
    def __init__(self, D, h):
        super().__init__()
        self.h, self.fault = h, ""
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))

    def forward(self, x, y, allowed):
        B, T, D = x.shape
        K, fault = D // self.h, self.fault
        q, k, v = self.q(x), self.k(y), self.v(y)
        if fault == "split": q, k, v = (z.view(B, self.h, -1, K) for z in (q, k, v))
        else: q, k, v = (z.view(B, -1, self.h, K).transpose(1, 2) for z in (q, k, v))
        scores = q @ k.transpose(-1, -2) / (1 if fault == "scale" else K ** .5)
        scores = scores.masked_fill(~allowed, -12. if fault == "soft mask" else -1e9)
        w = scores.softmax(-2 if fault == "axis" else -1)
        if fault == "dropout": w = F.dropout(w, .2)
        z = w @ v
        return self.o((z if fault == "join" else z.transpose(1, 2)).reshape(B, T, D))

class Layer(nn.Module):
    def __init__(self, D, h, inner, cross):
        super().__init__()
        self.fault, self.attn = "", Attend(D, h)
        self.cross = Attend(D, h) if cross else None
        self.norms = nn.ModuleList(nn.LayerNorm(D, eps=1e-6) for _ in range(2 + cross))
        self.up, self.down = nn.Linear(D, inner), nn.Linear(inner, D)

    def forward(self, x, mask, memory=None, memory_mask=None):
        parts = [lambda z: self.attn(z, z, mask)]
        if self.cross: parts.append(lambda z: self.cross(z, memory, memory_mask))
        act = F.gelu if self.fault == "gelu" else F.relu
        for norm, f in zip(self.norms, [*parts, lambda z: self.down(act(self.up(z)))]):
            if self.fault == "post-norm": x = norm(x + f(x))
            elif self.fault == "residual": x = f(norm(x))
            else: x = x + f(norm(x))
        return x

class Scratch(nn.Module):
    def __init__(self, V=13, W=11, N=1, D=16, inner=24, h=4):
        super().__init__()
        self.D, self.fault = D, ""
        self.src, self.tgt = nn.Embedding(V, D), nn.Embedding(W, D)
        self.enc = nn.ModuleList(Layer(D, h, inner, False) for _ in range(N))
        self.dec = nn.ModuleList(Layer(D, h, inner, True) for _ in range(N))
        self.last = nn.ModuleList(nn.LayerNorm(D, eps=1e-6) for _ in range(2))
        self.out = nn.Linear(D, W)

    def embed(self, table, ids):
        T, D = ids.size(1), self.D
        rows = sinusoids(T + 1, D)[1:] if self.fault == "offset" else sinusoids(T, D)
        if self.fault == "halves": rows = rows[:, [*range(0, D, 2), *range(1, D, 2)]]
        if self.fault == "no positions": rows = rows * 0
        return table(ids) * (1 if self.fault == "factor" else D ** .5) + rows

    def forward(self, src, tgt):
        fault = self.fault
        real = (src != 2)[:, None, None]
        if fault == "inverted padding": real = ~real
        if fault == "no padding": real = real | True
        shift = dict(shifted=1, future=99).get(fault, 0)
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).tril(shift)
        if fault == "inverted causal": causal = ~causal
        x, y = self.embed(self.src, src), self.embed(self.tgt, tgt)
        for layer in self.enc: x = layer(x, real)
        if fault != "final norm": x = self.last[0](x)
        for layer in self.dec: y = layer(y, causal, x, real)
        y = self.out(y if fault == "final norm" else self.last[1](y))
        return y.softmax(-1) if fault == "softmax" else y

def noisy(model):
    "All weights random: zeros and ones would hide a fault."
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" not in name: p.add_(torch.randn_like(p) * .2)
    return model.eval()

def pairs_of(scratch, ours):
    "Modules of the two with equal weights."
    yield scratch.src, ours.src_embed[0].lut
    yield scratch.tgt, ours.tgt_embed[0].lut
    yield scratch.out, ours.generator.proj
    for side, stack in enumerate((ours.encoder, ours.decoder)):
        yield scratch.last[side], stack.norm
        for mine, layer in zip((scratch.enc, scratch.dec)[side], stack.layers):
            yield mine.up, layer.feed_forward.w_1
            yield mine.down, layer.feed_forward.w_2
            yield from zip(mine.norms, [s.norm for s in layer.sublayer])
            for attn, name in ((mine.attn, "self_attn"), (mine.cross, "src_attn")):
                if attn is None: continue
                for c in "qkvo": yield getattr(attn, c), layer.get_submodule(f"{name}.W_{c}")

def copied(ours):
    "The implementation from scratch with the weights of ours."
    new = Scratch()
    for to, source in pairs_of(new, ours): to.load_state_dict(source.state_dict())
    return new.eval()

def planted(ours, fault):
    "The implementation from scratch with a fault."
    m = copied(ours)
    for part in m.modules():
        if "fault" in vars(part): part.fault = fault
        if isinstance(part, nn.LayerNorm) and fault == "eps": part.eps = 1e-5
        if isinstance(part, Attend):
            if fault == "no bias": part.q.bias = part.k.bias = part.v.bias = part.o.bias = None
            if fault == "transposed": part.o.weight.data = part.o.weight.data.T.clone()
            if fault == "exchanged": part.q, part.k = part.k, part.q
            if fault == "heads": part.h = 2
    if fault == "tied": m.out.weight = m.tgt.weight
    if fault == "weights": m.dec[0].cross.v.weight.data[0, 0] += 1
    return m

# ---- transformers

def marian():
    "A random Marian model."
    from transformers import MarianConfig, MarianMTModel
    sizes = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in
             dict(layers=1, attention_heads=4, ffn_dim=24).items()}
    config = MarianConfig(**sizes, vocab_size=14, d_model=16, max_position_embeddings=32,
                          pad_token_id=13, eos_token_id=0, decoder_start_token_id=13,
                          forced_eos_token_id=None, scale_embedding=True)
    return noisy(MarianMTModel(config))

# ---- functions of a dictionary with einsum, and recurrent networks

def functional_weights(V=11, D=16, h=2):
    w = nn.ParameterDict({"src": torch.randn(13, D), "tgt": torch.randn(V, D)})
    for name in ("enc", "dec", "cross"):
        for c in "qkv": w[f"{name}_{c}"] = torch.randn(D, h, D // h) / 4
        w[f"{name}_o"] = torch.randn(h, D // h, D) / 4
    return w

def functional(w, src, tgt, fault=""):
    "One layer of each stack."
    def attend(name, x, y, mask):
        q, k, v = (torch.einsum("btd,dhk->bhtk", z, w[f"{name}_{c}"])
                   for c, z in zip("qkv", (x, y, y)))
        scores = torch.einsum("bhtk,bhsk->bhts", q, k) / q.size(-1) ** .5
        weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        if fault == "detached": v = v.detach()
        return torch.einsum("bhtk,hkd->btd", weights @ v, w[f"{name}_o"])
    def norm(x):
        axes = (0, 2) if fault == "batch norm" else 2
        return (x - x.mean(axes, keepdim=True)) / x.std(axes, keepdim=True)
    if fault == "in place": tgt[tgt == 4] = 5
    real = (src != (3 if fault == "other pad" else 2))[:, None, None]
    T = tgt.size(1)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    if fault == "transposed": causal = causal.T
    if fault == "diagonal": causal = torch.eye(T, dtype=torch.bool)
    x = w["src"][src]
    if fault != "no positions": x = x + sinusoids(src.size(1), 16)
    y = w["tgt"][tgt] + sinusoids(T, 16)
    x = norm(x + attend("enc", x, x, real))
    y = norm(y + attend("dec", y, y, causal))
    if fault != "no source": y = norm(y + attend("cross", y, x, real))
    logits = y @ w["tgt"].T / 4
    if fault == "NaN": logits[0, 0, 0] = math.nan
    return logits * 100 if fault == "large" else logits

class Recurrent(nn.Module):
    def __init__(self, fault="", V=11, D=16):
        super().__init__()
        self.fault = fault
        self.src, self.tgt = nn.Embedding(13, D), nn.Embedding(V, D)
        self.reader = nn.GRU(D, D, batch_first=True, bidirectional=True)
        self.writer = nn.GRU(D, D, batch_first=True)
        self.out, self.spare = nn.Linear(3 * D, V), nn.Linear(D, D)
        if fault != "spare": self.spare = None
        if fault == "copy": self.reader.weight_hh_l0_reverse.data[:] = self.reader.weight_hh_l0

    def forward(self, src, tgt):
        lengths = real_positions(src, 2).sum(1)
        if self.fault == "padded": lengths = lengths * 0 + src.size(1)
        rows = nn.utils.rnn.pack_padded_sequence(self.src(src), lengths, True, False)
        memory, _ = nn.utils.rnn.pad_packed_sequence(self.reader(rows)[0], True)
        state, _ = self.writer(self.tgt(tgt))
        mask = torch.arange(memory.size(1)) < lengths[:, None]
        scores = state @ memory[..., :16].mT / 4
        weights = scores.masked_fill(~mask[:, None], -1e9).softmax(-1)
        return self.out(torch.cat([state, weights @ memory], -1))
