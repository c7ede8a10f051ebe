// Functions that are called so often that they are not inlined on CPUs: towers of calls, by lanes that go different
// ways, in loops and switches; structs in and out; numbers of all kinds; private arrays and references inside.
#include <metal_stdlib>
using namespace metal;

struct Counter {
    uint count;
    int sum;
    float total;
    ushort rounds;
    uchar flags[2];
};

// Lanes leave the loop in different iterations: after 2, 3, 4 and 4.
Counter tick(Counter c, uint lane) {
    for (uint i = 0; i < 4; i++) {
        if ((lane + i) % 3u == 0u) {
            c.count += 1;
        } else {
            c.count += 2;
            c.sum -= 1;
        }
        if (i > (lane & 3u)) {
            break;
        }
    }
    c.total += 0.5f;
    c.rounds += 1;
    c.flags[lane & 1u] += 1;
    return c;
}
Counter tick3(Counter c, uint lane) { return tick(tick(tick(c, lane), lane), lane); }
Counter tick9(Counter c, uint lane) { return tick3(tick3(tick3(c, lane), lane), lane); }
Counter tick27(Counter c, uint lane) { return tick9(tick9(tick9(c, lane), lane), lane); }
Counter tick81(Counter c, uint lane) {
    if (lane == 0xffffffffu) {
        return c;
    }
    return tick27(tick27(tick27(c, lane), lane), lane);
}

