import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { type FolderAnswer, type FolderRequest, FolderWorld } from '../../support/folder-world.ts';

const OLD = new Date('2026-03-01T10:00:00.250Z');
const OLD_TEXT = 'Sun, 01 Mar 2026 10:00:00 GMT';
const BIG = Buffer.alloc(300_000, 'abcdefghij');
const SCRIPT = 'export const answer = 42;\n'.repeat(200);

const world = await FolderWorld.open({ after });
const folder = world.folder('site', {
  'index.html': '<h1>Home</h1>',
  'a b.txt': 'with a space',
  'big.bin': BIG,
  'empty.txt': '',
  'app.js': SCRIPT,
  'pre.css': 'body { color: red }\n'.repeat(100),
  'pre.css.br': brotliCompressSync('body { color: red }\n'.repeat(100)),
  'stale.css': 'p { color: red }\n'.repeat(100),
  'stale.css.gz': 'this is older, and not even gzip',
  'photo.png': Buffer.from([1, 2, 3]),
  'name-without-type': 'x',
  'docs/index.html': 'docs',
  'bare/file.txt': 'x',
  '.env': 'SECRET=1',
  '.git/config': 'x',
  '.well-known/security.txt': 'Contact: mailto:a@example.com',
  '.well-known/.hidden': 'x',
  '404.html': '<h1>Nothing here</h1>',
  'ümlaut.txt': 'u',
  'semi;colon.txt': 's',
  'percent%41.txt': 'p',
});
for (const name of ['index.html', 'big.bin', 'empty.txt', 'app.js', 'pre.css', 'pre.css.br', 'stale.css'])
  utimesSync(join(folder, name), OLD, OLD);
utimesSync(join(folder, 'stale.css.gz'), new Date(OLD.getTime() - 60_000), new Date(OLD.getTime() - 60_000));
const host = await world.site(folder);

