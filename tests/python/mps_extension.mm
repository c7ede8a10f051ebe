/* An extension of PyTorch as people write them for Macs; it knows nothing of ingot. test_mps_extension.py builds it. */
#include <torch/extension.h>
#include <torch/mps.h>

#include <ATen/native/mps/OperationUtils.h>

using namespace at::native::mps;

static MetalShaderLibrary library(R"METAL(
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float *x, device float *y, constant float &by, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * by;
}
kernel void add_one(device float *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
kernel void place(device uint *x, uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]],
                  uint2 group [[threads_per_threadgroup]]) {
    x[at.y * size.x + at.x] = at.y * 1000 + at.x + 1000000 * group.x;
}
kernel void wild(device float *x, uint i [[thread_position_in_grid]]) {
    x[1ul << 40] = i; // far outside
}
)METAL");

static MetalShaderLibrary typed("kernel void fill(device {0} *x, uint i [[thread_position_in_grid]]) {{ x[i] = {1}; }}", 2);

/* The stream's own encoder, which stays open. */
at::Tensor scale(const at::Tensor &x, double by) {
    TORCH_CHECK(x.is_mps() && x.scalar_type() == at::kFloat, "scale takes float32 tensors on mps");
    auto y = at::empty_like(x);
    auto state = library.getPipelineStateForFunc("scale");
    MPSStream *stream = getCurrentMPSStream();
    dispatch_sync_with_rethrow(stream->queue(), ^() {
        @autoreleasepool {
            id<MTLComputeCommandEncoder> encoder = stream->commandEncoder();
            [encoder setComputePipelineState:state];
            mtl_setArgs(encoder, x, y, by);
            mtl_dispatch1DJob(encoder, state, x.numel());
        }
    });
    return y;
}

