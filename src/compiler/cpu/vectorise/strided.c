/*
 * Groups of accesses with a small constant lane stride, such as the four floats of a float4 or
 * x[8 * i + j] in an unrolled loop: wide accesses and shuffles instead of gathers.
 *
 * A group is a set of loads (or stores) of one block at base + lane * stride + offset, where the
 * stride is 2, 4, 8 or 16 elements and nothing between them touches memory. A load group needs
 * the first and the last element of the stride among its members, so that no byte is read that
 * lies outside what the lanes read together; a store group needs all. The wide form is right
 * when all lanes are active and no index wraps; otherwise the group gathers or scatters.
 *
 * Where lanes stand anywhere, such as the float4 of a row that depends on the lane, the 2 to 16
 * neighbouring elements that one lane accesses still are one access: a cluster. Clusters of 4
 * or 8 bytes gather once, larger ones load or store lane by lane, inactive lanes at a place
 * that is not used otherwise; or vector by vector, when a check finds the lanes of each in a row.
 */
#include "compiler/cpu/vectorise/state.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

#define MAX_STRIDE  16
#define MAX_CLUSTER 32 /* bytes */

struct group {
    LLVMValueRef members[MAX_STRIDE]; /* by element of the stride; NULL: not accessed */
    unsigned stride;                  /* in elements */
    bool clustered;                   /* at any addresses: the stride is what a lane accesses */
    LLVMTypeRef type;                 /* mapped */
    long size;                        /* of an element */
    unsigned align;
    LLVMValueRef pointer; /* of the member that comes first in the block … */
    long offset;          /* … and its byte offset from the start of the stride */
};

/* What a load group read, before it was taken apart: a store group of the same elements, as in
 * the copy of a float4, puts it back as it is. */
struct igv_packed {
    LLVMValueRef vectors[IGV_MAX_CHUNKS][MAX_STRIDE];
    unsigned stride;
    unsigned block;
};

static bool is_store(LLVMValueRef instruction) {
    return LLVMGetInstructionOpcode(instruction) == LLVMStore;
}

static LLVMValueRef pointer_of(LLVMValueRef access) {
    return LLVMGetOperand(access, is_store(access) ? 1 : 0);
}

static LLVMTypeRef type_of(struct igv_emit *emit, LLVMValueRef access) {
    LLVMValueRef value = is_store(access) ? LLVMGetOperand(access, 0) : access;
    return igv_mapped_type(emit, LLVMTypeOf(value));
}

static bool touches_memory(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
        return true;
    case LLVMCall:
        return !igi_is_intrinsic(instruction);
    default:
        return false;
    }
}

static bool same_place(const struct igv_address *a, const struct igv_address *b) {
    return a->base == b->base && a->index == b->index && a->scale == b->scale;
}

static bool plain(LLVMValueRef access) {
    return LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic && !LLVMGetVolatile(access);
}

/* Stride in elements, or 0 when the access is not of this kind. */
static unsigned group_stride(struct igv_emit *emit, LLVMValueRef access) {
    struct igv_value *pointer = igv_lookup(emit, pointer_of(access));
    if (!pointer || pointer->private_granule || !plain(access) ||
        (pointer->shape != IGV_V_LINEAR && pointer->shape != IGV_V_CHECKED)) {
        return 0;
    }
    long size = (long)LLVMStoreSizeOfType(emit->layout, type_of(emit, access));
    if (size <= 0 || pointer->stride <= 0 || pointer->stride % size) {
        return 0;
    }
    long stride = pointer->stride / size;
    return stride == 2 || stride == 4 || stride == 8 || stride == 16 ? (unsigned)stride : 0;
}

/* Can neighbouring accesses of one lane be put together? Not where the lanes themselves are
 * neighbours: those are vector accesses already. */
