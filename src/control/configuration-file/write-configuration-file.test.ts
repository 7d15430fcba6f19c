import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { validateConfiguration } from './read-configuration.ts';
import { writeConfigurationFile } from './write-configuration-file.ts';

const id = (prefix: string, number: number): string => `${prefix}_2z${String(number).padStart(25, '0')}`;
const ref = (prefix: string, number: number) => ({ id: id(prefix, number), uri: `https://api/${id(prefix, number)}` });
const read = { uri: 'https://api/x', created_at: '2026-11-01T00:00:00Z', description: '', metadata: '' };

const documents = {
  https_edges: [
    {
      ...read,
      id: id('edghts', 1),
      description: 'shop',
      hostports: ['shop.example.com:443'],
      tls_termination: { enabled: true, min_version: '1.3', terminate_at: 'edge' },
      mutual_tls: null,
      routes: [
        {
          ...read,
          id: id('edghtsrt', 3),
          match_type: 'exact_path',
          match: '/',
          compression: { enabled: true },
        },
        {
          ...read,
          id: id('edghtsrt', 2),
          edge_id: id('edghts', 1),
          match_type: 'path_prefix',
          match: '/',
          backend: { enabled: true, backend: ref('bkdsc', 3) },
          oidc: { enabled: true, issuer: 'https://id.example.com', client_id: 'c', client_secret: 'planted', odd: 1 },
          ip_restriction: { enabled: true, ip_policies: [ref('ipp', 5)] },
          access: { enabled: true, enforce: true, allow: [{ service_accounts: [id('sa', 9)], emails: ['a@b.c'] }] },
        },
      ],
    },
    { ...read, id: id('edghts', 6), hostports: [], routes: [] },
    { ...read, id: id('edghts', 7), description: '__proto__', hostports: ['a.b:443', 'c.d:8443'], routes: [] },
  ],
  static_backends: [
    { ...read, id: id('bkdsc', 4), description: '__proto__', address: 'b:1', tls: { enabled: true } },
    { ...read, id: id('bkdsc', 3), description: 'web', address: 'a:1', tls: { enabled: false } },
    { ...read, id: id('bkdsc', 8), description: 'web 2', address: 'a:1', tls: { enabled: false } },
  ],
  weighted_backends: [
    { ...read, id: id('bkdwd', 5), description: 'web', backends: { [id('bkdsc', 3)]: 4, [id('bkdsc', 4)]: 1 } },
  ],
  ip_policies: [{ ...read, id: id('ipp', 5), description: 'office' }],
  ip_policy_rules: [{ ...read, id: id('ipr', 1), cidr: '10.0.0.0/8', action: 'deny', ip_policy: ref('ipp', 5) }],
  service_accounts: [{ ...read, id: id('sa', 9), name: 'nightly', active: true }],
  tls_certificates: [
    {
      ...read,
      id: id('cert', 1),
      certificate_pem: 'read\nfrom file\n',
      certificate_file: '/c.pem',
      private_key_file: '/k.pem',
    },
    {
      ...read,
      id: id('cert', 2),
      description: 'up',
      certificate_pem: 'A\nB\n',
      certificate_file: '',
      private_key_file: '',
    },
  ],
  event_destinations: [
    {
      ...read,
      id: id('ed', 1),
      target: {
        webhook: { url: 'https://h', secret: '********', previous_secret: '', headers: { 'x-key': '********' } },
        file: null,
      },
      status: 'active',
    },
  ],
  event_subscriptions: [
    {
      ...read,
      id: id('esb', 1),
      description: 'all',
      sources: [{ type: 'ip_policy_created.v0', uri: 'x' }],
      destinations: [ref('ed', 1)],
    },
  ],
};

const EXPECTED = `# yaml-language-server: $schema=postern.schema.json
# made by a test
version: 1
owner: team

https_edges:
  shop.example.com:
    description: shop
    tls_termination:
      min_version: "1.3"
    routes:
      /:
        ip_restriction:
          ip_policies: [office]
        oidc:
          issuer: https://id.example.com
          client_id: c
          client_secret: "\${env:SHOP_EXAMPLE_COM_OIDC_CLIENT_SECRET}"
        access:
          allow:
            - service_accounts: [nightly]
              emails: [a@b.c]
        backend:
          backend: web
      / 2:
        match_type: exact_path
        match: /
        compression: {}
  https_edge: {}
  a.b:
    description: __proto__
    hostports: [a.b:443, c.d:8443]

backends:
  web:
    kind: static
    address: a:1
  __proto__:
    kind: static
    address: b:1
    tls:
      enabled: true
  web 3:
    kind: weighted
    description: web
    backends:
      web: 4
      __proto__: 1
  web 2:
    kind: static
    address: a:1

tls_certificates:
  tls_certificate:
    certificate_file: /c.pem
    private_key_file: /k.pem
  up:
    certificate_pem: |
      A
      B
    private_key_pem: "\${env:UP_PRIVATE_KEY_PEM}"

ip_policies:
  office:
    rules:
      "10.0.0.0/8":
        action: deny

event_subscriptions:
  all:
    sources:
      - type: ip_policy_created.v0
    destinations: [event_destination]

event_destinations:
  event_destination:
    target:
      webhook:
        url: https://h
        secret: "\${env:EVENT_DESTINATION_WEBHOOK_SECRET}"
        headers:
          x-key: "\${env:EVENT_DESTINATION_WEBHOOK_HEADERS_X_KEY}"

service_accounts:
  nightly: {}
`;

suite('the written file', () => {
  const written = writeConfigurationFile(documents, { owner: 'team', header: ['made by\na test'] });

  test('has names instead of ids, numbered in the order of ids, and no defaults', () => {
    assert.equal(written.text, EXPECTED);
  });

  test('is valid', () => {
    assert.deepEqual(validateConfiguration([{ name: 'postern-sites.yaml', text: written.text }]), []);
  });

  test('has no secret, and reports where each of them belongs', () => {
    assert.doesNotMatch(JSON.stringify(written), /planted/);
    assert.deepEqual(written.secrets[0], {
      place: 'https_edges > shop.example.com > routes > / > oidc > client_secret',
      reference: '$' + '{env:SHOP_EXAMPLE_COM_OIDC_CLIENT_SECRET}',
    });
    assert.equal(written.secrets.length, 4);
  });

  test('reports fields that Postern does not have, and references to what is not in the file', () => {
    const { omitted } = writeConfigurationFile({ ...documents, ip_policies: [], ip_policy_rules: [] });
    assert.deepEqual(omitted, [
      {
        place: 'https_edges > shop.example.com > routes > / > oidc > odd',
        why: 'Postern has no such field',
      },
      {
        place: 'https_edges > shop.example.com > routes > / > ip_restriction > ip_policies',
        why: `refers to ${id('ipp', 5)}, which is not in the file`,
      },
    ]);
  });
});
