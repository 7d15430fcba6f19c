import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { EdgeWorld } from '../../support/edge-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const site = await world.site(await world.staticBackend(upstream.address));
const { host, routePath } = site;
const folder = await tempDir({ after });
const trust = join(folder, 'trust.pem');
await writeFile(trust, world.ca.join('\n'));

async function curl(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const resolve = ['--cacert', trust, '--resolve', `${host}:${world.port}:127.0.0.1`, '--max-time', '20'];
  return promisify(execFile)('curl', ['-sS', ...resolve, ...args], { maxBuffer: 1 << 26 });
}

function url(path: string): string {
  return `https://${host}:${world.port}${path}`;
}

for (const [flag, version] of [
  ['--http1.1', '1.1'],
  ['--http2', '2'],
] as const) {
  suite(`curl ${flag}`, () => {
    const facts = ['-w', '\n%{http_version} %{http_code} %{ssl_verify_result}'];
    before(() => {
      upstream.answer = null;
    });

    test('GET', async () => {
      const { stdout } = await curl(flag, ...facts, url('/a/b?c=d'));
      const [body = '', told] = stdout.split('\n');
      assert.equal(told, `${version} 200 0`);
      assert.deepEqual([JSON.parse(body).method, JSON.parse(body).url], ['GET', '/a/b?c=d']);
    });

    test('HEAD matches GET', async () => {
      upstream.answer = (_request, response) => {
        response.writeHead(200, { 'content-length': '4321', 'x-a': 'b' });
        response.end();
      };
      const { stdout } = await curl(flag, '--head', url('/'));
      upstream.answer = null;
      assert.match(stdout, new RegExp(`^HTTP/${version.replace('.', '\\.')} 200`));
      assert.match(stdout, /^content-length: 4321\r$/im);
      assert.match(stdout, /^x-a: b\r$/im);
    });

    test('OPTIONS', async () => {
      upstream.answer = (request, response) => {
        response.writeHead(204, { allow: `GET, ${request.method}` });
        response.end();
      };
      const { stdout } = await curl(flag, '-i', '-X', 'OPTIONS', url('/'));
      upstream.answer = null;
      assert.match(stdout, /^HTTP\/\S+ 204/);
      assert.match(stdout, /^allow: GET, OPTIONS\r$/im);
    });

    test('a file is uploaded completely, with and without a length, and its bytes are counted', async () => {
      const bytes = randomBytes(3_000_001);
      const hash = createHash('sha256').update(bytes).digest('hex');
      const file = join(folder, 'upload.bin');
      await writeFile(file, bytes);
      const framings: (string | undefined)[] = [];
      upstream.answer = (request, response) => {
        framings.push(request.headers['content-length']);
        const received = createHash('sha256');
        request
          .on('data', (chunk: Buffer) => received.update(chunk))
          .on('end', () => response.end(received.digest('hex')));
      };
      const lastBytesIn = (): number =>
        JSON.parse(world.world.logLines.findLast((line) => line.includes('"bytes_in"')) ?? '{}').bytes_in;
      const post = await curl(flag, '--data-binary', `@${file}`, url('/'));
      assert.deepEqual([post.stdout, lastBytesIn()], [hash, bytes.length]);
      const put = await curl(flag, '-T', file, '-H', 'Content-Length:', '-H', 'Transfer-Encoding: chunked', url('/'));
      upstream.answer = null;
      assert.deepEqual([put.stdout, lastBytesIn()], [hash, bytes.length]);
      assert.deepEqual(framings, [String(bytes.length), undefined]);
    });

    test('a download arrives completely', async () => {
      const bytes = randomBytes(3_000_001);
      upstream.answer = (_request, response) => response.end(bytes);
      const file = join(folder, 'download.bin');
      await curl(flag, '-o', file, url('/'));
      upstream.answer = null;
      assert.ok(bytes.equals(await readFile(file)));
    });

    test('Expect: 100-continue', async () => {
      const { stdout, stderr } = await curl(flag, '-v', '-H', 'Expect: 100-continue', '-d', 'a=b', url('/'));
      assert.equal(JSON.parse(stdout).body, 'a=b');
      assert.match(stderr, /< HTTP\/\S+ 100/);
      assert.match(stderr, /< HTTP\/\S+ 200/);
    });

    test('an upload that is rejected immediately is not sent', async () => {
      const { policyId } = await world.ipPolicy('deny', '127.0.0.0/8');
      await world.api('PUT', `${routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
      upstream.forget();
      const args = ['-H', 'Expect: 100-continue', '-T', join(folder, 'upload.bin')];
      const { stdout } = await curl(flag, ...args, '-o', '/dev/null', '-w', '%{http_code} %{size_upload}', url('/'));
      await world.api('DELETE', `${routePath}/ip_restriction`);
      assert.match(stdout, /^403 /);
      assert.equal(upstream.bytes, '');
    });

    test('--compressed', async () => {
      const text = 'words that repeat '.repeat(2000);
      upstream.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.end(text);
      };
      await world.api('PUT', `${routePath}/compression`, {});
      for (const coding of ['gzip', 'br', 'zstd', 'deflate']) {
        const head = join(folder, 'head.txt');
        const args = ['--compressed', '-H', `Accept-Encoding: ${coding}`, '-D', head, '-w', '\n%{size_download}'];
        const { stdout } = await curl(flag, ...args, url('/'));
        const end = stdout.lastIndexOf('\n');
        assert.equal(stdout.slice(0, end), text);
        assert.ok(Number(stdout.slice(end)) < text.length / 10);
        assert.match(await readFile(head, 'utf8'), new RegExp(`^content-encoding: ${coding}\r$`, 'im'));
      }
      await world.api('DELETE', `${routePath}/compression`);
      upstream.answer = null;
    });
  });
}