static bool can_cluster(struct igv_emit *emit, LLVMValueRef access) {
    struct igv_value *pointer = igv_lookup(emit, pointer_of(access));
    LLVMTypeRef type = type_of(emit, access);
    if (!pointer || pointer->private_granule || !plain(access) || igv_is_pointer(type) ||
        type == emit->i1 || pointer->shape == IGV_V_UNIFORM) {
        return false;
    }
    return pointer->shape == IGV_V_VARYING ||
           pointer->stride != (long)LLVMStoreSizeOfType(emit->layout, type);
}

struct candidate {
    LLVMValueRef access;
    long offset;
};

/* The accesses of the block that go with `first`, itself included, in block order; stride 0:
 * those that may form a cluster. */
static unsigned find_candidates(struct igv_emit *emit, LLVMValueRef first, unsigned stride,
                                struct candidate *found, unsigned capacity) {
    LLVMTypeRef type = type_of(emit, first);
    struct igv_address place = igv_split_pointer(emit->layout, pointer_of(first));
    bool stores = is_store(first);
    unsigned count = 0;
    found[count++] = (struct candidate){first, place.offset};
    igi_each_from(i, LLVMGetNextInstruction(first)) {
        if (count == capacity) {
            break;
        }
        LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
        if (opcode == (stores ? LLVMStore : LLVMLoad) && type_of(emit, i) == type &&
            (stride ? group_stride(emit, i) == stride : can_cluster(emit, i))) {
            struct igv_address other = igv_split_pointer(emit->layout, pointer_of(i));
            if (same_place(&place, &other)) {
                found[count++] = (struct candidate){i, other.offset};
                continue;
            }
        }
        if (touches_memory(i) || (stores && opcode == LLVMLoad)) {
            break;
        }
    }
    return count;
}

/* Fills the group with the candidates that lie in the window [start, start + stride). */
static unsigned take_window(struct group *group, const struct candidate *found, unsigned count,
                            long start) {
    unsigned taken = 0;
    memset(group->members, 0, sizeof group->members);
    for (unsigned i = 0; i < count; i++) {
        long distance = found[i].offset - start;
        if (distance < 0 || distance % group->size || distance / group->size >= group->stride) {
            continue;
        }
        LLVMValueRef *member = &group->members[distance / group->size];
        if (*member) {
            continue; /* a second access of the same element stands alone */
        }
        *member = found[i].access;
        taken++;
    }
    return taken;
}

/* Looks for a window of group->stride elements around the first candidate. */
static bool fill_group(struct group *group, const struct candidate *found, unsigned count) {
    LLVMValueRef first = found[0].access;
    unsigned wanted = is_store(first) ? group->stride : 2;
    for (unsigned element = 0; element < group->stride; element++) {
        long start = found[0].offset - (long)element * group->size;
        unsigned taken = take_window(group, found, count, start);
        if (taken < wanted || !group->members[0] || !group->members[group->stride - 1] ||
            group->members[element] != first) {
            continue;
        }
        if (taken * 4 < group->stride) {
            continue;
        }
        group->pointer = pointer_of(first);
        group->offset = found[0].offset - start;
        for (unsigned i = 0; i < group->stride; i++) {
            if (group->members[i] && LLVMGetAlignment(group->members[i]) < group->align) {
                group->align = LLVMGetAlignment(group->members[i]);
            }
        }
        return true;
    }
    return false;
}

static bool find_group(struct igv_emit *emit, LLVMValueRef first, struct group *group) {
    struct candidate found[4 * MAX_STRIDE];
    group->clustered = false;
    group->stride = group_stride(emit, first);
    group->type = type_of(emit, first);
    group->size = (long)LLVMStoreSizeOfType(emit->layout, group->type);
    group->align = LLVMGetAlignment(first);
    if (group->stride) {
        unsigned count = find_candidates(emit, first, group->stride, found, 4 * MAX_STRIDE);
        if (fill_group(group, found, count)) {
            return true;
        }
    }
    if (!can_cluster(emit, first)) {
        return false;
    }
    group->clustered = true;
    unsigned count = find_candidates(emit, first, 0, found, 4 * MAX_STRIDE);
    for (group->stride = emit->lanes; group->stride >= 2; group->stride /= 2) {
        long bytes = group->stride * group->size;
        if (bytes >= 4 && bytes <= MAX_CLUSTER && fill_group(group, found, count)) {
            return true;
        }
    }
    return false;
}