/** The same over HTTP/1.1 and HTTP/2. */
async function ask(path: string, request: FolderRequest = {}, site = host): Promise<FolderAnswer> {
  const [one, two] = await Promise.all([world.http1(site, path, request), world.http2(site, path, request)]);
  assert.equal(one.status, two.status, `${path}: HTTP/1.1 and HTTP/2 differ`);
  assert.deepEqual(one.body, two.body);
  const ofFile = (answer: FolderAnswer) =>
    ['etag', 'content-type', 'content-range', 'content-length', 'content-encoding', 'vary', 'location', 'allow'].map(
      (name) => answer.headers[name],
    );
  assert.deepEqual(ofFile(one), ofFile(two));
  return one;
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => ask(path, { headers });

suite('a folder over HTTP', () => {
  test('sends files with type, length, tag and date', async () => {
    const answer = await get('/index.html');
    assert.equal(answer.status, 200);
    assert.equal(answer.body.toString(), '<h1>Home</h1>');
    const { headers } = answer;
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(headers['content-length'], '13');
    assert.equal(headers['last-modified'], OLD_TEXT);
    assert.match(headers['etag'] ?? '', /^"[0-9a-z]+-[0-9a-z]+"$/);
    assert.equal(headers['accept-ranges'], 'bytes');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['vary'], 'Accept-Encoding');
    assert.equal((await get('/photo.png')).headers['content-type'], 'image/png');
    assert.equal((await get('/photo.png')).headers['vary'], undefined);
    assert.equal((await get('/app.js')).headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal((await get('/name-without-type')).headers['content-type'], 'application/octet-stream');
  });

  test('sends large and empty files whole', async () => {
    assert.deepEqual((await get('/big.bin')).body, BIG);
    const empty = await get('/empty.txt', { range: 'bytes=0-' });
    assert.deepEqual([empty.status, empty.body.length, empty.headers['content-length']], [200, 0, '0']);
  });

  test('finds names with spaces, letters, semicolons and percent signs', async () => {
    for (const [path, text] of [
      ['/a%20b.txt', 'with a space'],
      ['/%C3%BCmlaut.txt', 'u'],
      ['/semi;colon.txt', 's'],
      ['/percent%2541.txt', 'p'],
      ['/index.html?v=1&/../x', '<h1>Home</h1>'],
    ] as const)
      assert.equal((await get(path)).body.toString(), text, path);
  });

  test('sends the index file of a folder, and redirects to its slash on the same host', async () => {
    assert.equal((await get('/')).body.toString(), '<h1>Home</h1>');
    assert.equal((await get('/docs/')).body.toString(), 'docs');
    const answer = await get('/docs?x=1');
    assert.deepEqual([answer.status, answer.headers['location']], [301, './docs/?x=1']);
    assert.equal((await get('/bare/')).status, 404);
    assert.equal((await get('/index.html/')).status, 404);
  });

  test('answers HEAD like GET without the body', async () => {
    for (const [path, headers] of [
      ['/big.bin', {}],
      ['/app.js', { 'accept-encoding': 'br' }],
    ] as const) {
      const [head, whole] = [await ask(path, { method: 'HEAD', headers }), await get(path, headers)];
      assert.equal(head.status, 200);
      assert.equal(head.body.length, 0);
      for (const name of ['content-length', 'content-encoding', 'etag', 'last-modified', 'content-type'])
        assert.equal(head.headers[name], whole.headers[name], name);
    }
    // RFC 9110 §14.2: only GET has ranges.
    assert.equal((await ask('/big.bin', { method: 'HEAD', headers: { range: 'bytes=0-1' } })).status, 200);
    assert.equal((await ask('/nothing', { method: 'HEAD' })).status, 404);
  });

  test('rejects other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const answer = await ask('/index.html', { method, ...(method === 'POST' && { body: 'x=1' }) });
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD'], method);
    }
  });

  test('never sends hidden files, except below .well-known', async () => {
    for (const path of [
      '/.env',
      '/.git/config',
      '/.git/',
      '/.git',
      '/%2eenv',
      '/.well-known/.hidden',
      '/docs/.well-known/x',
    ])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/.well-known/security.txt')).status, 200);
  });
});

suite('ranges of a folder', () => {
  const ranges: readonly (readonly [range: string, status: number, contentRange: string | undefined, body: Buffer])[] =
    [
      ['bytes=0-9', 206, 'bytes 0-9/300000', BIG.subarray(0, 10)],
      ['bytes=100-', 206, 'bytes 100-299999/300000', BIG.subarray(100)],
      ['bytes=-5', 206, 'bytes 299995-299999/300000', BIG.subarray(-5)],
      ['bytes=-999999', 206, 'bytes 0-299999/300000', BIG],
      ['bytes=299999-999999999999', 206, 'bytes 299999-299999/300000', BIG.subarray(-1)],
      ['BYTES= 0-0', 206, 'bytes 0-0/300000', BIG.subarray(0, 1)],
      ['bytes=300000-', 416, 'bytes */300000', Buffer.alloc(0)],
      ['bytes=-0', 416, 'bytes */300000', Buffer.alloc(0)],
      ['bytes=0-1,5-6', 200, undefined, BIG],
      ['bytes=9-1', 200, undefined, BIG],
      ['bytes=a-b', 200, undefined, BIG],
      ['bytes=', 200, undefined, BIG],
      ['bytes=-', 200, undefined, BIG],
      ['lines=0-1', 200, undefined, BIG],
      ['bytes=99999999999999999999-', 200, undefined, BIG],
    ];
  for (const [range, status, contentRange, body] of ranges) {
    test(`${range} is ${status}`, async () => {
      const answer = await get('/big.bin', { range });
      assert.deepEqual([answer.status, answer.headers['content-range']], [status, contentRange]);
      assert.ok(answer.body.equals(body), `${answer.body.length} bytes`);
    });
  }

  test('count only for the version that If-Range names', async () => {
    const etag = (await get('/big.bin')).headers['etag'] ?? '';
    for (const [ifRange, status] of [
      [etag, 206],
      [`W/${etag}`, 200],
      ['"other"', 200],
      [OLD_TEXT, 206],
      ['Sun, 01 Mar 2026 10:00:01 GMT', 200],
      ['nonsense', 200],
    ] as const)
      assert.equal((await get('/big.bin', { range: 'bytes=1-2', 'if-range': ifRange })).status, status, ifRange);
  });

  test('of a file that can be compressed are parts of the file itself', async () => {
    const answer = await get('/app.js', { range: 'bytes=0-5', 'accept-encoding': 'br, gzip' });
    assert.deepEqual([answer.status, answer.body.toString()], [206, 'export']);
    assert.equal(answer.headers['content-encoding'], undefined);
  });
});

