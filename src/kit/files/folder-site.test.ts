import assert from 'node:assert/strict';
import {
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { onBug } from '../guarded-listeners.ts';
import { CodedForms } from './coded-forms.ts';
import type { FileExchange, FileFailure, FileHandler } from './file-exchange.ts';
import { type FolderRules, FolderSite } from './folder-site.ts';
import { OpenFiles } from './open-files.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'postern-folder-site-')));
after(() => rmSync(folder, { recursive: true, force: true }));

const RULES: FolderRules = {
  ...{ folder, roots: null, forbidden: [], indexFiles: ['index.html'], fallback: null, notFoundPage: null },
  ...{ listing: false, compression: true },
};
const BIG = 1_000_000;

/** A reader that takes everything, or nothing beyond what it has got. */
class Reader implements FileHandler {
  status = 0;
  bytes = 0;
  failure: FileFailure | null = null;
  isEnded = false;
  takes: boolean;
  exchange: FileExchange | null = null;
  readonly over = Promise.withResolvers<void>();

  constructor(takes: boolean) {
    this.takes = takes;
  }

  onHead({ status }: { readonly status: number }): void {
    this.status = status;
  }

  onData(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    return this.takes;
  }

  onEnd(): void {
    this.isEnded = true;
    this.over.resolve();
  }

  onFailure(failure: FileFailure): void {
    this.failure = failure;
    this.over.resolve();
  }

  onBug(error: unknown): void {
    this.over.reject(error as Error);
  }

  takeAll(): void {
    this.takes = true;
    this.exchange?.resume();
  }
}

function ask(site: FolderSite, target: string, reader: Reader, visitor?: string, method = 'GET'): Reader {
  const request = { method, target, headers: [], body: { framing: 'none' } as const };
  reader.exchange = site.send(visitor === undefined ? request : { ...request, visitor }, reader);
  return reader;
}

/** Descriptors of this process for a file. */
function openOf(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
    } catch {
      return false;
    }
  }).length;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