/* ---- shuffles ----------------------------------------------------------------------------------
 */

/* Elements first, first + step, … of the concatenation of two vectors. */
static LLVMValueRef pick(struct igv_emit *emit, LLVMValueRef a, LLVMValueRef b, unsigned first,
                         unsigned step) {
    LLVMValueRef indices[32];
    for (unsigned i = 0; i < emit->lanes; i++) {
        indices[i] = igv_u32(emit, first + step * i);
    }
    return LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(indices, emit->lanes), "");
}

/* a0 b0 a1 b1 …: the first or the second half. */
static LLVMValueRef zip(struct igv_emit *emit, LLVMValueRef a, LLVMValueRef b, unsigned half) {
    LLVMValueRef indices[32];
    for (unsigned i = 0; i < emit->lanes; i++) {
        unsigned element = half * emit->lanes / 2 + i / 2;
        indices[i] = igv_u32(emit, i % 2 ? emit->lanes + element : element);
    }
    return LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(indices, emit->lanes), "");
}

/* stride vectors of consecutive memory → one vector per element of the stride */
static void deinterleave(struct igv_emit *emit, LLVMValueRef *vectors, unsigned stride) {
    LLVMValueRef next[MAX_STRIDE];
    for (unsigned sets = 1, count = stride; count > 1; sets *= 2, count /= 2) {
        for (unsigned set = 0; set < sets; set++) {
            for (unsigned j = 0; j < count / 2; j++) {
                LLVMValueRef a = vectors[set * count + 2 * j], b = vectors[set * count + 2 * j + 1];
                next[set * (count / 2) + j] = pick(emit, a, b, 0, 2);
                next[(set + sets) * (count / 2) + j] = pick(emit, a, b, 1, 2);
            }
        }
        memcpy(vectors, next, stride * sizeof *vectors);
    }
}

static void interleave(struct igv_emit *emit, LLVMValueRef *vectors, unsigned stride) {
    LLVMValueRef next[MAX_STRIDE];
    for (unsigned sets = stride / 2, count = 2; sets >= 1; sets /= 2, count *= 2) {
        for (unsigned set = 0; set < sets; set++) {
            for (unsigned j = 0; j < count / 2; j++) {
                LLVMValueRef a = vectors[set * (count / 2) + j];
                LLVMValueRef b = vectors[(set + sets) * (count / 2) + j];
                next[set * count + 2 * j] = zip(emit, a, b, 0);
                next[set * count + 2 * j + 1] = zip(emit, a, b, 1);
            }
        }
        memcpy(vectors, next, stride * sizeof *vectors);
    }
}

/* ---- the two forms
 * ------------------------------------------------------------------------------- */

/* Takes the vectors of one chunk apart into results, and keeps them as they were. */
static void unpack(struct igv_emit *emit, const struct group *group, unsigned chunk,
                   LLVMValueRef *vectors, struct igv_packed *packed,
                   LLVMValueRef (*results)[IGV_MAX_CHUNKS]) {
    if (packed) {
        memcpy(packed->vectors[chunk], vectors, group->stride * sizeof *vectors);
    }
    deinterleave(emit, vectors, group->stride);
    for (unsigned i = 0; i < group->stride; i++) {
        results[i][chunk] = vectors[i];
    }
}

