// Own process: starts servers, which takes long.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type UpResult, UpWorld } from './up-world.ts';

const HOST = 'docs.localhost';

test('postern up serves a folder with one command, and another one with the next', { timeout: 120_000 }, async (t) => {
  const tasks: (() => unknown)[] = [];
  // In reverse: a server that has replaced another one holds its output open.
  t.after(async () => {
    for (const task of tasks.reverse()) await task();
  });
  const world = await UpWorld.open({ after: (task) => void tasks.push(task) });
  const [one, two] = ['one', 'two'].map((name) => {
    const folder = join(world.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'index.html'), `this is ${name}`);
    return folder;
  });
  const published = new Promise<UpResult>((resolve) => {
    world.onWaiting = resolve;
    void world.up([HOST, '--to', `${one}/`, '--yes', ...world.place]).then(resolve);
  });
  const { out, err } = await published;
  assert.equal(err, '');
  assert.match(out, new RegExp(`\\+ backend ${one}$`, 'm'));
  assert.match(world.text() ?? '', new RegExp(`^file_roots:.*\\n? *-? ?.*${one}`, 'm'));
  assert.equal((await world.visit(HOST)).text, 'this is one');

  const again = await world.up([HOST, '--to', `${one}`, '--yes']);
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, new RegExp(`= backend ${one}`));

  const moved = await world.up([HOST, '--to', `${two}`, '--yes']);
  assert.equal(moved.code, 0, moved.err);
  assert.equal((await world.visit(HOST)).text, 'this is two');
  const { backends } = await world.call('GET', '/backends/files');
  assert.deepEqual(backends.map(({ folder }: { folder: string }) => folder).sort(), [one, two]);

  const down = await world.down([HOST]);
  assert.equal(down.code, 0, down.err);
  assert.match(down.out, new RegExp(`- backend ${two}`));
  assert.deepEqual((await world.call('GET', '/backends/files')).backends, []);
});