suite('FolderSite', { timeout: 60_000 }, () => {
  test('lets hundreds of readers who do not read hold few descriptors, and serves all of them in the end', async () => {
    const path = join(folder, 'slow.bin');
    writeFileSync(path, Buffer.alloc(BIG, 'x'));
    const files = new OpenFiles();
    const site = new FolderSite(RULES, { files, forms: new CodedForms() });
    const readers: Reader[] = [];
    for (let visitor = 0; visitor < 600; visitor += 1) {
      const reader = ask(site, '/slow.bin', new Reader(false), `192.0.2.${visitor % 200}`);
      readers.push(reader);
      await until(() => reader.bytes > 0 || reader.failure !== null);
    }
    assert.deepEqual([...new Set(readers.map(({ failure }) => failure?.reason))], [undefined]);
    await until(() => openOf(path) <= 128);
    assert.ok(files.open <= 128, `${files.open} files are open`);
    for (const reader of readers) reader.takeAll();
    await Promise.all(readers.map(({ over }) => over.promise));
    assert.ok(readers.every(({ bytes, isEnded }) => isEnded && bytes === BIG));
    await site.drain();
    assert.equal(files.open, 0);
    await until(() => openOf(path) === 0);
  });

  test('leaves files to others when one address opens many at once', async () => {
    writeFileSync(join(folder, 'one.bin'), Buffer.alloc(BIG, 'x'));
    const site = new FolderSite(RULES, { files: new OpenFiles(), forms: new CodedForms() });
    const greedy = Array.from({ length: 400 }, () => ask(site, '/one.bin', new Reader(false), '192.0.2.1'));
    const other = ask(site, '/one.bin', new Reader(true), '192.0.2.2');
    await other.over.promise;
    assert.equal(other.isEnded, true);
    assert.ok(greedy.some(({ failure }) => failure?.reason === 'upstream_share'));
    for (const { exchange } of greedy) exchange?.abort();
    await site.drain();
  });

  test('ends a response whose file changes, shrinks or is replaced, and no other', async () => {
    const site = new FolderSite(RULES, { files: new OpenFiles(), forms: new CodedForms() });
    for (const change of [
      (path: string) => truncateSync(path, 70_000),
      (path: string) => writeFileSync(path, Buffer.alloc(BIG, 'y')),
      (path: string) => writeFileSync(path, Buffer.alloc(BIG + 1, 'x')),
    ]) {
      const path = join(folder, 'changing.bin');
      writeFileSync(path, Buffer.alloc(BIG, 'x'));
      writeFileSync(join(folder, 'calm.bin'), Buffer.alloc(BIG, 'x'));
      const [changing, calm] = ['changing', 'calm'].map((name) => ask(site, `/${name}.bin`, new Reader(false)));
      await until(() => changing?.bytes === 65_536 && calm?.bytes === 65_536);
      change(path);
      changing?.takeAll();
      calm?.takeAll();
      await Promise.all([changing?.over.promise, calm?.over.promise]);
      assert.deepEqual([changing?.failure?.phase, changing?.failure?.reason], ['body', 'changed']);
      assert.deepEqual([calm?.isEnded, calm?.bytes], [true, BIG]);
    }
  });

  test('sends a file to its end although it was removed meanwhile', async () => {
    const path = join(folder, 'removed.bin');
    writeFileSync(path, Buffer.alloc(BIG, 'x'));
    const site = new FolderSite(RULES, { files: new OpenFiles(), forms: new CodedForms() });
    const reader = ask(site, '/removed.bin', new Reader(false));
    await until(() => reader.bytes > 0);
    unlinkSync(path);
    reader.takeAll();
    await reader.over.promise;
    assert.deepEqual([reader.isEnded, reader.bytes], [true, BIG]);
    const next = ask(site, '/removed.bin', new Reader(true));
    await next.over.promise;
    assert.equal(next.status, 404);
  });

  test('a reader that throws at a failure ends its own exchange alone', async (t) => {
    const bugs: unknown[] = [];
    t.after(onBug(({ error }) => bugs.push(error)));
    const bug = new Error('a bug of the reader');
    class Broken extends Reader {
      override onFailure(): void {
        throw bug;
      }
    }
    const rules = { ...RULES, folder: join(folder, 'absent') };
    const site = new FolderSite(rules, { files: new OpenFiles(), forms: new CodedForms() });
    ask(site, '/', new Broken(true));
    await site.drain();
    assert.deepEqual(bugs, [bug]);
  });

  test('closes the file of a reader that goes away, at any moment', async () => {
    const path = join(folder, 'aborted.bin');
    writeFileSync(path, Buffer.alloc(BIG, 'x'));
    const files = new OpenFiles();
    const site = new FolderSite(RULES, { files, forms: new CodedForms() });
    for (let turns = 0; turns < 40; turns += 1) {
      const reader = ask(site, '/aborted.bin', new Reader(turns % 2 === 0));
      for (let passed = 0; passed < turns; passed += 1) await turn();
      reader.exchange?.abort();
    }
    await site.drain();
    assert.equal(files.open, 0);
    await until(() => openOf(path) === 0);
  });

  test('says that the folder cannot be served as a failure to connect, so that another backend may answer', async () => {
    const site = new FolderSite(
      { ...RULES, folder: join(folder, 'absent') },
      { files: new OpenFiles(), forms: new CodedForms() },
    );
    const reader = ask(site, '/', new Reader(true));
    await reader.over.promise;
    const { phase, reason, mayHaveBeenSent } = reader.failure ?? {};
    assert.deepEqual([phase, reason, mayHaveBeenSent], ['connect', 'no_folder', false]);
  });

  test('is strict about paths by itself', async () => {
    writeFileSync(join(folder, 'a.txt'), 'a');
    const site = new FolderSite(RULES, { files: new OpenFiles(), forms: new CodedForms() });
    for (const [target, status] of [
      ['/a.txt', 200],
      ['/../a.txt', 400],
      ['/%2e%2e/a.txt', 400],
      ['/x/..%2fa.txt', 400],
      ['/x/%2e%2e%5ca.txt', 400],
      ['/.%2e/.%2e/etc/passwd', 400],
      ['/./a.txt', 400],
      ['//a.txt', 400],
      ['//evil.example/', 400],
      ['/%5ca.txt', 400],
      ['/a.txt%00', 400],
      ['/a.txt%0a', 400],
      ['a.txt', 400],
      ['*', 400],
      ['http://evil.example/a.txt', 400],
      ['/x%2f..%2fa.txt', 400],
      ['/%2fa.txt', 400],
      ['/x%2fa.txt', 404],
      ['/%c0%ae%c0%ae/a.txt', 404],
      ['/%ff', 404],
      ['/%252e%252e/a.txt', 404],
    ] as const) {
      const reader = ask(site, target, new Reader(true));
      await reader.over.promise;
      assert.equal(reader.status, status, target);
    }
  });
});