/* The load group whose elements the store group writes in their order, or NULL. */
static const struct igv_packed *packed_values(struct igv_emit *emit, const struct group *group) {
    const struct igv_packed *packed = NULL;
    for (unsigned i = 0; i < group->stride; i++) {
        struct igv_value *value = igv_lookup(emit, LLVMGetOperand(group->members[i], 0));
        struct igv_slot *slot = value ? igv_slot_of(value) : NULL;
        if (!slot || !slot->packed || slot->packed_element != i ||
            (packed && slot->packed != packed)) {
            return NULL;
        }
        packed = slot->packed;
    }
    return packed->stride == group->stride && packed->block == emit->state->block ? packed : NULL;
}

/* The vectors that the store group writes in one chunk. */
static void pack(struct igv_emit *emit, const struct group *group, unsigned chunk,
                 LLVMValueRef *vectors) {
    const struct igv_packed *packed = packed_values(emit, group);
    if (packed) {
        memcpy(vectors, packed->vectors[chunk], group->stride * sizeof *vectors);
        return;
    }
    for (unsigned i = 0; i < group->stride; i++) {
        vectors[i] = igv_vector(emit, LLVMGetOperand(group->members[i], 0), chunk);
    }
    interleave(emit, vectors, group->stride);
}

static LLVMValueRef wide_place(struct igv_emit *emit, const struct group *group, unsigned chunk,
                               unsigned part) {
    LLVMValueRef base = igv_scalar(emit, group->pointer);
    long lanes = emit->lanes;
    long bytes =
        (long)chunk * lanes * group->size * group->stride + (long)part * lanes * group->size;
    return igv_offset(emit, base, bytes - group->offset);
}

static LLVMValueRef lane_places(struct igv_emit *emit, const struct group *group, unsigned chunk,
                                unsigned element) {
    long bytes = (long)element * group->size - group->offset;
    LLVMValueRef pointers = igv_vector(emit, group->pointer, chunk);
    LLVMValueRef offset = LLVMConstInt(emit->i64, (unsigned long)bytes, 1);
    return LLVMBuildGEP2(emit->builder, emit->i8, pointers, &offset, 1, "");
}

static void wide_load(struct igv_emit *emit, const struct group *group, struct igv_packed *packed,
                      LLVMValueRef (*results)[IGV_MAX_CHUNKS]) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vectors[MAX_STRIDE];
        for (unsigned part = 0; part < group->stride; part++) {
            vectors[part] = LLVMBuildLoad2(emit->builder, igv_vector_type(emit, group->type),
                                           wide_place(emit, group, chunk, part), "");
            LLVMSetAlignment(vectors[part], (unsigned)group->size < group->align
                                                ? (unsigned)group->size
                                                : group->align);
        }
        unpack(emit, group, chunk, vectors, packed, results);
    }
}

static void gather_load(struct igv_emit *emit, const struct group *group,
                        LLVMValueRef (*results)[IGV_MAX_CHUNKS]) {
    for (unsigned i = 0; i < group->stride; i++) {
        for (unsigned chunk = 0; group->members[i] && chunk < emit->chunks; chunk++) {
            results[i][chunk] = igv_gather(emit, group->type, lane_places(emit, group, chunk, i),
                                           LLVMGetAlignment(group->members[i]), chunk);
        }
    }
}

static void wide_store(struct igv_emit *emit, const struct group *group) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vectors[MAX_STRIDE];
        pack(emit, group, chunk, vectors);
        for (unsigned part = 0; part < group->stride; part++) {
            LLVMValueRef store =
                LLVMBuildStore(emit->builder, vectors[part], wide_place(emit, group, chunk, part));
            LLVMSetAlignment(store, (unsigned)group->size < group->align ? (unsigned)group->size
                                                                         : group->align);
        }
    }
}

static void scatter_store(struct igv_emit *emit, const struct group *group) {
    for (unsigned i = 0; i < group->stride; i++) {
        for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
            LLVMValueRef vector = igv_vector(emit, LLVMGetOperand(group->members[i], 0), chunk);
            igv_scatter(emit, vector, lane_places(emit, group, chunk, i),
                        LLVMGetAlignment(group->members[i]), chunk);
        }
    }
}