/* A command buffer that is fetched first and used after an operator; an encoder of its own. */
void add_one(const at::Tensor &x, bool commits) {
    id<MTLCommandBuffer> commands = torch::mps::get_command_buffer();
    auto unrelated = at::ones({4}, x.options()) + 1;
    auto state = library.getPipelineStateForFunc("add_one");
    dispatch_sync(torch::mps::get_dispatch_queue(), ^{
        @autoreleasepool {
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            [encoder setComputePipelineState:state];
            [encoder setBuffer:__builtin_bit_cast(id<MTLBuffer>, x.storage().data())
                        offset:x.storage_offset() * x.element_size()
                       atIndex:0];
            [encoder dispatchThreads:MTLSizeMake(x.numel(), 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            [encoder endEncoding];
            if (commits) {
                torch::mps::commit();
            }
        }
    });
}

at::Tensor place(std::vector<uint64_t> size, std::optional<std::vector<uint64_t>> group) {
    auto options = at::TensorOptions().dtype(at::kInt).device(at::kMPS);
    auto out = at::zeros({int64_t(size[1]), int64_t(size[0])}, options);
    auto kernel = library.getKernelFunction("place");
    kernel->runCommandBlock([&] {
        kernel->startEncoding();
        kernel->setArg(0, out);
        if (group) {
            kernel->dispatch(size, *group);
        } else {
            kernel->dispatch(size);
        }
    });
    return out;
}

at::Tensor fill(int64_t count, const std::string &type, const std::string &value) {
    auto out = at::empty({count}, at::TensorOptions().dtype(type == "half" ? at::kHalf : at::kInt).device(at::kMPS));
    auto state = typed.getPipelineStateForFunc("fill", {type, value});
    MPSStream *stream = getCurrentMPSStream();
    dispatch_sync_with_rethrow(stream->queue(), ^() {
        auto encoder = stream->commandEncoder();
        [encoder setComputePipelineState:state];
        mtl_setBuffer(encoder, out, 0);
        mtl_dispatch1DJob(encoder, state, count);
    });
    return out;
}

void copy(const at::Tensor &from, const at::Tensor &to, int64_t elements, int64_t kind) {
    getCurrentMPSStream()->copy(getMTLBufferStorage(from), getMTLBufferStorage(to), elements * from.element_size(),
                                from.storage_offset() * from.element_size(), to.storage_offset() * to.element_size(), 0,
                                static_cast<SyncType>(kind));
}

/* Work on a stream of the pool, and how many handlers ran when it is done. */
int64_t in_pool(const at::Tensor &x) {
    __block int64_t handled = 0;
    MPSStream *stream = getStreamFromPool();
    TORCH_CHECK(stream != getDefaultMPSStream() && getStreamByID(stream->unwrap().id()) == stream);
    setCurrentMPSStream(stream);
    add_one(x, false);
    setCurrentMPSStream(nullptr);
    stream->addCompletedHandler(^(id<MTLCommandBuffer>) { handled++; });
    stream->synchronize(SyncType::COMMIT_AND_WAIT);
    return handled;
}

/* What a Mac would end the process for. */
void misuse(const at::Tensor &x, const std::string &what) {
    MPSStream *stream = getCurrentMPSStream();
    @autoreleasepool {
        if (what == "two encoders") {
            stream->commandEncoder();
            [stream->commandBuffer() computeCommandEncoder];
        } else if (what == "left open") {
            [torch::mps::get_command_buffer() computeCommandEncoder];
        } else if (what == "used after the end") {
            id<MTLComputeCommandEncoder> encoder = stream->commandEncoder();
            stream->endKernelCoalescing();
            mtl_setBuffer(encoder, x, 0);
        } else if (what == "offset") {
            [stream->commandEncoder() setBuffer:getMTLBufferStorage(x) offset:x.nbytes() + 4 atIndex:0];
        } else if (what == "no kernel") {
            library.getPipelineStateForFunc("missing");
        } else if (what == "operator in a block") {
            scale(x, 2);
            dispatch_sync_with_rethrow(stream->queue(), ^() { x.sum(); });
        } else if (what == "fault") {
            auto state = library.getPipelineStateForFunc("wild");
            [stream->commandEncoder() setComputePipelineState:state];
            mtl_setBuffer(stream->commandEncoder(), x, 0);
            mtl_dispatch1DJob(stream->commandEncoder(), state, 1);
        } else if (what == "source") {
            MetalShaderLibrary("kernel void broken(").getFunctionNames();
        } else if (what == "group") {
            place({4, 4}, std::vector<uint64_t>{64, 64});
        }
    }
}

std::string caught(const at::Tensor &x) {
    @try {
        misuse(x, "offset");
    } @catch (NSException *exception) {
        return [[exception reason] UTF8String];
    }
    return "";
}

/* Of the object behind a tensor: its bytes, whether its contents are those of the tensor, references. */
std::tuple<int64_t, float, int64_t> about(const at::Tensor &x) {
    id<MTLBuffer> buffer = getMTLBufferStorage(x);
    torch::mps::synchronize();
    @autoreleasepool {
        [[buffer retain] autorelease];
        const float *values = static_cast<const float *>([buffer contents]);
        TORCH_CHECK([buffer device] == MPSDevice::getInstance()->device());
        return {[buffer length], values[x.storage_offset()], [(NSObject *)buffer retainCount]};
    }
}

static std::vector<id<MTLBuffer>> kept;
void keep(const at::Tensor &x) {
    kept.push_back([getMTLBufferStorage(x) retain]);
}
float release() {
    id<MTLBuffer> buffer = kept.back();
    kept.pop_back();
    float first = static_cast<const float *>([buffer contents])[0];
    [buffer release];
    return first;
}

TORCH_LIBRARY(ingot_extension_test, m) {
    m.def("scale(Tensor x, float by) -> Tensor");
    m.def("misuse(Tensor x, str what) -> ()");
}
TORCH_LIBRARY_IMPL(ingot_extension_test, MPS, m) {
    m.impl("scale", scale);
    m.impl("misuse", [](const at::Tensor &x, c10::string_view what) { misuse(x, std::string(what)); });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("scale", scale);
    m.def("add_one", add_one);
    m.def("place", place, py::arg("size"), py::arg("group") = py::none());
    m.def("fill", fill);
    m.def("copy", copy);
    m.def("in_pool", in_pool);
    m.def("misuse", misuse);
    m.def("caught", caught);
    m.def("about", about);
    m.def("keep", keep);
    m.def("release", release);
    m.def("names", [] { return library.getFunctionNames(); });
    m.def("synchronize", [](int64_t kind) { getCurrentMPSStream()->synchronize(static_cast<SyncType>(kind)); });
}
