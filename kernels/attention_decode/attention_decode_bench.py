"""attention_decode in torch, for bench/torch_compare.py."""
from attention_bench import attention, shape_case

TORCH = {"attention_decode": attention}


def draw_row(draw, op):
    """One query over the keys that are there."""
    from shape_draws import BATCHES, LENGTHS, Row
    queries, keys, size = draw.heads()
    batch, length = draw.choice(BATCHES[:9]), draw.size(64, 32768, LENGTHS)
    return Row("decode", op, draw.float16(), (batch, queries, keys, length, size))


def cost(row):
    from shape_case import TYPES
    batch, queries, keys, length, head = row.sizes
    return 2 * batch * keys * length * head * TYPES[row.dtype].itemsize, 4 * batch * queries * length * head


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    from shape_case import Shape, Shown
    from shape_draws import Row

    def case(make, row):
        return {**shape_case(make, row, 1), "flops": 0}

    table = tuple(Shown(Row("decode", "decode", dtype, (8, 32, 8, 32768, 128)), (2, 8, 2, 512, 128),
                        "sdpa_decode_gqa", "8x32/8x32768x128") for dtype in ("f32", "bf16"))
    return {"decode": Shape("decode", draw_row, case, cost, 2, table)}
