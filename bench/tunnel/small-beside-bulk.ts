import type { ClientHttp2Session } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { makeCertificates } from '../edge/certificates.ts';
import { isQuick, say } from '../support/flags.ts';
import { percentile } from '../support/load.ts';
import { startProgram } from '../support/start-program.ts';
import { openSession, throughSession } from './transfer.ts';
import { startAgents, startTunnelServer } from './tunnel-server.ts';

const SERVICE = fileURLToPath(new URL('./bytes-service.ts', import.meta.url));
const HOST = 'tunnel.localhost';
const SMALL = isQuick ? 100 : 500;
const SMALL_BYTES = 1000;
const BULK_BYTES = 200_000_000;

/** Latency of sequential small requests while an endless upload goes through the same tunnel; and without it. */
export async function bulk(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { certificateFile, keyFile } = await makeCertificates(directory);
  const service = await startProgram([SERVICE], { BENCH_CERTIFICATE: certificateFile, BENCH_KEY: keyFile });
  stack.defer(() => service.stop());
  const server = await startTunnelServer(directory);
  stack.defer(() => server.program.stop());
  const agent = await startAgents(server, [[{ proto: 'https', domain: HOST, addr: `127.0.0.1:${service.port}` }]]);
  stack.defer(() => agent.stop());
  const place = { port: server.edgePort, host: HOST, ca: server.ca };
  const [small, large] = [await openSession(place), await openSession(place)];
  await latencies(small, SMALL);
  const quiet = await latencies(small, SMALL);
  const state = { isOver: false, bytes: 0 };
  const startedAt = performance.now();
  const uploading = (async () => {
    while (!state.isOver) {
      await throughSession(large, 'upload', BULK_BYTES / 10);
      state.bytes += BULK_BYTES / 10;
    }
  })();
  const busy = await latencies(small, SMALL);
  state.isOver = true;
  await uploading;
  const rate = state.bytes / 1000 / (performance.now() - startedAt);
  say(`${SMALL} requests of 1 KB, one after another, next to an upload of ${rate.toFixed(0)} MB/s`);
  for (const [name, sorted] of [
    ['quiet', quiet],
    ['during an upload', busy],
  ] as const) {
    const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
    say(`${name.padEnd(18)}p50 ${p50.toFixed(2).padStart(8)} ms     p99 ${p99.toFixed(2).padStart(8)} ms`);
  }
  for (const session of [small, large]) session.destroy();
}

async function latencies(session: ClientHttp2Session, count: number): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now();
    await throughSession(session, 'download', SMALL_BYTES);
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b);
}
