import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import {
  closeFile,
  FolderProblem,
  type FoundFile,
  hiddenAt,
  type NotServed,
  OpenFolder,
  openToRead,
} from './open-file.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'postern-open-file-')));
after(() => rmSync(base, { recursive: true, force: true }));

const root = join(base, 'root');
const folder = join(root, 'site');
const outside = join(base, 'outside-of-it');
for (const each of [folder, join(folder, 'sub'), join(folder, '.hidden'), outside, join(root, 'site-other')])
  mkdirSync(each, { recursive: true });
writeFileSync(join(folder, 'a.txt'), 'inside');
writeFileSync(join(folder, 'sub/b.txt'), 'inside');
writeFileSync(join(folder, '.hidden/c.txt'), 'hidden');
writeFileSync(join(outside, 'b.txt'), 'OUTSIDE');
writeFileSync(join(root, 'site-other/b.txt'), 'OUTSIDE');

const open = (bounds: Partial<ConstructorParameters<typeof OpenFolder>[0]> = {}): OpenFolder =>
  new OpenFolder({ folder, roots: [root], forbidden: [], ...bounds });

async function contentOf(found: FoundFile | NotServed): Promise<string> {
  if (typeof found === 'string') return found;
  const fd = await openToRead(found);
  if (typeof fd === 'string') return fd;
  try {
    return readFileSync(fd, 'utf8');
  } finally {
    closeFile(fd);
  }
}

suite('OpenFolder', () => {
  test('finds files and folders, and follows links that stay inside', async () => {
    symlinkSync(join(folder, 'sub'), join(folder, 'link'));
    symlinkSync('a.txt', join(folder, 'file-link'));
    assert.equal(await contentOf(await open().find(['a.txt'])), 'inside');
    assert.equal(await contentOf(await open().find(['link', 'b.txt'])), 'inside');
    assert.equal(await contentOf(await open().find(['file-link'])), 'inside');
    const found = await open().find(['sub']);
    assert.ok(typeof found !== 'string' && found.stats.isDirectory());
    closeFile(found.fd);
  });

  test('refuses links that lead out, or to a hidden name', async () => {
    symlinkSync(outside, join(folder, 'out'));
    symlinkSync('../site-other', join(folder, 'neighbour'));
    symlinkSync('/', join(folder, 'everything'));
    symlinkSync('.hidden/c.txt', join(folder, 'shown.txt'));
    symlinkSync('loop', join(folder, 'loop'));
    for (const names of [
      ['out', 'b.txt'],
      ['neighbour', 'b.txt'],
      ['everything', 'etc', 'passwd'],
      ['everything'],
      ['shown.txt'],
      ['loop'],
      ['a.txt', 'x'],
      ['x'.repeat(300)],
    ])
      assert.equal(await open().find(names), 'missing', names.join('/'));
  });

  test('refuses pipes, sockets and devices without opening them', { timeout: 20_000 }, async (t) => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const server = createServer().listen(join(folder, 'socket'));
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    symlinkSync('/dev/zero', join(folder, 'device'));
    for (const name of ['pipe', 'socket', 'device']) assert.equal(await open().find([name]), 'missing', name);
    assert.equal(await open({ folder: '/dev', roots: ['/'] }).find(['zero']), 'missing');
  });

  test('serves a folder only below a root, after links are resolved, and nothing that is forbidden', async () => {
    symlinkSync(outside, join(root, 'moved'));
    await assert.rejects(open({ folder: join(root, 'moved') }).find(['b.txt']), FolderProblem);
    await assert.rejects(open({ folder: outside }).find(['b.txt']), FolderProblem);
    await assert.rejects(open({ roots: [] }).find(['a.txt']), FolderProblem);
    await assert.rejects(open({ folder: join(root, 'absent') }).find(['a.txt']), /cannot be opened \(ENOENT\)/);
    await assert.rejects(open({ forbidden: [root] }).find(['a.txt']), /data directory/);
    assert.equal(await open({ forbidden: [join(folder, 'sub')] }).find(['sub', 'b.txt']), 'missing');
    assert.equal(await contentOf(await open({ roots: null }).find(['a.txt'])), 'inside');
  });

  test('never reads a file outside while a folder and a link change places', { timeout: 60_000 }, async (t) => {
    linkSync(join(folder, 'a.txt'), join(folder, 'same.txt'));
    const swapper = new Worker(
      `const { renameSync, symlinkSync, mkdirSync, writeFileSync } = require('node:fs');
       const { folder, outside } = require('node:worker_threads').workerData;
       mkdirSync(folder + '/real'); writeFileSync(folder + '/real/b.txt', 'inside');
       symlinkSync(outside, folder + '/link-out');
       for (let turn = 0; turn < 20000; turn += 1) {
         renameSync(folder + '/real', folder + '/swap');
         renameSync(folder + '/swap', folder + '/real');
         renameSync(folder + '/link-out', folder + '/swap');
         renameSync(folder + '/swap', folder + '/link-out');
       }`,
      { eval: true, workerData: { folder, outside } },
    );
    t.after(() => swapper.terminate());
    let isOver = false;
    swapper.once('exit', () => {
      isOver = true;
    });
    const seen = new Map<string, number>();
    const watched = open();
    while (!isOver) {
      const each = await Promise.all(
        Array.from({ length: 16 }, async () => contentOf(await watched.find(['swap', 'b.txt']))),
      );
      for (const text of each) seen.set(text, (seen.get(text) ?? 0) + 1);
    }
    assert.equal(seen.get('OUTSIDE'), undefined);
    // The race was there to be lost.
    assert.ok((seen.get('inside') ?? 0) > 0 && (seen.get('missing') ?? 0) > 0, JSON.stringify([...seen]));
  });
});

test('names that begin with a dot are hidden, but the first may be .well-known', () => {
  for (const [path, at] of [
    ['a/b', -1],
    ['.well-known/x', -1],
    ['a/.well-known/x', 1],
    ['.well-known/.x', 1],
    ['.git', 0],
    ['a/...', 1],
  ] as const)
    assert.equal(hiddenAt(path.split('/')), at, path);
});
