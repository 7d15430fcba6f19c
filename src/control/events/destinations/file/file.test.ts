import assert from 'node:assert/strict';
import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Compile } from 'typebox/compile';
import type { DestinationSender } from '../destination-kind.ts';
import { file } from './file.ts';

const signal = new AbortController().signal;

async function sender(t: TestContext, limits = { maxBytes: 1_000_000, maxFiles: 3 }) {
  const folder = await mkdtemp(join(tmpdir(), 'postern-events-'));
  const made = file.createSender({
    clock: { nowMs: () => 0 },
    folder: join(folder, 'events'),
    fileLimits: limits,
    timeoutMs: 1_000,
    isAddressAllowed: () => false,
  });
  t.after(async () => {
    await made.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { sender: made, folder: join(folder, 'events') };
}

const send = (to: DestinationSender, body: string, name = 'audit.ndjson') =>
  to.send({ name }, { id: 'ev_1', type: 'x', body }, signal);

test('appends events as lines to a private file, also from several lanes at once', async (t) => {
  const { sender: to, folder } = await sender(t);
  const bodies = Array.from({ length: 50 }, (_, at) => JSON.stringify({ at }));
  const outcomes = await Promise.all(bodies.map((body) => send(to, body)));
  assert.deepEqual(new Set(outcomes.map(({ verdict }) => verdict)), new Set(['delivered']));
  const text = await readFile(join(folder, 'audit.ndjson'), 'utf8');
  assert.equal(text, bodies.map((body) => `${body}\n`).join(''));
  assert.equal((await lstat(join(folder, 'audit.ndjson'))).mode & 0o777, 0o600);
});

test('rotates full files, deletes the oldest, and loses or truncates no line', async (t) => {
  const { sender: to, folder } = await sender(t, { maxBytes: 100, maxFiles: 2 });
  for (let at = 0; at < 40; at += 1) await send(to, JSON.stringify({ at }));
  const names = (await readdir(folder)).sort();
  assert.deepEqual(names, ['audit.ndjson', 'audit.ndjson~1', 'audit.ndjson~2']);
  const texts = await Promise.all(names.toReversed().map((name) => readFile(join(folder, name), 'utf8')));
  const [oldest, newer, current] = texts as [string, string, string];
  const lines = `${oldest}${newer}${current}`.trimEnd().split('\n');
  const first = 40 - lines.length;
  assert.ok(first > 0);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { at: number }).at),
    lines.map((_, at) => first + at),
  );
  for (const text of texts) assert.ok(text.length <= 100);
});

test('removes a line truncated by a crash before the next one', async (t) => {
  const { sender: to, folder } = await sender(t);
  await send(to, '{"at":1}');
  await to.close();
  const long = 'x'.repeat(200_000);
  await writeFile(join(folder, 'audit.ndjson'), `{"at":1}\n{"at":2,"${long}`);
  await send(to, '{"at":2}');
  assert.equal(await readFile(join(folder, 'audit.ndjson'), 'utf8'), '{"at":1}\n{"at":2}\n');
});

test('does not follow a link in the folder, and waits when it cannot write', async (t) => {
  const { sender: to, folder } = await sender(t);
  await send(to, '{}', 'other.ndjson');
  const outside = join(folder, '..', 'outside');
  await writeFile(outside, 'mine\n');
  await symlink(outside, join(folder, 'audit.ndjson'));
  const outcome = await send(to, '{}');
  assert.deepEqual([outcome.verdict, outcome.error], ['wait', 'the file could not be written: ELOOP']);
  assert.equal(await readFile(outside, 'utf8'), 'mine\n');
});

test('rejects names that leave the folder or collide with rotated files', () => {
  const config = Compile(file.config);
  for (const name of ['audit.ndjson', 'a', 'A-1_b.c-d.log']) assert.ok(config.Check({ name }), name);
  for (const name of [
    '',
    '.',
    '..',
    '../x',
    'a/b',
    '/etc/passwd',
    'a\\b',
    '.hidden',
    'a..b',
    'a~1',
    'a\0',
    'a\n',
    'a ',
  ])
    assert.ok(!config.Check({ name }), JSON.stringify(name));
});