// RUN: kernel=towers threads=100 group=50
// ARG 0: u32[100]
// ARG 1: i32[100]
// ARG 2: f32[100]
// ARG 3: u32[100]
// ARG 4: u32[100]
// ARG 5: u32 = 90
// EXPECT 0: u32[100] = i < 90 ? ((i%2 == 0 ? 81 : 0) + 27*(i%4) + (i%5 == 0 ? 81 : i%5 == 1 ? 36 : i%5 == 2 ? 9 : 0)) * sum(j, 0, min(4, i%4 + 2), (i+j)%3 == 0 ? 1 : 2) : 0
// EXPECT 1: i32[100] = i < 90 ? -((i%2 == 0 ? 81 : 0) + 27*(i%4) + (i%5 == 0 ? 81 : i%5 == 1 ? 36 : i%5 == 2 ? 9 : 0)) * sum(j, 0, min(4, i%4 + 2), (i+j)%3 == 0 ? 0 : 1) : 0
// EXPECT 2: f32[100] = i < 90 ? 0.5*((i%2 == 0 ? 81 : 0) + 27*(i%4) + (i%5 == 0 ? 81 : i%5 == 1 ? 36 : i%5 == 2 ? 9 : 0)) : 0
// EXPECT 3: u32[100] = i < 90 ? (i%2 == 0 ? 81 : 0) + 27*(i%4) + (i%5 == 0 ? 81 : i%5 == 1 ? 36 : i%5 == 2 ? 9 : 0) : 0
// EXPECT 4: u32[100] = i < 90 ? (((i%2 == 0 ? 81 : 0) + 27*(i%4) + (i%5 == 0 ? 81 : i%5 == 1 ? 36 : i%5 == 2 ? 9 : 0)) % 256) * (i%2 == 0 ? 1 : 256) : 0
kernel void towers(device uint *counts [[buffer(0)]], device int *sums [[buffer(1)]],
                   device float *totals [[buffer(2)]], device uint *rounds [[buffer(3)]],
                   device uint *flags [[buffer(4)]], constant uint &n [[buffer(5)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= n) {
        return;
    }
    Counter c = {0, 0, 0.0f, 0, {0, 0}};
    if (i % 2u == 0u) {
        c = tick81(c, i);
    }
    for (uint k = 0; k < i % 4u; k++) {
        c = tick27(c, i);
    }
    switch (i % 5u) {
    case 0:
        c = tick81(c, i);
        break;
    case 1:
        c = tick27(c, i); /* fall through */
    case 2:
        c = tick9(c, i);
        break;
    default:
        break;
    }
    counts[i] = c.count;
    sums[i] = c.sum;
    totals[i] = c.total;
    rounds[i] = c.rounds;
    flags[i] = c.flags[0] | c.flags[1] << 8;
}

// Every kind of number, by itself and in structs.
struct Load {
    half h;
    short s;
    uint u;
    ulong q;
    float v[3];
    char c[4];
};
struct Weights {
    float x, y, z, w;
};
Weights weigh(bool b, thread const Load &l, half h, ushort s, char c) {
    Weights sum = {0, 0, 0, 0};
    for (int x = 0; x < 8; x++) {
        for (int y = 0; y < 8; y++) {
            sum.x += b ? 1.0f : 0.0f;
            sum.y += float(l.h) + float(l.c[0]) * float(l.c[1]) + float(h);
            sum.z += float(l.s) + float(uint(l.q >> 32)) + float(s);
            sum.w += l.v[0] + 2.0f * l.v[1] + 3.0f * l.v[2] + float(c);
        }
    }
    return sum;
}
bool is_heavy(Weights w, float limit) { return w.x + w.y > limit; }
Weights add(Weights a, Weights b, bool negative) {
    float sign = negative ? -1.0f : 1.0f;
    return {a.x + sign * b.x, a.y + sign * b.y, a.z + sign * b.z, a.w + sign * b.w};
}
Weights weigh_four(uint i, uint k) {
    Load first = {half(i), short(-32768), 0, ulong(i) << 32 | 7u, {float(i), 1.0f, float(k)}, {-1, 2, 0, 0}};
    Weights sum = weigh((i + k) % 2u == 0u, first, 0.25h, 32768, -3);
    sum.y -= 16.0f;
    sum.w += 192.0f;
    for (uint n = 1; n < 4; n++) {
        Load load = {0.25h, short(short(n) - 1), i, ulong(n) << 32, {0.0f, 0.0f, 0.0f}, {char(i & 1u), 1, 9, 9}};
        Weights more = weigh(n % 2u == 0u, load, 0.25h, 1, 0);
        sum = add(sum, more, !is_heavy(more, 64.0f));
    }
    return sum;
}

// RUN: kernel=numbers threads=70
// ARG 0: f32[280]
// EXPECT 0: f32[280] = idiv(i, 4) % 3 == 0 ? 0 : 6 * (i % 4 == 0 ? 64 * (idiv(i, 4) % 2 == 0) + (idiv(i, 4) % 2 == 1 ? 64 : 64) : i % 4 == 1 ? 64 * (idiv(i, 4) - 2) + (idiv(i, 4) % 2 == 1 ? 288 : -32) : i % 4 == 2 ? 64 * idiv(i, 4) + (idiv(i, 4) % 2 == 1 ? 768 : -256) : 64 * (idiv(i, 4) + 2))
kernel void numbers(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Weights sum = {0, 0, 0, 0};
    if (i % 3u != 0u) {
        sum = add(weigh_four(i, 0), weigh_four(i, 0), false);
        for (uint k = 0; k < 2u; k++) {
            sum = add(sum, add(weigh_four(i, 0), weigh_four(i, 0), false), false);
        }
    }
    out[i * 4] = sum.x;
    out[i * 4 + 1] = sum.y;
    out[i * 4 + 2] = sum.z;
    out[i * 4 + 3] = sum.w;
}

// A private array at places that the data says, a table of constants, and a reference to the caller's variable.
constant uint table[4] = {10, 20, 30, 40};
void add_to(thread uint &sum, uint x) { sum += x; }
uint fill(uint x, uint times) {
    uint places[8] = {0, 0, 0, 0, 0, 0, 0, 0}, sum = 0;
    for (uint a = 0; a < 4; a++) {
        for (uint b = 0; b < 8; b++) {
            places[(x + b) & 7u] += table[a];
        }
    }
    for (uint b = 0; b < times; b++) {
        add_to(sum, places[(x * b) & 7u]);
    }
    return sum;
}
uint fill_more(uint x, uint times) {
    uint odd = 0;
    for (uint a = 0; a < 8; a++) {
        for (uint b = 0; b < 8; b++) {
            odd += (a + b * 3 + x + table[b & 3u]) & 1u; // in half of the rounds
        }
    }
    return fill(x, times) + fill(x + 1, times) + fill(x + 2, times) + fill(x + 3, times) + odd - 32u;
}
uint fill_most(uint x, uint times) {
    return fill_more(x, times) + fill_more(x, times) + fill_more(x, times) + fill_more(x, times);
}

// RUN: kernel=places threads=200 group=40
// ARG 0: u32[200]
// EXPECT 0: u32[200] = i % 7 == 3 ? 1600 : 32 * 100 * (i % 5)
kernel void places(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    if (i % 7u == 3u) {
        sum = fill_most(i, 1);
    } else {
        sum = fill_most(i, i % 5u) + fill_most(i + 1u, i % 5u);
    }
    out[i] = sum;
}

// References that are only read, also of what the result goes to, and one that is written.
struct Digits {
    ushort d[6];
};
ushort carry_of(thread const ushort &sum) { return sum / 10; }
Digits add_digits(thread const Digits &a, thread const Digits &b) {
    Digits sum = a;
    for (uint round = 0; round < 6; round++) {
        for (uint k = 0; k < 6; k++) {
            ushort here = sum.d[k] + (round == 0 ? b.d[k] : 0);
            sum.d[k] = here % 10;
            if (k < 5) {
                sum.d[k + 1] += carry_of(here);
            }
        }
    }
    return sum;
}
void add_to_digits(thread Digits &a, thread const Digits &b) { a = add_digits(a, b); }
Digits times_eight(Digits a) {
    a = add_digits(a, a);
    add_to_digits(a, a);
    Digits same = a;
    add_to_digits(same, a);
    return same;
}
Digits times_many(Digits a, uint eights) {
    Digits sum = {{0, 0, 0, 0, 0, 0}};
    for (uint k = 0; k < eights; k++) {
        sum = add_digits(times_eight(a), sum);
        sum = add_digits(sum, add_digits(times_eight(a), times_eight(a)));
        add_to_digits(sum, times_eight(a));
        add_to_digits(sum, times_eight(a));
    }
    return sum;
}

// RUN: kernel=digits threads=150 group=50
// ARG 0: u32[150]
// EXPECT 0: u32[150] = i % 4 == 1 ? 8 * i : 40 * i * (i % 3)
kernel void digits(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Digits a = {{ushort(i % 10u), ushort(i / 10u % 10u), ushort(i / 100u), 0, 0, 0}};
    if (i % 4u == 1u) {
        add_to_digits(a, a);
        a = add_digits(add_digits(a, a), add_digits(a, a));
    } else {
        a = times_many(a, i % 3u);
    }
    uint value = 0;
    for (int k = 5; k >= 0; k--) {
        value = value * 10 + a.d[k];
    }
    out[i] = value;
}
