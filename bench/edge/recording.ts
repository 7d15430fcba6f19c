import { getHeapStatistics } from 'node:v8';
import { createDenseIds } from '../../src/kit/text/ksuid.ts';
import type { Exchange } from '../../src/proxy/edge/exchange/exchange.ts';
import { recordedRequest } from '../../src/proxy/edge/reports/request-reports.ts';
import { RequestHistory } from '../../src/proxy/telemetry/requests/request-history.ts';
import type { SpanQueue } from '../../src/proxy/tracing/span-queue.ts';
import { Tracing } from '../../src/proxy/tracing/tracing.ts';
import { isQuick, say } from '../support/flags.ts';
import { quantile } from '../support/process-cost.ts';

const ROUNDS = isQuick ? 5 : 60;
const REQUESTS = isQuick ? 2_000 : 20_000;
const CALM = 0.1;
const HISTORY = 10_000;
const SETTINGS = { headers: ['user-agent'], keepsQuery: false };
const ROUTE = { id: 'edghtsrt_2sXkTQnJ0aYqZr8WfP3hLd5mVcE', edgeId: 'edghts_2sXkTQnJ0aYqZr8WfP3hLd5mVcE' };
/** Texts are new for each request, as those of a parser are. */
const SENT = Buffer.from(
  '/cart?page=2Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0shop.example.com',
);
const newId = createDenseIds('rq');

/**
 * Nanoseconds and allocated bytes per request of the parts alone, without a server: for comparisons of two versions.
 */
export async function recording(): Promise<void> {
  const history = new RequestHistory({ maxRequests: HISTORY });
  const tracing = new Tracing({} as SpanQueue, { sampleRatio: 0.01, samplingKey: 'bench' });
  const parts: Readonly<Record<string, (exchange: Exchange) => void>> = {
    'nothing (what is measured around it)': () => {},
    'the request history': (exchange) => history.record(recordedRequest(exchange, 1.25, SETTINGS)),
    'a trace, one in a hundred recorded': (exchange) => {
      const headers = ['accept', '*/*', 'user-agent', 'curl', 'x-forwarded-proto', 'https'];
      tracing.begin(exchange.client.head.headers).writeTo(headers);
      Buffer.byteLength(headers.at(-1) ?? '');
    },
  };
  const costs = new Map(
    Object.keys(parts).map((name) => [name, { nanoseconds: [] as number[], bytes: [] as number[] }]),
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, part] of Object.entries(parts)) {
      const [cpu, heap] = [process.cpuUsage(), allocated()];
      for (let request = 0; request < REQUESTS; request += 1) part(exchange());
      const { user, system } = process.cpuUsage(cpu);
      costs.get(name)?.nanoseconds.push(((user + system) * 1000) / REQUESTS);
      costs.get(name)?.bytes.push((allocated() - heap) / REQUESTS);
    }
  }
  const [around] = costs.values();
  for (const [name, { nanoseconds, bytes }] of costs) {
    const own = (values: readonly number[], others: readonly number[] = []): number =>
      quantile(values, CALM) - (values === others ? 0 : quantile(others, CALM));
    say(
      `${name}: ${own(nanoseconds, around?.nanoseconds).toFixed(0)} ns of CPU and ${own(bytes, around?.bytes).toFixed(0)} allocated bytes per request`,
    );
  }
}

function allocated(): number {
  return (getHeapStatistics() as unknown as { readonly total_allocated_bytes: number }).total_allocated_bytes;
}

function exchange(): Exchange {
  const nowMs = Date.now();
  const startedAt = performance.now();
  const target = SENT.toString('latin1', 0, 12);
  const head = {
    method: 'GET',
    host: SENT.toString('latin1', 82),
    path: { target, path: target.slice(0, 5) },
    headers: ['accept', '*/*', 'user-agent', SENT.toString('latin1', 12, 82)],
  };
  const id = newId(nowMs);
  // A server writes it to the upstream.
  Buffer.byteLength(id);
  return {
    ...{ id, nowMs, startedAt, admittedAt: startedAt + 0.1, answeredAt: startedAt + 0.7, status: 200, route: ROUTE },
    ...{ client: { head }, permit: null, errorCode: null, clientAddress: '192.0.2.7', bytesIn: 0, bytesOut: 1024 },
    ...{ passes: [], waits: [], refusedBy: null, refusingRuleText: null, targetName: '127.0.0.1:8080' },
    tunnelNode: null,
  } as unknown as Exchange;
}
