import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { StoredRecord } from '../../store/store.ts';
import { isPublicName, wantedNames } from './names.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');

type Given = Readonly<Record<string, readonly object[]>>;

async function wanted(given: Given, { ownNames = [], hasDns = false }: { ownNames?: string[]; hasDns?: boolean } = {}) {
  const all = (kind: string): StoredRecord[] =>
    (given[kind] ?? []).map((doc, index) => ({
      kind,
      id: `${kind}_${index}`,
      parent: null,
      revision: 1,
      doc: doc as never,
      secrets: null,
    }));
  return wantedNames({ replica: { all }, ownNames, hasDns, nowMs: NOW });
}

const names = async (...given: Parameters<typeof wanted>): Promise<string[]> =>
  [...(await wanted(...given)).names.keys()].sort();

const edge = (...hosts: string[]) => ({ hostports: hosts.map((host) => `${host}:443`) });
const domain = (name: string, policy: object | null = null, certificate_id = '') => ({
  domain: name,
  certificate_id,
  certificate_management_policy: policy,
});
const certificate = (dns_names: string[], not_after = '2027-01-01T00:00:00Z', usages = ['server_auth']) => ({
  subject_alternative_names: { dns_names, ips: [] },
  extended_key_usages: usages,
  not_before: '2026-01-01T00:00:00Z',
  not_after,
});

suite('wanted names', () => {
  test('are the public hosts of edges, reserved domains and own names', async () => {
    const given = {
      https_edge: [edge('a.example.com', 'b.localhost'), edge('10.0.0.1'), { hostports: null }],
      reserved_domain: [domain('c.example.com'), domain('d.internal')],
    };
    const ownNames = ['api.example.com', 'localhost'];
    assert.deepEqual(await names(given, { ownNames }), ['a.example.com', 'api.example.com', 'c.example.com']);
  });

  test('include wildcards only with a DNS hook', async () => {
    const given = { https_edge: [edge('*.example.com', 'example.com')] };
    assert.deepEqual(await names(given), ['example.com']);
    assert.deepEqual(await names(given, { hasDns: true }), ['*.example.com', 'example.com']);
  });

  test('leave out names with an uploaded certificate that is valid now', async () => {
    const https_edge = [edge('a.example.com', 'b.example.com', 'c.b.example.com')];
    assert.deepEqual(await names({ https_edge, tls_certificate: [certificate(['A.example.com'])] }), [
      'b.example.com',
      'c.b.example.com',
    ]);
    assert.deepEqual(await names({ https_edge, tls_certificate: [certificate(['*.example.com'])] }), [
      'c.b.example.com',
    ]);
    const expired = certificate(['*.example.com'], '2026-11-15T11:00:00Z');
    assert.equal((await names({ https_edge, tls_certificate: [expired] })).length, 3);
    const forClients = certificate(['*.example.com'], undefined, ['client_auth']);
    assert.equal((await names({ https_edge, tls_certificate: [forClients] })).length, 3);
  });

  test('leave out a reserved domain with a certificate of its own, whatever names that has', async () => {
    const tls_certificate = [certificate(['other.example.com'])];
    const reserved_domain = [domain('a.example.com', null, 'tls_certificate_0')];
    assert.deepEqual(await names({ tls_certificate, reserved_domain }), []);
  });

  test('change when an uploaded certificate expires', async () => {
    const https_edge = [edge('a.example.com', 'b.example.com')];
    const tls_certificate = [
      certificate(['a.example.com'], '2026-12-24T00:00:00Z'),
      certificate(['b.example.com'], '2026-12-01T00:00:00Z'),
    ];
    assert.equal((await wanted({ https_edge, tls_certificate })).changesAtMs, Date.parse('2026-12-01T00:00:00Z'));
    assert.equal((await wanted({ https_edge })).changesAtMs, null);
  });

  test('follow the policy of the reserved domain, or of the wildcard above it', async () => {
    const internal = { authority: 'internal', private_key_type: 'ecdsa' };
    const rsa = { authority: 'letsencrypt', private_key_type: 'rsa' };
    const https_edge = [edge('a.example.com', 'b.example.com', 'example.com')];
    const reserved_domain = [domain('*.example.com', internal), domain('b.example.com', rsa)];
    const found = (await wanted({ https_edge, reserved_domain })).names;
    assert.deepEqual([...found.keys()].sort(), ['b.example.com', 'example.com']);
    assert.equal(found.get('b.example.com')?.keyType, 'rsa');
    assert.equal(found.get('example.com')?.keyType, 'ecdsa');
  });
});

test('a public name has a dot, is no address and has no private suffix', () => {
  for (const name of ['example.com', 'a.example.com', '*.example.com', 'xn--bcher-kva.example', 'local.example.com']) {
    assert.equal(isPublicName(name), true, name);
  }
  const others = [
    'localhost',
    'app.localhost',
    '*.localhost',
    'example',
    '*.example',
    'printer.local',
    'db.internal',
    'a.test',
    'a.invalid',
    'home.arpa',
    'nas.home.arpa',
    'abc.onion',
    '192.0.2.7',
    '2001:db8::1',
    '',
    '.',
    'a..b',
    'a.b.',
    '*.*.example.com',
    'a b.example.com',
    'my_app.example.com',
  ];
  for (const name of others) assert.equal(isPublicName(name), false, name);
});
