# syntax=docker/dockerfile:1
# docker build --tag postern .     or: podman build --tag postern .

# Any Node from 20 on: npm ci installs the locked one, which builds the executable and is in it.
FROM node:24-bookworm-slim AS build
WORKDIR /build
# The dependencies change less often than the source: their layer is kept.
COPY package.json package-lock.json .npmrc ./
COPY tools/runtime/package.json tools/runtime/
COPY console/package.json console/
RUN npm ci
COPY tsconfig.json LICENSE ./
COPY bin bin
COPY src src
COPY tools tools
COPY console console
RUN npm run build:binary -- /build/out && mv /build/out/postern-linux-* /build/out/postern
# An empty directory of the user that runs the server: a new volume takes its owner from it.
RUN mkdir -p /build/out/data && chmod 700 /build/out/data

FROM debian:12-slim
# Libraries of Node, and the certificates of public CAs. Debian keeps only the newest build of a package, so no version is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libatomic1 libstdc++6 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build --chown=10001:10001 /build/out/data /data
COPY --from=build /build/out/postern /usr/local/bin/postern
COPY --from=build /build/LICENSE /usr/share/doc/postern/LICENSE
USER 10001:10001
WORKDIR /data
# 7080 the API, 7443 HTTPS, 7081 plain HTTP, 7444 agents.
ENV POSTERN_DATA_DIR=/data \
    POSTERN_EDGE_LISTEN=0.0.0.0:7443 \
    POSTERN_EDGE_HTTP_LISTEN=0.0.0.0:7081 \
    POSTERN_TUNNEL_LISTEN=0.0.0.0:7444
EXPOSE 7443 7081 7444
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/local/bin/postern", "health"]
ENTRYPOINT ["/usr/local/bin/postern"]
CMD ["server"]
