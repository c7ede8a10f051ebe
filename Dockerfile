# ingot in Debian 12: `docker build --tag ingot .`, then
#   docker run --rm -v "$PWD:/work" ingot ingot run wave.metal wave --threads 64 'f32[64]=out.npy' f32:0.5
# With a GPU: docker run --gpus all. The image has the command, the compiler, libingot and the headers; no sources.
FROM debian:12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git make \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
RUN make install PREFIX=/opt/ingot

FROM debian:12-slim
# Compiling a kernel needs clang and lld; running an archive needs neither.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends clang-19 lld-19 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 ingot
COPY --from=build /opt/ingot /usr/local
RUN ldconfig && ingot --version && ingotc --version
USER 1000
WORKDIR /work
CMD ["ingot", "devices"]
