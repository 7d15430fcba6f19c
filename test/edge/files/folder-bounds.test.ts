import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { FolderWorld } from '../../support/folder-world.ts';

const SECRET = 'SECRET of the machine';
const outside = realpathSync(mkdtempSync(join(tmpdir(), 'postern-outside-')));
after(() => rmSync(outside, { recursive: true, force: true }));
writeFileSync(join(outside, 'secret.txt'), SECRET);

const world = await FolderWorld.open({ after });
const folder = world.folder('site', { 'index.html': 'home', 'sub/a.txt': 'a' });
symlinkSync(outside, join(folder, 'out'));
const host = await world.site(folder);

/** The status of a write, and what it says. */
async function write(fields: Readonly<Record<string, unknown>>): Promise<readonly [number, string]> {
  const { status, body } = await world.edge.world.api('POST', '/backends/files', fields);
  return [status, status < 300 ? '' : body.msg];
}

suite('the folder of a files backend', () => {
  test('must be below file_roots, and a write says which setting to change', async () => {
    for (const each of ['/etc', outside, `${world.root}-other`, '/']) {
      const [status, text] = await write({ folder: each });
      assert.equal(status, 400, each);
      assert.match(
        text,
        /folder is not below a folder of the setting file_roots of the server \(\/.*POSTERN_FILE_ROOTS/,
      );
    }
    for (const each of ['site', `${folder}/`, `${folder}/../../etc`, `${folder}/.`]) {
      const [status, text] = await write({ folder: each });
      assert.equal(status, 400, each);
      assert.match(text, /must be an absolute path without/);
    }
    assert.deepEqual(await write({ folder: world.root }), [201, '']);
  });

  test('is never the data directory, although file_roots has it', async (t) => {
    const other = await FolderWorld.open(t, { POSTERN_FILE_ROOTS: '/' });
    const { dataDir } = other.edge.world;
    const { status, body } = await other.edge.world.api('POST', '/backends/files', { folder: dataDir });
    assert.equal(status, 400);
    assert.match(body.msg, /data directory of the server, which is never served/);
    const above = await other.site('/');
    const path = realpathSync(dataDir);
    assert.equal((await other.http1(above, `${path}/first-api-key`)).status, 404);
    assert.equal((await other.http1(above, `${path}/`)).status, 404);
    assert.equal((await other.http1(above, join(folder, 'index.html'))).status, 200);
  });

  test('names files below it only', async () => {
    for (const name of ['../x', '/index.html', 'a/../b', 'a//b', '.env', 'a\\b', 'a\nb'])
      for (const field of ['fallback', 'not_found_page']) {
        const [status, text] = await write({ folder, [field]: name });
        assert.equal(status, 400, `${field} ${name}`);
        assert.match(text, new RegExp(`${field} must`));
      }
    assert.equal((await write({ folder, index_files: ['sub/a.txt'] }))[0], 400);
    assert.equal((await write({ folder, fallback: 'sub/a.txt' }))[0], 201);
  });

  test('may be missing: the response says so, and another backend takes over', async () => {
    const absent = join(world.root, 'absent');
    const { id } = await world.edge.api('POST', '/backends/files', { folder: absent });
    const site = await world.edge.site(id);
    const answer = await world.http1(site.host, '/');
    assert.equal(answer.status, 502);
    assert.match(answer.body.toString(), /folder of this site cannot be served/);
    const pause = await world.edge.httpResponse('back soon', { status_code: 503 });
    const { id: both } = await world.edge.api('POST', '/backends/failover', { backends: [id, pause] });
    assert.equal((await world.http1((await world.edge.site(both)).host, '/')).body.toString(), 'back soon');
    world.folder('absent', { 'index.html': 'here now' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assert.equal((await world.http1(site.host, '/')).body.toString(), 'here now');
  });

  test('that is replaced by a link to another place is not served', async () => {
    const moved = world.folder('moved', { 'secret.txt': 'mine' });
    const site = await world.site(moved);
    assert.equal((await world.http1(site, '/secret.txt')).body.toString(), 'mine');
    renameSync(moved, `${moved}-away`);
    symlinkSync(outside, moved);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assert.equal((await world.http1(site, '/secret.txt')).status, 502);
  });
});

suite('ways out of a folder', () => {
  const targets =
    `/../secret.txt|/sub/../../secret.txt|/%2e%2e/secret.txt|/%2E%2E%2Fsecret.txt|/..%2fsecret.txt|/..%5csecret.txt
|/%5c..%5c..%5csecret.txt|/..;/secret.txt|/%2e%2e;x/secret.txt|/%252e%252e/secret.txt|/%c0%ae%c0%ae/secret.txt|/.%00./secret.txt
|/sub/%00/secret.txt|/secret.txt%00.html|//secret.txt|///etc/passwd|/./././etc/passwd|/sub//..//..//secret.txt|/%2f%2fetc%2fpasswd
|/out/secret.txt|/out//secret.txt|/out/./secret.txt|/out%2fsecret.txt|/OUT/secret.txt|/sub/..%09/secret.txt|/..%0d/secret.txt
|/%EF%BC%8E%EF%BC%8E/secret.txt|/sub/a.txt/../../out/secret.txt|/proc/self/environ|/sub/a.txt/|/%|/%zz|/~root|/C:/x|/sub\\..\\x`
      .replaceAll('\n', '')
      .split('|');

  /** The status, from bytes that no client would send. */
  async function raw(text: string): Promise<{ status: number; text: string }> {
    const socket = await world.edge.connect(host);
    socket.write(text, 'latin1');
    let received = '';
    for await (const chunk of socket) received += String(chunk);
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0), text: received };
  }

  test('do not exist over HTTP/1.1', async () => {
    const authority = `${host}:${world.edge.port}`;
    for (const target of [
      ...targets,
      `https://${authority}/../secret.txt`,
      `https://evil.example/out/secret.txt`,
      '*',
    ]) {
      const answer = await raw(`GET ${target} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
      assert.doesNotMatch(answer.text, /SECRET|root:/, target);
      assert.ok(answer.status >= 400, `${target}: ${answer.status}`);
    }
  });

  test('do not exist over HTTP/2', async () => {
    for (const target of [...targets, 'out/secret.txt', '', '/out/secret.txt?/../index.html']) {
      const answer = await world.http2(host, target).catch(() => null);
      if (answer === null) continue;
      assert.doesNotMatch(answer.body.toString(), /SECRET|root:/, target);
      assert.ok(answer.status >= 400, `${target}: ${answer.status}`);
    }
  });

  test('a path that programs read differently is rejected, because a folder reads paths', async () => {
    for (const path of ['/sub//a.txt', '/sub/./a.txt', '/sub%5ca.txt']) {
      const answer = await world.http1(host, path);
      assert.equal(answer.status, 400, path);
      assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_BAD_PATH');
    }
  });

  test('a redirect stays on the host', async () => {
    world.folder('site', { 'evil.example/x': 'x', '@evil.example/x': 'x', 'javascript:x/x': 'x' });
    for (const name of ['evil.example', '@evil.example', 'javascript:x'])
      assert.equal((await world.http1(host, `/${name}`)).headers['location'], `./${name}/`);
    assert.equal((await world.http1(host, '//evil.example')).status, 400);
  });
});