/* ---- clusters ---- */

static LLVMValueRef join(struct igv_emit *emit, LLVMValueRef *parts, unsigned count) {
    for (unsigned width = LLVMGetVectorSize(LLVMTypeOf(parts[0])); count > 1; count /= 2) {
        width *= 2;
        LLVMValueRef indices[MAX_STRIDE * 32];
        for (unsigned i = 0; i < width; i++) {
            indices[i] = igv_u32(emit, i);
        }
        for (unsigned i = 0; i < count / 2; i++) {
            parts[i] = LLVMBuildShuffleVector(emit->builder, parts[2 * i], parts[2 * i + 1],
                                              LLVMConstVector(indices, width), "");
        }
    }
    return parts[0];
}

static LLVMValueRef section(struct igv_emit *emit, LLVMValueRef vector, unsigned first,
                            unsigned count) {
    if (LLVMGetVectorSize(LLVMTypeOf(vector)) == count) {
        return vector;
    }
    LLVMValueRef indices[32];
    for (unsigned i = 0; i < count; i++) {
        indices[i] = igv_u32(emit, first + i);
    }
    return LLVMBuildShuffleVector(emit->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(indices, count), "");
}

/* Each lane's cluster; that of an inactive lane is a place on the stack. */
static LLVMValueRef cluster_places(struct igv_emit *emit, const struct group *group,
                                   unsigned chunk) {
    LLVMValueRef places = lane_places(emit, group, chunk, 0);
    if (igv_mask_is_full(emit)) {
        return places;
    }
    LLVMValueRef unused = igv_entry_alloca(emit, LLVMArrayType2(emit->i8, MAX_CLUSTER), 64);
    return LLVMBuildSelect(emit->builder, igv_mask(emit, chunk), places, igv_splat(emit, unused),
                           "");
}

/* i1: the clusters of the lanes that share a vector follow one another in memory, as those of a
 * tile's row do: each vector is then one access. (An inactive lane's place never fits.) */
static LLVMValueRef clusters_follow(struct igv_emit *emit, const struct group *group,
                                    LLVMValueRef places) {
    unsigned per_vector = emit->lanes / group->stride;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef starts[32], distances[32];
    for (unsigned lane = 0; lane < emit->lanes; lane++) {
        unsigned within = lane % per_vector;
        starts[lane] = igv_u32(emit, lane - within);
        distances[lane] = igv_u64(emit, (uint64_t)within * group->stride * (uint64_t)group->size);
    }
    LLVMValueRef numbers = LLVMBuildPtrToInt(b, places, igv_vector_type(emit, emit->i64), "");
    LLVMValueRef start = LLVMBuildShuffleVector(b, numbers, LLVMGetPoison(LLVMTypeOf(numbers)),
                                                LLVMConstVector(starts, emit->lanes), "");
    LLVMValueRef expected = LLVMBuildAdd(b, start, LLVMConstVector(distances, emit->lanes), "");
    return igv_all(emit, LLVMBuildICmp(b, LLVMIntEQ, numbers, expected, ""));
}

static LLVMValueRef vector_place(struct igv_emit *emit, const struct group *group,
                                 LLVMValueRef places, unsigned vector) {
    unsigned lane = vector * (emit->lanes / group->stride);
    return LLVMBuildExtractElement(emit->builder, places, igv_u32(emit, lane), "");
}

static LLVMTypeRef cluster_integer(struct igv_emit *emit, const struct group *group) {
    return LLVMIntTypeInContext(emit->context, (unsigned)(8 * group->size * group->stride));
}

