import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isQuick, say } from '../support/flags.ts';
import { median } from '../support/process-cost.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { blocks } from '../tunnel/blocks.ts';
import { openSession } from '../tunnel/transfer.ts';
import { type BenchCertificates, makeCertificates } from './certificates.ts';
import { QUIET } from './postern.ts';
import { makeBackend, makeSite } from './sites.ts';

const PROXY = fileURLToPath(new URL('../tunnel/delay-proxy.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('../tunnel/bytes-service.ts', import.meta.url));
const HOST = 'uploads.localhost';
const BYTES = 20_000_000;
const DELAYS_MS = [0, 50, 150];
const COUNTS = [1, 10];
const ROUNDS = isQuick ? 1 : 3;
const GOAL = 1.5;

/**
 * Uploads of 20 MB through the edge with a delaying proxy between client and edge: seconds over HTTP/2, on one
 * connection, beside HTTP/1.1, with a connection for each. Connecting counts.
 */
export async function uploads(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const started = async (program: Promise<Program>): Promise<Program> => {
    const running = await program;
    stack.defer(() => running.stop());
    return running;
  };
  const certificates: BenchCertificates = await makeCertificates(directory);
  const env = { BENCH_CERTIFICATE: certificates.certificateFile, BENCH_KEY: certificates.keyFile };
  const service = await started(startProgram([SERVICE], env));
  const server = await started(startPosternServer(join(directory, 'server'), QUIET));
  await makeSite(server.port, HOST, await makeBackend(server.port, service.port));
  say(`20 MB each, seconds, medians of ${ROUNDS} rounds (goal: at most ${GOAL} × of HTTP/1.1)`);
  say('delay   uploads   HTTP/1.1   HTTP/2   ratio');
  for (const delayMs of DELAYS_MS) {
    const target = { BENCH_TARGET: String(server.edgePort), BENCH_ONE_WAY_MS: String(delayMs / 2) };
    const { port } = await started(startProgram([PROXY], target));
    for (const count of COUNTS) {
      const taken: Record<'h1' | 'h2', number[]> = { h1: [], h2: [] };
      // The first round warms up.
      for (let round = 0; round <= ROUNDS; round += 1) {
        const h1 = await secondsOf(() => Promise.all(Array.from({ length: count }, () => overHttp1(port))));
        const h2 = await secondsOf(() => overHttp2(port, count));
        if (round === 0) continue;
        taken.h1.push(h1);
        taken.h2.push(h2);
      }
      const [h1, h2] = [median(taken.h1), median(taken.h2)];
      const figures = [h1.toFixed(2).padStart(8), h2.toFixed(2).padStart(8), `${(h2 / h1).toFixed(2)} ×`.padStart(7)];
      say(`${`${delayMs} ms`.padEnd(8)}${String(count).padEnd(10)}${figures.join(' ')}`);
    }
  }
}

async function secondsOf(task: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await task();
  return (performance.now() - startedAt) / 1000;
}

function overHttp1(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false, agent: false };
    const sent = request({ ...options, method: 'POST', path: '/', headers: { host: HOST } }, (response) => {
      text(response).then((answer) => resolve(checked(answer)), reject);
    });
    blocks(BYTES).pipe(sent.on('error', reject));
  });
}

async function overHttp2(port: number, count: number): Promise<void> {
  const session = await openSession({ port, host: HOST, ca: [], isTrusted: true });
  const one = async (): Promise<void> => {
    const stream = session.request({ ':method': 'POST', ':path': '/' });
    blocks(BYTES).pipe(stream);
    checked(await text(stream));
  };
  await Promise.all(Array.from({ length: count }, one));
  session.destroy();
}

function checked(answer: string): void {
  if (Number(answer) !== BYTES) throw new Error(`${answer} of ${BYTES} bytes arrived`);
}
