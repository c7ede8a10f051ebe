/* matmul for PyTorch; overrides of products of few rows with a large matrix, as in decoding: mm,
 * and linear where there is no gradient to ask for. (With one, torch's composition comes to mm.) */
#include "python/torch/operators.h"
#include "python/torch/override_route.h"
#include "python/torch/register.h"

/* A matrix that is stored by columns is the transposed one by rows: no copy is needed. */
static const ingot_tensor *factor(struct operator_call *call, uint32_t argument, bool *transposed) {
    bool stored_transposed = false;
    const ingot_tensor *tensor = argument_matrices(call, argument, &stored_transposed);
    *transposed ^= stored_transposed;
    return tensor;
}

/* The batch of a product is that of the factor that has one. */
static const ingot_tensor *product(struct operator_call *call, const ingot_tensor *a,
                                   const ingot_tensor *b, int64_t m, int64_t n) {
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[INGOT_MAX_RANK] = {0};
    if (a->rank < 2 || b->rank < 2) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "a has %u dimensions and b has %u; both must have at least 2", a->rank,
                           b->rank);
    }
    for (uint32_t i = 0; i + 2 < rank; i++) {
        int64_t of_a = tensor_extent(a, (int)i - (int)rank),
                of_b = tensor_extent(b, (int)i - (int)rank);
        shape[i] = of_a == 1 ? of_b : of_a;
    }
    if (rank >= 2) {
        shape[rank - 2] = m;
        shape[rank - 1] = n;
    }
    return output_tensor(call, 0, a->type, rank, shape);
}

ingot_status torch_op_matmul(struct operator_call *call) {
    ingot_matmul_desc desc = {
        .transpose_a = argument_bool(call, 3),
        .transpose_b = argument_bool(call, 4),
        .epilogue = (ingot_epilogue)argument_choice(call, 5, INGOT_EPILOGUE_GELU_TANH, "0 to 4")};
    desc.a = factor(call, 0, &desc.transpose_a);
    desc.b = factor(call, 1, &desc.transpose_b);
    desc.bias = argument_optional_tensor(call, 2, LAYOUT_DENSE);
    desc.out = product(call, desc.a, desc.b, tensor_extent(desc.a, desc.transpose_a ? -1 : -2),
                       tensor_extent(desc.b, desc.transpose_b ? -2 : -1));
    return OPERATOR_RUN(call, ingot_op_matmul, &desc);
}

/* ---- overrides ---------------------------------------------------------------------------- */

typedef cpp_result mm_function(torch_tensor *, torch_tensor *);
typedef cpp_result linear_function(torch_tensor *, torch_tensor *, const cpp_optional_tensor *);

/* x [..., k] by rows, weight [n, k] or [k, n]: are there as many rows and elements as ingot takes?
 */
static bool sizes_fit(const struct tensor_facts *x, const struct tensor_facts *weight, int64_t k) {
    return x->type == weight->type && x->dense && x->rank >= 2 && weight->rank == 2 && k > 0 &&
           x->shape[x->rank - 1] == k &&
           limit_allows(LIMIT_linear, weight->type, weight->elements) &&
           limit_allows(LIMIT_linear_rows, x->type, x->elements / k);
}

void override_mm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_mm, stack);
    torch_tensor *a = override_tensor(&call, 0, 0), *b = override_tensor(&call, 1, 1);
    const struct tensor_facts of_a = tensor_facts_of(a), of_b = tensor_facts_of(b);
    const bool by_columns = of_b.rank == 2 && of_b.strides[0] == 1 &&
                            (of_b.shape[1] == 1 || of_b.strides[1] == of_b.shape[0]);
    if (of_a.rank == 2 && (of_b.dense || by_columns) &&
        sizes_fit(&of_a, &of_b, of_b.rank ? of_b.shape[0] : 0)) {
        const torch_value values[] = {(torch_value)a, (torch_value)b, 0, 0, 0, 0};
        override_replace(&call, torch_operator_at(OPERATOR_matmul), values, stack);
        return;
    }
    const cpp_result result = ((mm_function *)override_pass_on(&call))(a, b);
    override_return(&call, &result, 0, 1);
}

static bool linear_fits(torch_tensor *x, torch_tensor *weight, torch_tensor *bias) {
    const struct tensor_facts of_x = tensor_facts_of(x), of_weight = tensor_facts_of(weight);
    if (!of_weight.dense ||
        !sizes_fit(&of_x, &of_weight, of_weight.rank == 2 ? of_weight.shape[1] : 0)) {
        return false;
    }
    if (!bias) {
        return true;
    }
    const struct tensor_facts of_bias = tensor_facts_of(bias);
    return of_bias.type == of_x.type && of_bias.rank == 1 && of_bias.dense &&
           of_bias.shape[0] == of_weight.shape[0];
}

void override_linear(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_linear, stack);
    torch_tensor *x = override_tensor(&call, 0, 0), *weight = override_tensor(&call, 1, 1),
                 *bias = override_optional_tensor(&call, 2, 2);
    if (linear_fits(x, weight, bias) && override_may_bypass(&call) &&
        override_route(&call, true) == ROUTE_BYPASS) {
        const torch_value values[] = {
            (torch_value)x, (torch_value)weight, (torch_value)bias, 0, 1, 0};
        override_replace(&call, torch_operator_at(OPERATOR_matmul), values, stack);
        return;
    }
    const cpp_optional_tensor of_bias = override_as_optional(bias);
    const cpp_result result = ((linear_function *)override_pass_on(&call))(x, weight, &of_bias);
    override_return(&call, &result, 0, 1);
}
