import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';

const SITES = `version: 1
https_edges:
  app.localhost:
    hostports: ["app.localhost:443"]
    routes:
      /:
        backend: {backend: balanced}
        ip_restriction: {ip_policies: [office]}
        oidc: {issuer: "https://id.example.com", client_id: shop, client_secret: "$\{env:CLIENT_SECRET}"}
        request_headers: {add: {x-a: b}}
backends:
  balanced: {kind: weighted, backends: {web: 3, page: 1}}
  web: {kind: static, address: "127.0.0.1:3000"}
  page: {kind: http_response, body: hello}
ip_policies:
  office: {rules: {203.0.113.0/24: {}}}
event_destinations:
  hook: {target: {webhook: {url: "https://hooks.example.com"}}}
event_subscriptions:
  policies: {sources: [{type: ip_policy_created.v0}], destinations: [hook]}
`;

type Row = [table: string, ...values: (string | number | null)[]];
const [KIND, ID, PARENT, DOC] = [1, 2, 3, 5] as const;

/** Ways in which a record may be broken, although the backup is sealed. */
const BREAKS: Readonly<Record<string, (row: Row) => void>> = {
  'a document that is cut': (row) => (row[DOC] = String(row[DOC]).slice(0, -1)),
  'no document': (row) => (row[DOC] = 'null'),
  'a document that is a list': (row) => (row[DOC] = '[]'),
  'an empty document': (row) => (row[DOC] = '{}'),
  'fields of other types': (row) =>
    (row[DOC] = JSON.stringify(
      Object.fromEntries(Object.keys(JSON.parse(String(row[DOC]))).map((name) => [name, { odd: [1] }])),
    )),
  'fields that are null': (row) =>
    (row[DOC] = JSON.stringify(
      Object.fromEntries(Object.keys(JSON.parse(String(row[DOC]))).map((name) => [name, null])),
    )),
  'no parent': (row) => (row[PARENT] = null),
  'another id': (row) => (row[ID] = 'x'),
  'an unknown kind': (row) => (row[KIND] = 'nonsense'),
};

suite('a backup that was sealed again around a broken record', () => {
  test('is refused by the name of the record, or the server starts with it', {
    timeout: isLong ? 1_800_000 : 280_000,
  }, async (t) => {
    const folder = await tempDir(t);
    const world = await TestWorld.open(t, {
      env: { POSTERN_ROLES: 'api,edge', POSTERN_EDGE_LISTEN: '127.0.0.1:0', POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0' },
    });
    const file = join(folder, 'postern-server.yaml');
    await writeFile(file, SITES);
    const applied = await runCommand(['apply', '-f', file, '--yes'], {
      env: { ...operatorEnv(world), CLIENT_SECRET: 'secret' },
    });
    assert.equal(applied.code, 0, applied.stderr);
    const backup = join(folder, 'whole.gz');
    const made = await runCommand(['store', 'backup', backup], { env: { POSTERN_DATA_DIR: world.dataDir } });
    assert.equal(made.code, 0, made.stderr);
    const key = readFileSync(join(world.dataDir, 'secret.key'), 'utf8').trim();
    const lines = gunzipSync(readFileSync(backup)).toString().trimEnd().split('\n');
    const at = lines.flatMap((line, index) => (line.startsWith('["records"') ? [index] : []));
    const failures: string[] = [];
    let refused = 0;
    let count = 0;
    for (const [turn, index] of at.entries()) {
      for (const [step, [name, spoil]] of Object.entries(BREAKS).entries()) {
        if (!isLong && (turn + step) % 8 !== 0) continue;
        count += 1;
        const row = JSON.parse(lines[index] ?? '') as Row;
        const { 1: kind, 2: id } = row;
        spoil(row);
        const spoiled = join(folder, 'spoiled.gz');
        await writeFile(spoiled, resealed(lines.with(index, JSON.stringify(row))));
        const dataDir = join(folder, `data-${count}`);
        const restored = await runCommand(['store', 'restore', spoiled], {
          env: { POSTERN_DATA_DIR: dataDir, POSTERN_SECRET_KEY: key },
        });
        if (restored.code !== 0) {
          refused += 1;
          if (
            !restored.stderr.includes(String(kind)) &&
            !/internal CA in the store|nonsense|\/x /.test(restored.stderr)
          )
            failures.push(`${kind} ${name}: ${restored.stderr}`);
          const left = await readdir(dataDir).catch(() => []);
          if (left.some((each) => each !== 'postern.lock' && !each.endsWith('.lock')))
            failures.push(`${kind} ${name} leaves ${left.join()}`);
          continue;
        }
        try {
          const again = await TestWorld.open({ after: () => {} } as never, {
            dataDir,
            env: {
              POSTERN_SECRET_KEY: key,
              POSTERN_ROLES: 'api,edge',
              POSTERN_EDGE_LISTEN: '127.0.0.1:0',
              POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
            },
          });
          await again.server.close();
        } catch (error) {
          failures.push(`${kind} ${id} ${name} restores and does not start: ${String(error).slice(0, 200)}`);
        }
      }
    }
    assert.ok(refused > 3 && refused < count, `${refused} of ${count} were refused`);
    assert.deepEqual(failures, []);
  });
});

function resealed(lines: readonly string[]): Uint8Array {
  const body = lines
    .slice(0, -1)
    .map((line) => `${line}\n`)
    .join('');
  const trailer = JSON.parse(lines.at(-1) ?? '{}');
  return gzipSync(
    `${body}${JSON.stringify({ ...trailer, sha256: createHash('sha256').update(body).digest('hex') })}\n`,
  );
}
