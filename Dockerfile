# ingot in Debian 12: `docker build --tag ingot .`, then
#   docker run --rm -v "$PWD:/work" ingot ingot run wave.metal wave --threads 64 'f32[64]=out.npy' f32:0.5
# With a GPU: docker run --gpus all. The image has the command, the compiler, libingot and the headers; no sources, and
# nothing that Debian's smallest image does not have.
FROM debian:12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
RUN tools/setup.sh && tools/package archives build && mkdir /made && tar -xzf build/dist/ingot-*.tar.gz -C /made --strip-components 1

FROM debian:12-slim
COPY --from=build /made /usr/local
RUN ldconfig && useradd --create-home --uid 1000 ingot && ingot --version && ingotc --version
USER 1000
WORKDIR /work
CMD ["ingot", "devices"]
