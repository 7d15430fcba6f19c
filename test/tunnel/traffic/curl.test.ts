import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const local = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after });
const ways = await bothWays(world, { addr: local.address });
const folder = await tempDir({ after });
const trust = join(folder, 'trust.pem');
await writeFile(trust, world.edge.ca.join('\n'));
const bytes = randomBytes(3_000_001);
const digest = createHash('sha256').update(bytes).digest('hex');
const upload = join(folder, 'upload.bin');
await writeFile(upload, bytes);

afterEach(() => {
  local.answer = null;
});

const VERSIONS = [
  ['--http1.1', '1.1'],
  ['--http2', '2'],
] as const;
for (const [at, { name, host, url }] of ways.entries()) {
  for (const [flag, version] of shareOfCases(VERSIONS, at, 2)) {
    const curl = (...args: readonly string[]): Promise<{ stdout: string; stderr: string }> => {
      const usual = ['-sS', flag, '--cacert', trust, '--resolve', `${host}:${world.edge.port}:127.0.0.1`];
      return promisify(execFile)('curl', [...usual, '--max-time', '30', ...args], { maxBuffer: 1 << 26 });
    };

    suite(`curl ${flag} through ${name}`, () => {
      test('GET: the service sees what the client sent', async () => {
        const facts = '\n%{http_version} %{http_code} %{ssl_verify_result}';
        const { stdout } = await curl('-H', 'X-Asked: a', '-w', facts, `${url}/a/b%20c?d=e&f`);
        const [body = '', told] = stdout.split('\n');
        assert.equal(told, `${version} 200 0`);
        const seen = JSON.parse(body);
        assert.deepEqual([seen.method, seen.url, seen.headers['x-asked']], ['GET', '/a/b%20c?d=e&f', 'a']);
        assert.equal(seen.headers.host, `${host}:${world.edge.port}`);
        assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1');
        assert.deepEqual(
          Object.keys(seen.headers).filter((header) => header.startsWith('postern-tunnel')),
          [],
        );
      });

      test('HEAD matches GET', async () => {
        local.answer = (_request, response) => {
          response.writeHead(200, { 'content-length': '4321', 'x-a': 'b', 'postern-tunnel-error': 'refused' });
          response.end();
        };
        const { stdout } = await curl('--head', `${url}/`);
        assert.match(stdout, /^HTTP\/\S+ 200/);
        assert.match(stdout, /^content-length: 4321\r$/im);
        assert.match(stdout, /^x-a: b\r$/im);
        assert.doesNotMatch(stdout, /^postern-tunnel/im);
      });

      test('a file is uploaded completely, with and without a length', async () => {
        const framings: (string | undefined)[] = [];
        local.answer = (request, response) => {
          framings.push(request.headers['content-length']);
          const received = createHash('sha256');
          request
            .on('data', (chunk: Buffer) => received.update(chunk))
            .on('end', () => response.end(received.digest('hex')));
        };
        assert.equal((await curl('--data-binary', `@${upload}`, `${url}/`)).stdout, digest);
        const chunked = ['-T', upload, '-H', 'Content-Length:', '-H', 'Transfer-Encoding: chunked'];
        assert.equal((await curl(...chunked, `${url}/`)).stdout, digest);
        assert.deepEqual(framings, [String(bytes.length), undefined]);
      });

      test('a download arrives completely, with and without a length, plain and compressed', async () => {
        const file = join(folder, 'download.bin');
        for (const headers of [{ 'content-length': String(bytes.length) }, { 'content-type': 'text/plain' }]) {
          local.answer = (_request, response) => {
            response.writeHead(200, headers);
            response.end(bytes);
          };
          for (const more of [[], ['--compressed']]) {
            await curl(...more, '-o', file, `${url}/`);
            assert.ok(bytes.equals(await readFile(file)));
          }
        }
      });

      test('Expect: 100-continue is answered, and the body comes after it', async () => {
        const { stdout, stderr } = await curl('-v', '-H', 'Expect: 100-continue', '-d', 'a=b', `${url}/`);
        assert.equal(JSON.parse(stdout).body, 'a=b');
        assert.match(stderr, /< HTTP\/\S+ 100/);
        assert.match(stderr, /< HTTP\/\S+ 200/);
      });

      test('trailers of a chunked response', async () => {
        local.answer = (_request, response) => {
          response.writeHead(200, { trailer: 'x-sum' });
          response.write('body');
          response.addTrailers({ 'x-sum': '42' });
          response.end();
        };
        // For HTTP/1.1 curl shows them where the headers are dumped.
        const { stdout, stderr } = await curl('-v', '-D', '-', '-H', 'TE: trailers', `${url}/`);
        assert.match(stdout, /body/);
        assert.match(stdout + stderr, /x-sum: 42/i);
      });

      test('a truncated response is an error at the client, not a short response', async () => {
        local.answer = (request, response) => {
          response.writeHead(200, { 'content-type': 'application/octet-stream' });
          response.write(bytes.subarray(0, 100_000), () => request.socket.destroy());
        };
        await assert.rejects(curl('-o', '/dev/null', `${url}/`), /exit code|curl: \((18|56|92|16)\)/);
      });
    });
  }
}
