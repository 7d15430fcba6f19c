import { fileURLToPath } from 'node:url';
import { HOST, makeCertificates } from '../edge/certificates.ts';
import { flag, isQuick, say } from '../support/flags.ts';
import { median } from '../support/process-cost.ts';
import { type Program, startProgram } from '../support/start-program.ts';
import { type Direction, openSession, type Place, throughTls, throughTunnel } from './transfer.ts';
import { startAgents, startTunnelServer } from './tunnel-server.ts';

const PROXY = fileURLToPath(new URL('./delay-proxy.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('./bytes-service.ts', import.meta.url));
const DELAYS_MS = [0, 50, 150];
const BYTES = (isQuick ? 40 : 240) * 1_000_000;
const ROUNDS = isQuick ? 1 : Number(flag('rounds') ?? 3);
const DIRECTIONS: readonly Direction[] = ['download', 'upload'];
const TUNNEL_HOST = 'tunnel.localhost';

/** Of the line, in bytes a millisecond: 40 MB/s, and none. */
const WIDTHS = [40_000, Number.POSITIVE_INFINITY];

/**
 * MB/s of one stream, with a delaying proxy between agent and server, beside a bare TLS connection through the same proxy. The delay
 * is that of a round trip, half of it each way. On a line of a given width the figure is what protocol and windows make of the line;
 * without one it is also what the machine can do: a stream through the tunnel is encrypted twice and passes four programs.
 */
export async function delay(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const keep = async (program: Promise<Program>): Promise<Program> => {
    const started = await program;
    stack.defer(() => started.stop());
    return started;
  };
  const certificates = await makeCertificates(directory);
  const service = await keep(
    startProgram([SERVICE], { BENCH_CERTIFICATE: certificates.certificateFile, BENCH_KEY: certificates.keyFile }),
  );
  const server = await startTunnelServer(directory);
  stack.defer(() => server.program.stop());
  const proxy = (port: number | undefined, delayMs: number, width: number): Promise<Program> => {
    const env = { BENCH_ONE_WAY_MS: String(delayMs / 2), BENCH_BYTES_PER_MS: String(width) };
    return keep(startProgram([PROXY], { BENCH_TARGET: String(port), ...env }));
  };
  say(
    `one stream, ${BYTES / 1e6} MB, MB/s, medians of ${ROUNDS} rounds (goal: at least 80 % of a plain TLS connection)`,
  );
  say('line         delay        direction      tunnel    plain TLS     share');
  for (const [width, delayMs] of WIDTHS.flatMap((each) => DELAYS_MS.map((delayMs) => [each, delayMs] as const))) {
    const line = await proxy(server.tunnelPort, delayMs, width);
    const plainLine = await proxy(service.edgePort, delayMs, width);
    const lineName = width === Number.POSITIVE_INFINITY ? 'unlimited' : `${width / 1000} MB/s`;
    const host = `at-${delayMs}-${width}.${TUNNEL_HOST}`.toLowerCase();
    await keep(startAgents(server, [[{ proto: 'https', domain: host, addr: `127.0.0.1:${service.port}` }]], line.port));
    const session = await openSession({ port: server.edgePort, host, ca: server.ca });
    const plain: Place = { port: plainLine.port, host: HOST, ca: [certificates.clientAuthorityPem] };
    for (const direction of DIRECTIONS) {
      const tunnelled: number[] = [];
      const bare: number[] = [];
      await throughTunnel(session, direction, BYTES / 4);
      for (let round = 0; round < ROUNDS; round += 1) {
        tunnelled.push(await throughTunnel(session, direction, BYTES));
        bare.push(await throughTls(plain, direction, BYTES));
      }
      const [ours, theirs] = [median(tunnelled), median(bare)];
      say(
        `${lineName.padEnd(13)}${`${delayMs} ms`.padEnd(13)}${direction.padEnd(12)}${ours.toFixed(0).padStart(9)}${theirs.toFixed(0).padStart(13)}${`${((ours / theirs) * 100).toFixed(0)} %`.padStart(10)}`,
      );
    }
    session.destroy();
  }
}
