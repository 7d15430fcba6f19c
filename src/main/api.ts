import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { createKsuidSource } from '../lib/ksuid.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';
import type { BootstrapPort } from './bootstrap.ts';
import type { Health } from './health.ts';

export interface ApiDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: Health;
  readonly baseUrl: string;
}

export interface OpenedApi {
  readonly handle: RequestListener;
  readonly bootstrapPort: BootstrapPort;
  /** Called after the last request has been answered. */
  close(): Promise<void>;
}

/** WIRING PLACE: stands in until `createApi` exists; `/healthz` alone, and records of a provisional format. */
export async function openApi({ store, replica, clock, health }: ApiDependencies): Promise<OpenedApi> {
  const newId = createKsuidSource();
  return {
    handle: (request, response) => {
      if (request.url !== '/healthz') {
        request.resume().once('end', () => response.writeHead(404).end());
        return;
      }
      response.writeHead(health.isReady ? 200 : 503, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ status: health.state }));
    },
    bootstrapPort: {
      count: (kind) => Promise.resolve(replica.count(kind)),
      create: async ({ kind, token, description }) => {
        const doc = { description, token_hash: createHash('sha256').update(token).digest('base64') };
        const id = `${kind === 'api_key' ? 'ak' : 'cr'}_${newId(clock.nowMs())}`;
        const put = { kind, id, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
        const result = await store.commit({ puts: [put] });
        if (!result.ok) throw new Error(`the first ${kind} was refused: ${result.reason}`);
      },
    },
    close: () => Promise.resolve(),
  };
}
