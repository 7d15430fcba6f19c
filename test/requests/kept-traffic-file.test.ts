import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SliceQueue } from '../../src/kit/async/slices.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { KeptTraffic } from '../../src/proxy/telemetry/kept-traffic.ts';
import { tempDir } from '../support/temp-dir.ts';

const WRITER = fileURLToPath(new URL('kept-traffic-writer.ts', import.meta.url));
const KILLS = 5;

interface KeptRequest extends JsonObject {
  readonly id: string;
}

/** A server as far as its traffic is kept: what it served, and what it knows of the process before it. */
class Server {
  readonly served: KeptRequest[] = [];
  earlier: readonly string[] = [];
  readonly kept: KeptTraffic;

  constructor(path: string) {
    this.kept = new KeptTraffic({
      path,
      requests: {
        // As a server lists them: with those that it took over, newest first.
        ownList: () => Promise.resolve([...this.served.toReversed(), ...this.earlier.map(requestOf)]),
        keepEarlier: (requests) => {
          this.earlier = (requests as readonly KeptRequest[]).map(({ id }) => id);
        },
      },
      series: { ownState: () => Promise.resolve([]), keepEarlier: () => {} },
      clock: { nowMs: () => Date.now() },
      queue: new SliceQueue(),
      shown: (request) => request,
      onProblem: (error) => assert.fail(String(error)),
    });
  }

  serve(id: string): void {
    this.served.push(requestOf(id));
  }
}

function requestOf(id: string): KeptRequest {
  return { id, at: new Date().toISOString() };
}

async function idsIn(path: string): Promise<readonly string[]> {
  const [, ...rows] = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return rows.map((row) => (JSON.parse(row) as { id: string }).id).sort();
}

async function fileIn(t: TestContext): Promise<string> {
  return join(await tempDir(t), 'recent-traffic.ndjson');
}

test('a server that is killed loses the last minute at most', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const path = await fileIn(t);
  const server = new Server(path);
  await server.kept.start();
  const minute = async (ids: number): Promise<void> => {
    t.mock.timers.tick(60_000);
    while ((await idsIn(path).catch(() => [])).length < ids) await sleep(5);
  };
  server.serve('rq_1');
  await minute(1);
  server.serve('rq_2');
  await minute(2);
  server.serve('rq_3');
  t.mock.timers.tick(59_999);
  await sleep(20);
  // Killed now: only what came after the last write is gone.
  const next = new Server(path);
  await next.kept.start();
  assert.deepEqual([...next.earlier].sort(), ['rq_1', 'rq_2']);
});

test('kill -9 at any moment leaves a file that is whole', async (t) => {
  const path = await fileIn(t);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const writer = spawn(process.execPath, [WRITER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => writer.kill('SIGKILL'));
    let written = 0;
    for await (const line of createInterface({ input: writer.stdout })) {
      written = Number(line);
      // In the middle of one of the next writes.
      if (written > kill + 1) break;
    }
    const ended = once(writer, 'exit');
    writer.kill('SIGKILL');
    await ended;
    const [head = '', ...rows] = (await readFile(path, 'utf8')).trimEnd().split('\n');
    assert.equal((JSON.parse(head) as { version: number }).version, 1);
    const rounds = rows.map((row) => Number((JSON.parse(row) as { id: string }).id.split('_')[1]));
    const [round = 0, ...others] = [...new Set(rounds)];
    assert.deepEqual([rows.length, others], [500, []], 'all of one write, and nothing of another');
    assert.ok(round >= written, `${written} was written, and ${round} is there`);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  }
});

test('in a handover, the new process takes over the last requests of the old one, which then writes no more', async (t) => {
  const path = await fileIn(t);
  const old = new Server(path);
  await old.kept.start();
  old.serve('rq_1');
  await old.kept.save();
  const successor = new Server(path);
  await successor.kept.start();
  t.after(() => successor.kept.stop());
  assert.deepEqual(successor.earlier, ['rq_1']);
  // Both serve for a moment, and the old one begins to drain.
  old.serve('rq_2');
  successor.serve('rq_3');
  await old.kept.stop();
  await successor.kept.save();
  assert.deepEqual(await idsIn(path), ['rq_1', 'rq_2', 'rq_3']);
  old.serve('rq_4');
  await old.kept.save();
  assert.deepEqual(await idsIn(path), ['rq_1', 'rq_2', 'rq_3']);
});

test('a process that was replaced without knowing it leaves the file of its successor alone', async (t) => {
  const path = await fileIn(t);
  const old = new Server(path);
  await old.kept.start();
  old.serve('rq_1');
  await old.kept.save();
  const successor = new Server(path);
  await successor.kept.start();
  t.after(() => successor.kept.stop());
  successor.serve('rq_2');
  await successor.kept.save();
  const text = await readFile(path, 'utf8');
  old.serve('rq_3');
  await old.kept.save();
  await old.kept.stop();
  assert.equal(await readFile(path, 'utf8'), text);
  // The successor goes on as before.
  successor.serve('rq_4');
  await successor.kept.save();
  assert.deepEqual(await idsIn(path), ['rq_1', 'rq_2', 'rq_4']);
});
