import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { EdgeWorld } from '../support/edge-world.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = promisify(execFile);
const PACKAGE = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible';
/**
 * What nghttp2, which the runtime uses, does otherwise: it ignores frames of streams that it has closed, priorities,
 * which RFC 9113 §5.3 has deprecated, and a PING with ACK ends the connection. Bare Node fails the same ones.
 */
const OF_THE_RUNTIME = [
  'half closed (remote): Sends a DATA frame',
  'half closed (remote): Sends a HEADERS frame',
  'closed: Sends a DATA frame after sending RST_STREAM frame',
  'closed: Sends a HEADERS frame after sending RST_STREAM frame',
  'closed: Sends a DATA frame',
  'closed: Sends a HEADERS frame',
  'Sends stream identifier that is numerically smaller than previous',
  'Sends PRIORITY frame that depend on itself',
  'Sends a DATA frame on the stream that is not in "open" or "half-closed (local)" state',
  'Sends a PRIORITY frame with 0x0 stream identifier',
  'Sends a PING frame with ACK',
  'Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream',
];

interface Outcome {
  readonly stdout: string;
}

/** From the path, or built from its source, which needs Go. */
async function judge(folder: string): Promise<string> {
  try {
    await run('h2spec', ['--version']);
    return 'h2spec';
  } catch {
    await run('go', ['install', PACKAGE], { env: { ...process.env, GOBIN: folder } });
    return join(folder, 'h2spec');
  }
}

for (const workers of ['1', '2']) {
  test(`h2spec finds nothing that is not the runtime's own, with workers: ${workers}`, async (t) => {
    const program = await judge(await tempDir(t));
    const world = await EdgeWorld.open(t, { POSTERN_WORKERS: workers });
    const { host } = await world.site(await world.httpResponse('a page'), 'localhost');
    const args = ['-t', '-k', '-h', host, '-p', String(world.port), '--strict', '-o', '5'];
    // The program exits with 1 after any failure.
    const { stdout } = await run(program, args).catch((error: unknown) => error as Outcome);
    const [, passed = '0', failed = ''] = /^146 tests, (\d+) passed, 0 skipped, (\d+) failed$/m.exec(stdout) ?? [];
    const failures = new Set(Array.from(stdout.matchAll(/× \d+: (.+)$/gm), ([, name = '']) => name));
    t.diagnostic(`${passed} passed, ${failed} failed`);
    assert.ok(Number(passed) > 100, stdout);
    assert.deepEqual([...failures.difference(new Set(OF_THE_RUNTIME))], [], stdout);
  });
}
