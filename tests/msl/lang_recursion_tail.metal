// A member function that ends by calling itself is a loop.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i * 10 + idiv(i, 7)
#include <metal_stdlib>
using namespace metal;

struct walker {
    int row = 0, column = 0;
    void step(int n) thread {
        column += n;
        if (column >= 7) {
            row += column / 7;
            int extra = column % 7;
            column = 0;
            if (extra > 0)
                step(extra);
        }
    }
};

kernel void k(device int *x, uint i [[thread_position_in_grid]]) {
    walker w;
    w.step(int(i));
    x[i] = (w.row * 7 + w.column) * 10 + w.row;
}
