import type { ClientSide, ConnectionFacts } from '../../../src/proxy/edge/connections/connection-facts.ts';
import { Exchange } from '../../../src/proxy/edge/exchange/exchange.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';
import { exchangeRuntime } from './exchange-runtime.ts';

/** A request through the code of traffic, whose backend never responds. */
export class JudgedExchange {
  readonly exchange: Exchange;
  readonly edge: EdgeSnapshot;
  #sentAs: string | null = null;
  #status = 0;

  /** The first route matches every path that does not start with the letter of another: `/1`, `/2`. */
  constructor(routes: readonly { readonly snapshot: RouteSnapshot }[], path = '/') {
    const snapshots = routes.map(({ snapshot }) => snapshot);
    this.edge = {
      id: 'edghts_1',
      ownPathRoutes: snapshots.filter(({ modules }) => modules.some(({ prepared }) => prepared.ownPaths !== undefined)),
      routes: { match: ({ key }: { key: string }) => ({ found: snapshots[Number(key.slice(1))] ?? snapshots[0] }) },
      tls: {},
      tlsGeneration: 'g',
    } as unknown as EdgeSnapshot;
    const upstream = {
      send: () => {
        this.#sentAs = this.exchange.permit?.userId ?? 'nobody';
        return { abort() {} };
      },
    };
    const runtime = exchangeRuntime(() => this.edge, upstream);
    const writer = {
      isHeadSent: false,
      cut() {},
      wouldOpen: () => false,
      answer: (status: number) => {
        this.#status = status;
      },
    };
    const head = {
      method: 'GET',
      host: 'app.example',
      path: { path, target: path, key: path, odd: null },
      headers: [],
    };
    const client = { head, writer, source: null, trailers: () => [] } as unknown as ClientSide;
    const facts = { edgeId: 'edghts_1', tlsGeneration: 'g', remoteAddress: '192.0.2.1', clientCertificate: null };
    this.exchange = new Exchange(runtime, { ...facts, retire() {} } as unknown as ConnectionFacts, client);
    for (const route of routes) Object.assign(route.snapshot, { backend: {} });
  }

  get outcome(): string {
    const { refusedBy, isDone } = this.exchange;
    const sent = this.#sentAs === null ? [] : [`forwarded as ${this.#sentAs}`];
    const answered = this.#status === 0 ? [] : [`answered ${this.#status}`];
    const by = refusedBy === null ? [] : [refusedBy];
    const said = [...sent, ...answered, ...by];
    return said.length === 0 && !isDone ? 'waits' : said.join(', ');
  }
}
