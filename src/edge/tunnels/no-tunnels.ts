import type { TunnelOptions } from './tunnel-traffic.ts';

/** For a process without a gateway: no agent can reach it. */
export const NO_TUNNELS: TunnelOptions = {
  online: { generation: 0, matching: () => [], get: () => undefined },
  endpoints: {
    modules: [],
    moduleSettings: new Map(),
    tcpPorts: { host: '127.0.0.1', first: 1, last: 0 },
    domain: 'localhost',
  },
};
