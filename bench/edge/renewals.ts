import { join } from 'node:path';
import { connect } from 'node:tls';
import { issue } from '../../test/edge/tls/test-authority.ts';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { median } from '../support/process-cost.ts';
import { startPosternServer } from '../support/start-program.ts';
import { QUIET } from './postern.ts';

const HOST = 'renewed.localhost';
const HANDSHAKES = isQuick ? 200 : 1000;
const ROUNDS = isQuick ? 2 : 6;
const CHANGE_EVERY_MS = 100;
const CONCURRENT = 4;

/** Handshakes with a host whose certificate is replaced all the time: does one fail, and how much slower are they? */
export async function renewals(directory: string): Promise<void> {
  const server = await startPosternServer(join(directory, 'server'), QUIET);
  try {
    await call(server.port, 'POST', '/edges/https', { hostports: [`${HOST}:443`] });
    const pairs = await Promise.all(
      Array.from({ length: 8 }, () => issue({ commonName: HOST, dnsNames: [HOST], usages: ['server'] })),
    );
    const bodies = pairs.map(({ certificatePem, keyPem }) => ({
      certificate_pem: certificatePem,
      private_key_pem: keyPem,
    }));
    const { id } = await call(server.port, 'POST', '/tls_certificates', bodies[0]);
    const path = `/tls_certificates/${String(id)}`;
    const times: { quiet: number[]; changing: number[] } = { quiet: [], changing: [] };
    let failed = 0;
    let changes = 0;
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const phase of ['quiet', 'changing'] as const) {
        const timer = setInterval(() => {
          if (phase === 'quiet') return;
          changes += 1;
          void call(server.port, 'PATCH', path, bodies[changes % bodies.length]);
        }, CHANGE_EVERY_MS);
        const results = await shakeHands(server.edgePort as number);
        clearInterval(timer);
        failed += results.filter((ms) => ms === null).length;
        if (round > 0) times[phase].push(median(results.filter((ms) => ms !== null)));
      }
    }
    const [quiet, changing] = [median(times.quiet), median(times.changing)];
    say(
      `${2 * (ROUNDS + 1) * HANDSHAKES} handshakes, ${changes} changes of the certificate: ${failed} failed (goal 0)`,
    );
    say(`median: ${quiet.toFixed(2)} ms quiet, ${changing.toFixed(2)} ms changing: ${(changing / quiet).toFixed(2)} ×`);
  } finally {
    await server.stop();
  }
}

/** Milliseconds of each full handshake; null for a failed one. */
async function shakeHands(port: number): Promise<(number | null)[]> {
  const results: (number | null)[] = [];
  let started = 0;
  const work = async (): Promise<void> => {
    while (started < HANDSHAKES) {
      started += 1;
      results.push(await shakeHand(port));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return results;
}

function shakeHand(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const from = performance.now();
    const client = connect({ host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false });
    client.once('error', () => resolve(null));
    client.once('secureConnect', () => {
      resolve(performance.now() - from);
      client.destroy();
    });
  });
}