suite('conditional requests to a folder', () => {
  test('compare tags before dates', async () => {
    const etag = (await get('/index.html')).headers['etag'] ?? '';
    const later = 'Sun, 01 Mar 2026 10:00:01 GMT';
    const earlier = 'Sun, 01 Mar 2026 09:59:59 GMT';
    const cases: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `W/${etag}` }, 304],
      [{ 'if-none-match': `"x", ${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"x"' }, 200],
      [{ 'if-none-match': '"x"', 'if-modified-since': later }, 200],
      [{ 'if-modified-since': OLD_TEXT }, 304],
      [{ 'if-modified-since': later }, 304],
      [{ 'if-modified-since': earlier }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': '"x"' }, 412],
      [{ 'if-match': `W/${etag}` }, 412],
      [{ 'if-unmodified-since': OLD_TEXT }, 200],
      [{ 'if-unmodified-since': earlier }, 412],
      [{ 'if-match': etag, 'if-unmodified-since': earlier }, 200],
      [{ 'if-none-match': etag, range: 'bytes=0-1' }, 304],
    ];
    for (const [headers, status] of cases) {
      const answer = await get('/index.html', headers);
      assert.equal(answer.status, status, JSON.stringify(headers));
      if (status === 200) continue;
      assert.equal(answer.body.length, 0);
      assert.equal(answer.headers['content-type'], undefined);
      if (status === 304) assert.deepEqual([answer.headers['etag'], answer.headers['vary']], [etag, 'Accept-Encoding']);
    }
  });

  test('give a file that has just changed a weak tag', async () => {
    writeFileSync(join(folder, 'fresh.txt'), 'new');
    const { etag = '' } = (await world.http1(host, '/fresh.txt')).headers;
    assert.match(etag, /^W\//);
    assert.equal((await get('/fresh.txt', { 'if-none-match': etag })).status, 304);
  });
});

suite('compressed files of a folder', () => {
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync } as const;

  test('follow the weights of Accept-Encoding', async () => {
    for (const [accepted, coding] of [
      ['gzip', 'gzip'],
      ['gzip, br', 'br'],
      ['gzip, br, zstd', 'zstd'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['br;q=0, *', 'zstd'],
      ['identity', undefined],
      ['deflate', undefined],
      ['gzip;q=0', undefined],
    ] as const) {
      const answer = await get('/app.js', { 'accept-encoding': accepted });
      assert.equal(answer.headers['content-encoding'], coding, accepted);
      assert.equal(answer.headers['vary'], 'Accept-Encoding');
      const plain = coding === undefined ? answer.body : decoders[coding](answer.body);
      assert.equal(plain.toString(), SCRIPT);
    }
  });

  test('have tags of their own', async () => {
    const tags = ['identity', 'gzip', 'br'].map(
      async (coding) => (await get('/app.js', { 'accept-encoding': coding })).headers['etag'] ?? '',
    );
    const [plain = '', gzip = '', br = ''] = await Promise.all(tags);
    assert.equal(new Set([plain, gzip, br]).size, 3);
    assert.equal((await get('/app.js', { 'accept-encoding': 'gzip', 'if-none-match': gzip })).status, 304);
    assert.equal((await get('/app.js', { 'accept-encoding': 'gzip', 'if-none-match': br })).status, 200);
  });

  test('come from a file beside it, unless that is older', async () => {
    const before_ = await get('/pre.css', { 'accept-encoding': 'gzip, br' });
    assert.equal(before_.headers['content-encoding'], 'br');
    assert.match(brotliDecompressSync(before_.body).toString(), /^body \{ color: red \}/);
    const stale = await get('/stale.css', { 'accept-encoding': 'gzip' });
    assert.match(gunzipSync(stale.body).toString(), /^p \{ color: red \}/);
  });

  test('are made again when the file changes', async () => {
    writeFileSync(join(folder, 'changing.css'), 'a { color: red }\n'.repeat(100));
    await get('/changing.css', { 'accept-encoding': 'gzip' });
    writeFileSync(join(folder, 'changing.css'), 'b { color: red }\n'.repeat(100));
    const { body } = await get('/changing.css', { 'accept-encoding': 'gzip' });
    assert.match(gunzipSync(body).toString(), /^b /);
  });

  test('are not made for a backend without compression, nor for pictures', async () => {
    const plain = await world.site(folder, { compression: false });
    const answer = await ask('/app.js', { headers: { 'accept-encoding': 'gzip' } }, plain);
    assert.deepEqual([answer.headers['content-encoding'], answer.headers['vary']], [undefined, undefined]);
    assert.equal((await get('/big.bin', { 'accept-encoding': 'gzip' })).headers['content-encoding'], undefined);
  });
});

suite('options of a files backend', () => {
  test('fallback: sends one page for every path without a file', async () => {
    const app = await world.site(folder, { fallback: 'index.html' });
    const answer = await ask('/people/7', {}, app);
    assert.deepEqual([answer.status, answer.body.toString()], [200, '<h1>Home</h1>']);
    assert.equal(
      (await ask('/people/7', { headers: { 'if-none-match': answer.headers['etag'] ?? '' } }, app)).status,
      304,
    );
    assert.equal((await ask('/app.js', {}, app)).body.toString(), SCRIPT);
    assert.equal((await ask('/.env', {}, app)).status, 404);
  });

  test('not_found_page: is sent with 404, without tag and parts', async () => {
    const site = await world.site(folder, { not_found_page: '404.html' });
    const answer = await ask('/nothing', { headers: { range: 'bytes=0-1', 'if-none-match': '*' } }, site);
    assert.deepEqual([answer.status, answer.body.toString()], [404, '<h1>Nothing here</h1>']);
    assert.equal(answer.headers['content-range'], undefined);
    assert.equal(answer.headers['etag'], undefined);
  });

  test('listing: shows names without hidden ones, escaped', async () => {
    world.folder('listed', { '.hidden': '', 'sub/x': '', '<b>&"\'.txt': '1', 'javascript:alert(1)': '' });
    const site = await world.site(join(world.root, 'listed'), { listing: true });
    const { status, headers, body } = await ask('/', {}, site);
    const text = body.toString();
    assert.equal(status, 200);
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'/);
    assert.match(text, /<a href="\.\/sub\/">sub\/<\/a>/);
    assert.match(text, /href="\.\/%3Cb%3E%26%22'\.txt">&lt;b&gt;&amp;&quot;/);
    assert.match(text, /href="\.\/javascript%3Aalert\(1\)"/);
    assert.doesNotMatch(text, /hidden/);
    assert.equal((await get('/bare/')).status, 404);
  });

  test('index_files: sends the first that exists', async () => {
    const site = await world.site(folder, { index_files: ['home.html', 'file.txt'] });
    assert.equal((await ask('/bare/', {}, site)).body.toString(), 'x');
  });
});