static void load_lane_clusters(struct igv_emit *emit, const struct group *group,
                               LLVMValueRef places, LLVMValueRef *vectors) {
    unsigned per_vector = emit->lanes / group->stride;
    LLVMTypeRef type = LLVMVectorType(group->type, group->stride);
    for (unsigned i = 0; i < group->stride; i++) {
        LLVMValueRef clusters[MAX_STRIDE];
        for (unsigned j = 0; j < per_vector; j++) {
            LLVMValueRef lane = igv_u32(emit, i * per_vector + j);
            LLVMValueRef place = LLVMBuildExtractElement(emit->builder, places, lane, "");
            clusters[j] = LLVMBuildLoad2(emit->builder, type, place, "");
            LLVMSetAlignment(clusters[j], group->align);
        }
        vectors[i] = join(emit, clusters, per_vector);
    }
}

/* As wide_load's vectors: group->stride of them, lane after lane. */
static void load_cluster(struct igv_emit *emit, const struct group *group, unsigned chunk,
                         LLVMValueRef *vectors) {
    unsigned per_vector = emit->lanes / group->stride;
    if (group->size * group->stride <= 8) {
        LLVMValueRef whole = igv_gather(emit, cluster_integer(emit, group),
                                        lane_places(emit, group, chunk, 0), group->align, chunk);
        whole = LLVMBuildBitCast(emit->builder, whole,
                                 LLVMVectorType(group->type, emit->lanes * group->stride), "");
        for (unsigned i = 0; i < group->stride; i++) {
            vectors[i] = section(emit, whole, i * emit->lanes, emit->lanes);
        }
        return;
    }
    LLVMValueRef places = cluster_places(emit, group, chunk);
    if (per_vector == 1) {
        load_lane_clusters(emit, group, places, vectors);
        return;
    }
    LLVMBasicBlockRef runs = igv_append_block(emit, "load.runs"), from[2];
    LLVMBasicBlockRef lanes = igv_append_block(emit, "load.lanes");
    LLVMBasicBlockRef done = igv_append_block(emit, "load.done");
    LLVMBuildCondBr(emit->builder, clusters_follow(emit, group, places), runs, lanes);
    LLVMPositionBuilderAtEnd(emit->builder, runs);
    LLVMValueRef together[MAX_STRIDE];
    for (unsigned i = 0; i < group->stride; i++) {
        together[i] = LLVMBuildLoad2(emit->builder, igv_vector_type(emit, group->type),
                                     vector_place(emit, group, places, i), "");
        LLVMSetAlignment(together[i], group->align);
    }
    from[0] = runs;
    LLVMBuildBr(emit->builder, done);
    LLVMPositionBuilderAtEnd(emit->builder, lanes);
    load_lane_clusters(emit, group, places, vectors);
    from[1] = lanes;
    LLVMBuildBr(emit->builder, done);
    LLVMPositionBuilderAtEnd(emit->builder, done);
    for (unsigned i = 0; i < group->stride; i++) {
        LLVMValueRef incoming[] = {together[i], vectors[i]};
        vectors[i] = LLVMBuildPhi(emit->builder, LLVMTypeOf(together[i]), "");
        LLVMAddIncoming(vectors[i], incoming, from, 2);
    }
}

static void store_lane_clusters(struct igv_emit *emit, const struct group *group,
                                LLVMValueRef places, LLVMValueRef *vectors) {
    unsigned per_vector = emit->lanes / group->stride;
    for (unsigned lane = 0; lane < emit->lanes; lane++) {
        LLVMValueRef cluster = section(emit, vectors[lane / per_vector],
                                       lane % per_vector * group->stride, group->stride);
        LLVMValueRef place =
            LLVMBuildExtractElement(emit->builder, places, igv_u32(emit, lane), "");
        LLVMSetAlignment(LLVMBuildStore(emit->builder, cluster, place), group->align);
    }
}

