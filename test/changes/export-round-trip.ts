import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { issue } from '../edge/tls/test-authority.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { TestWorld } from '../support/test-world.ts';
import { CLIENT_SECRET, HEADER_VALUE, randomConfiguration, WEBHOOK_SECRET } from './random-configuration.ts';

const certificate = await issue({ commonName: 'c.example.com', dnsNames: ['c.example.com'], usages: ['server'] });

/** Exports random configurations, applies each to an empty installation, and compares both. */
export async function checkRoundTrips(cleanup: Cleanup, runs: number): Promise<void> {
  const [source, copy] = [await TestWorld.open(cleanup), await TestWorld.open(cleanup)];
  const authority = await issue({ commonName: 'staff', isCa: true });
  await fc.assert(
    fc.asyncProperty(randomConfiguration({ authority, certificate }), async (writes) => {
      const files = [join(source.dataDir, 'exported.yaml'), join(copy.dataDir, 'exported.yaml')] as const;
      const made = await source.api('POST', '/changesets', { operations: writes });
      assert.equal(made.status, 200, made.text);
      const exported = await runCommand(['export', '-f', files[0]], { env: operatorEnv(source) });
      assert.equal(exported.code, 0, exported.stderr);
      assert.doesNotMatch(exported.stderr, /left out/);
      const text = await readFile(files[0], 'utf8');
      assert.doesNotMatch(text, /client secret|header value|whsec_|PRIVATE KEY/);
      const env = { ...operatorEnv(copy), ...variablesIn(text) };
      try {
        const applied = await runCommand(['apply', '-f', files[0], '--yes'], { env });
        assert.equal(applied.code, 0, `${applied.stderr}\n${text}`);
        const again = await runCommand(['apply', '-f', files[0], '--yes'], { env });
        assert.deepEqual([again.code, again.stdout], [0, 'nothing to do\n'], `${again.stderr}\n${text}`);
        assert.equal((await runCommand(['export', '-f', files[1]], { env: operatorEnv(copy) })).code, 0);
        assert.equal(await readFile(files[1], 'utf8'), text);
        assert.deepEqual(contents(copy), contents(source), text);
      } finally {
        await Promise.all([source, copy].map(empty));
      }
    }),
    { numRuns: runs, endOnFailure: true },
  );
}

function variablesIn(text: string): Record<string, string> {
  const names = [...text.matchAll(/_secret: "\$\{env:(\w+)\}"|\w: "\$\{env:(\w+)\}"/g)].map(([, a, b]) => a ?? b ?? '');
  const secretOf = (name: string): string => {
    if (/CLIENT_SECRET(_\d+)?$/.test(name)) return CLIENT_SECRET;
    if (/PRIVATE_KEY_PEM(_\d+)?$/.test(name)) return certificate.keyPem;
    return /WEBHOOK_SECRET(_\d+)?$/.test(name) ? WEBHOOK_SECRET : HEADER_VALUE;
  };
  return Object.fromEntries(names.map((name) => [name, secretOf(name)]));
}

/** Every stored record of the configuration, sorted, without ids and times. */
function contents({ server: { replica } }: TestWorld): readonly string[] {
  const kinds = [...replica.kinds()].filter((kind) =>
    /edge|backend|polic|domain|tls_cert|authorit|account|event_/.test(kind),
  );
  const records = kinds.flatMap((kind) => [...replica.all(kind)]);
  // Ids are replaced by what they belong to, two references deep.
  const own = new Map(
    records.map(({ id, kind, doc, secrets }) => [id, short(`${kind} ${JSON.stringify([doc, secrets])}`)]),
  );
  const withOwn = (text: string): string =>
    text.replaceAll(
      /[a-z]+_[0-9A-Za-z]{27}/g,
      (id) => own.get(id)?.replaceAll(/[a-z]+_[0-9A-Za-z]{27}/g, 'id') ?? 'id',
    );
  return records
    .map(({ kind, parent, doc, secrets }) => withOwn(short(`${kind} ${parent} ${JSON.stringify([doc, secrets])}`)))
    .sort();
}

function short(text: string): string {
  return text
    .replaceAll(/"created_at":"[^"]+"/g, '')
    .replaceAll(certificate.keyPem.trimEnd().replaceAll('\n', '\\\\n'), 'key')
    .replaceAll('key\\\\n', 'key');
}

async function empty(world: TestWorld): Promise<void> {
  const paths = [
    '/edges/https',
    '/event_subscriptions',
    '/event_destinations',
    '/reserved_domains',
    '/tls_certificates',
    '/certificate_authorities',
    '/ip_policies',
    '/service_accounts',
  ];
  const backends = ['weighted', 'failover', 'static', 'http_response', 'tunnel_group'].map(
    (kind) => `/backends/${kind}`,
  );
  const operations: { method: string; path: string }[] = [];
  for (const path of [...paths, ...backends]) {
    const { body } = await world.api('GET', `${path}?limit=100`);
    const [items] = Object.values(body).filter(Array.isArray) as { id: string }[][];
    operations.push(...(items ?? []).map(({ id }) => ({ method: 'DELETE', path: `${path}/${id}` })));
  }
  const { status, text } = await world.api('POST', '/changesets', { operations });
  assert.equal(status, 200, text);
}
