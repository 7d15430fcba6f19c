import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../../kit/net/listen-address.ts';
import type { ObserveExchange } from '../handle.ts';
import { ExchangeStore } from './exchange-store.ts';
import { InspectorApi } from './inspector-api.ts';
import { createInspectorServer, listenNear, serveInspector } from './inspector-server.ts';
import { DEFAULT_LISTEN, DEFAULT_STORE_LIMITS, type InspectorOptions } from './options.ts';
import { Replays } from './replays.ts';
import { RequestGuard } from './request-guard.ts';

export type { InspectorOptions } from './options.ts';

export interface Inspector {
  /** Passed to the agent's option of the same name. */
  readonly observe: ObserveExchange;
  readonly url: string;
  readonly address: ListenAddress;
  /** The requested port was in use, and another one was chosen. */
  readonly isOtherPort: boolean;
  /** Disconnects its readers, cancels running replays and frees the port. */
  close(): Promise<void>;
}

/** Starts the inspector of an agent. Throws `AgentError` when it cannot listen. */
export async function startInspector(options: InspectorOptions): Promise<Inspector> {
  const { maxRequests, maxBodyBytes, maxTotalBytes } = DEFAULT_STORE_LIMITS;
  const store = new ExchangeStore({
    maxRequests: options.maxRequests ?? maxRequests,
    maxBodyBytes: options.maxBodyBytes ?? maxBodyBytes,
    maxTotalBytes: options.maxTotalBytes ?? maxTotalBytes,
  });
  const replays = new Replays(store, options);
  const api = new InspectorApi({ store, replays, options, startedAt: new Date().toISOString() });
  const wanted = {
    host: options.listen?.host ?? DEFAULT_LISTEN.host,
    port: options.listen?.port ?? DEFAULT_LISTEN.port,
  };
  const server = createInspectorServer();
  const address = await listenNear(server, wanted);
  serveInspector(server, new RequestGuard(address.port, options.allowedHosts ?? []), api);
  const shown = isWildcardHost(address.host) ? { host: 'localhost', port: address.port } : address;
  return {
    observe: (request) => store.begin(request, null),
    url: `http://${formatListenAddress(shown)}`,
    address,
    isOtherPort: wanted.port !== 0 && address.port !== wanted.port,
    close: () =>
      new Promise((resolve) => {
        replays.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