static void store_cluster(struct igv_emit *emit, const struct group *group, unsigned chunk,
                          LLVMValueRef *vectors) {
    unsigned per_vector = emit->lanes / group->stride;
    if (group->size * group->stride <= 8 && emit->request->target->bit_masks) {
        LLVMValueRef whole = join(emit, vectors, group->stride);
        whole = LLVMBuildBitCast(emit->builder, whole,
                                 igv_vector_type(emit, cluster_integer(emit, group)), "");
        igv_scatter(emit, whole, lane_places(emit, group, chunk, 0), group->align, chunk);
        return;
    }
    LLVMValueRef places = cluster_places(emit, group, chunk);
    if (per_vector == 1) {
        store_lane_clusters(emit, group, places, vectors);
        return;
    }
    LLVMBasicBlockRef runs = igv_append_block(emit, "store.runs");
    LLVMBasicBlockRef lanes = igv_append_block(emit, "store.lanes");
    LLVMBasicBlockRef done = igv_append_block(emit, "store.done");
    LLVMBuildCondBr(emit->builder, clusters_follow(emit, group, places), runs, lanes);
    LLVMPositionBuilderAtEnd(emit->builder, runs);
    for (unsigned i = 0; i < group->stride; i++) {
        LLVMSetAlignment(
            LLVMBuildStore(emit->builder, vectors[i], vector_place(emit, group, places, i)),
            group->align);
    }
    LLVMBuildBr(emit->builder, done);
    LLVMPositionBuilderAtEnd(emit->builder, lanes);
    store_lane_clusters(emit, group, places, vectors);
    LLVMBuildBr(emit->builder, done);
    LLVMPositionBuilderAtEnd(emit->builder, done);
}

static void clustered_load(struct igv_emit *emit, const struct group *group,
                           struct igv_packed *packed, LLVMValueRef (*results)[IGV_MAX_CHUNKS]) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vectors[MAX_STRIDE];
        load_cluster(emit, group, chunk, vectors);
        unpack(emit, group, chunk, vectors, packed, results);
    }
}

static void clustered_store(struct igv_emit *emit, const struct group *group) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vectors[MAX_STRIDE];
        pack(emit, group, chunk, vectors);
        store_cluster(emit, group, chunk, vectors);
    }
}

/* Where the wide form of a strided group is not right, each lane's elements may be a cluster. */
static bool fits_cluster(struct igv_emit *emit, const struct group *group) {
    long bytes = group->stride * group->size;
    return group->stride <= emit->lanes && bytes >= 4 && bytes <= MAX_CLUSTER &&
           !igv_is_pointer(group->type) && group->type != emit->i1;
}

/* i1: the wide form is right now; NULL: always. */
static LLVMValueRef wide_condition(struct igv_emit *emit, const struct group *group) {
    LLVMValueRef condition = NULL;
    if (!igv_mask_is_full(emit)) {
        LLVMValueRef all = igv_mask(emit, 0);
        for (unsigned chunk = 1; chunk < emit->chunks; chunk++) {
            all = LLVMBuildAnd(emit->builder, all, igv_mask(emit, chunk), "");
        }
        condition = igv_all(emit, all);
    }
    if (igv_exact_shape(emit, group->pointer, NULL) == IGV_V_CHECKED) {
        LLVMValueRef right = LLVMBuildNot(emit->builder, igv_wraps(emit, group->pointer), "");
        condition = condition ? LLVMBuildAnd(emit->builder, condition, right, "") : right;
    }
    return condition;
}

static void define_members(struct igv_emit *emit, const struct group *group,
                           const struct igv_packed *packed,
                           LLVMValueRef (*results)[IGV_MAX_CHUNKS]) {
    for (unsigned i = 0; i < group->stride; i++) {
        if (!group->members[i]) {
            continue;
        }
        for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
            igv_define_vector(emit, group->members[i], chunk, results[i][chunk]);
        }
        struct igv_slot *slot = igv_slot_of(igv_lookup(emit, group->members[i]));
        slot->emitted = true;
        slot->packed = packed;
        slot->packed_element = i;
    }
}

static void join_results(struct igv_emit *emit, const struct group *group, LLVMBasicBlockRef *from,
                         LLVMValueRef (*wide)[IGV_MAX_CHUNKS],
                         LLVMValueRef (*gathered)[IGV_MAX_CHUNKS]) {
    for (unsigned i = 0; i < group->stride; i++) {
        for (unsigned chunk = 0; group->members[i] && chunk < emit->chunks; chunk++) {
            LLVMValueRef incoming[2] = {wide[i][chunk], gathered[i][chunk]};
            wide[i][chunk] = LLVMBuildPhi(emit->builder, igv_vector_type(emit, group->type), "");
            LLVMAddIncoming(wide[i][chunk], incoming, from, 2);
        }
    }
}

bool igv_emit_strided_load(struct igv_emit *emit, LLVMValueRef instruction) {
    struct group group;
    if (!find_group(emit, instruction, &group)) {
        return false;
    }
    LLVMValueRef wide[MAX_STRIDE][IGV_MAX_CHUNKS], gathered[MAX_STRIDE][IGV_MAX_CHUNKS];
    LLVMValueRef condition = group.clustered ? NULL : wide_condition(emit, &group);
    if (!condition) {
        struct igv_packed *packed = ig_arena_alloc(emit->state->arena, sizeof *packed);
        if (packed) {
            packed->stride = group.stride;
            packed->block = emit->state->block;
        }
        (group.clustered ? clustered_load : wide_load)(emit, &group, packed, wide);
        define_members(emit, &group, packed, wide);
        return true;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "wide"),
                      slow = igv_append_block(emit, "gather");
    LLVMBasicBlockRef join = igv_append_block(emit, "loaded"), from[2];
    LLVMBuildCondBr(emit->builder, condition, fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    wide_load(emit, &group, NULL, wide);
    from[0] = LLVMGetInsertBlock(emit->builder);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    if (fits_cluster(emit, &group)) {
        clustered_load(emit, &group, NULL, gathered);
    } else {
        gather_load(emit, &group, gathered);
    }
    from[1] = LLVMGetInsertBlock(emit->builder);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
    join_results(emit, &group, from, wide, gathered);
    define_members(emit, &group, NULL, wide);
    return true;
}

/* The last member in block order, where all values are there. */
static LLVMValueRef last_member(const struct group *group, LLVMValueRef first) {
    LLVMValueRef last = first;
    igi_each_from(i, first) {
        for (unsigned m = 0; m < group->stride; m++) {
            if (group->members[m] == i) {
                last = i;
            }
        }
    }
    return last;
}

static void emit_store_group(struct igv_emit *emit, const struct group *group) {
    LLVMValueRef condition = group->clustered ? NULL : wide_condition(emit, group);
    if (!condition) {
        (group->clustered ? clustered_store : wide_store)(emit, group);
        return;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "wide"),
                      slow = igv_append_block(emit, "scatter");
    LLVMBasicBlockRef join = igv_append_block(emit, "stored");
    LLVMBuildCondBr(emit->builder, condition, fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    wide_store(emit, group);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    if (fits_cluster(emit, group)) {
        clustered_store(emit, group);
    } else {
        scatter_store(emit, group);
    }
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

bool igv_emit_strided_store(struct igv_emit *emit, LLVMValueRef instruction) {
    struct igv_value *self = igv_lookup(emit, instruction);
    if (!self) {
        return false;
    }
    struct igv_slot *slot = igv_slot_of(self);
    if (slot->group) { /* the last of a group found earlier */
        emit_store_group(emit, slot->group);
        return true;
    }
    struct group *group = ig_arena_alloc(emit->state->arena, sizeof *group);
    if (!group || !find_group(emit, instruction, group)) {
        return false;
    }
    LLVMValueRef last = last_member(group, instruction);
    for (unsigned i = 0; i < group->stride; i++) {
        struct igv_value *member = igv_lookup(emit, group->members[i]);
        if (!member) {
            return false;
        }
        igv_slot_of(member)->emitted = group->members[i] != last;
    }
    igv_slot_of(igv_lookup(emit, last))->group = group;
    return true;
}
