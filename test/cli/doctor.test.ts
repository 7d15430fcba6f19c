import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { createServer as createTls } from 'node:tls';
import { issue } from '../edge/tls/test-authority.ts';
import { tempDir } from '../support/temp-dir.ts';
import { crl } from '../support/test-crl.ts';
import { DoctorWorld, deadAddress, listening, said } from './doctor-world.ts';
import { runCommand } from './run-command.ts';

const world = await DoctorWorld.open({ after });

test('says on a terminal what takes longer than a second', async (t) => {
  const slow = createHttp((_request, response) => setTimeout(() => response.end('{}'), 1_300));
  const address = await listening(t, slow);
  const env = { ...world.env, POSTERN_CLI_API_URL: `http://${address}` };
  const { stderr } = await runCommand(['doctor'], { env, columns: 80 });
  assert.match(stderr, /^postern: checking \S+/m);
  assert.doesNotMatch((await runCommand(['doctor'], { env })).stderr, /checking/, 'nobody reads a pipe at once');
});

test('a healthy server: exit code 0, each check fine', async () => {
  const { edge } = await world.site('fine.localhost', '*.fine.localhost');
  const { code, findings } = await world.examine();
  assert.deepEqual(
    findings.filter(({ level }) => level === 'problem' || level === 'warning'),
    [],
  );
  assert.equal(code, 0);
  for (const check of ['settings', 'api', 'api_key', 'listeners', 'handshakes', 'routes'])
    assert.ok(
      said({ code, findings }, check).every((line) => line.startsWith('ok: ')),
      check,
    );
  assert.equal(said({ code, findings }, 'handshakes', 'fine.localhost').length, 2);
  assert.equal(said({ code, findings }, 'listeners').length, 3);
  await world.api('DELETE', edge);
});

test('asks the server for the addresses of its listeners, which only its flags may name', async () => {
  const { POSTERN_EDGE_LISTEN: _1, POSTERN_EDGE_HTTP_LISTEN: _2, POSTERN_TUNNEL_LISTEN: _3, ...env } = world.env;
  const { stdout } = await runCommand(['doctor', '--json'], { env });
  const { findings } = JSON.parse(stdout);
  const lines = said({ code: 0, findings }, 'listeners');
  assert.equal(lines.length, 3);
  for (const line of lines) assert.match(line, /^hint: \w+ has port 0/);
});

suite('api and key', () => {
  test('reports an unknown key, and one that may not read edges', async () => {
    const wrong = await world.examine([], { POSTERN_CLI_API_KEY: 'x'.repeat(40) });
    assert.equal(wrong.code, 1);
    assert.match(said(wrong, 'api_key')[0] ?? '', /^problem: the key from POSTERN_CLI_API_KEY is rejected/);
    const { token } = await world.api('POST', '/api_keys', { scopes: ['endpoints:read'] });
    assert.match(
      said(await world.examine([], { POSTERN_CLI_API_KEY: token }), 'api_key')[0] ?? '',
      /^problem: .*edges:read/,
    );
  });

  test('reports what a key may not read, and checks the rest', async () => {
    const { token } = await world.api('POST', '/api_keys', { scopes: ['edges:read'] });
    const diagnosis = await world.examine([], { POSTERN_CLI_API_KEY: token });
    assert.equal(diagnosis.code, 0);
    for (const check of ['certificates', 'authorities', 'backends'])
      assert.match(said(diagnosis, check)[0] ?? '', /^warning: check failed: .*scope/, check);
  });

  test('finds the first key in the data directory, and skips the rest without one', async (t) => {
    const here = await world.examine([], { POSTERN_CLI_API_KEY: '' });
    assert.match(said(here, 'api_key')[0] ?? '', /^ok: the key from the server on this machine \(as local:/);
    const copy = await tempDir(t);
    await copyFile(join(world.dataDir, 'first-api-key'), join(copy, 'first-api-key'));
    const filed = await world.examine([], { POSTERN_DATA_DIR: copy, POSTERN_CLI_API_KEY: '' });
    assert.match(said(filed, 'api_key')[0] ?? '', /^ok: .*first-api-key/);
    const none = await world.examine([], { POSTERN_DATA_DIR: await tempDir(t), POSTERN_CLI_API_KEY: '' });
    assert.match(said(none, 'api_key')[0] ?? '', /^problem: no API key/);
    assert.equal(none.code, 1);
  });

  test('detects another program, and a wrong clock', async (t) => {
    const headers = () => ({
      'postern-operation-id': 'op_x',
      date: new Date(Date.now() + 3_600_000).toUTCString(),
    });
    const odd = await listening(
      t,
      createHttp((_request, response) => response.end('hello')),
    );
    const ahead = await listening(
      t,
      createHttp((_request, response) => response.writeHead(200, headers()).end('{"status":"ready"}')),
    );
    const other = await world.examine([], { POSTERN_CLI_API_URL: `http://${odd}` });
    assert.match(said(other, 'api')[0] ?? '', /^problem: .* is not a Postern API/);
    const late = await world.examine([], { POSTERN_CLI_API_URL: `http://${ahead}` });
    assert.match(said(late, 'api', 'clock')[0] ?? '', /^warning: the server's clock is (35\d\d|3600) seconds ahead/);
    assert.deepEqual(said(await world.examine(), 'api', 'clock'), []);
  });

  test('checks of a remote server only what can be known from here', async () => {
    // Loopback under another name, which nothing here can recognize.
    const [, port = ''] = /:(\d+)$/.exec(world.env['POSTERN_CLI_API_URL'] ?? '') ?? [];
    const diagnosis = await world.examine(['--api-url', `http://0.0.0.0:${port}`]);
    for (const check of ['data_dir', 'listeners']) assert.match(said(diagnosis, check)[0] ?? '', /^hint: /, check);
    assert.deepEqual(said(diagnosis, 'handshakes'), []);
    assert.match(said(diagnosis, 'api_key')[0] ?? '', /^ok: /);
  });
});

suite('listeners and handshakes', () => {
  test('reports a closed listener, and with port 0 that it cannot know', async () => {
    const address = await deadAddress();
    const closed = await world.examine(['--edge-http-listen', address]);
    assert.equal(closed.code, 1);
    assert.match(said(closed, 'listeners', address)[0] ?? '', /^problem: cannot connect to .*refused/);
    const unknown = await world.examine(['--edge-listen', '127.0.0.1:0']);
    assert.match(said(unknown, 'listeners', 'edge_listen')[0] ?? '', /^hint: .*port 0/);
    assert.equal(unknown.code, 0);
  });

  test("reports a host's certificate that is expired, for other hosts, or missing", async (t) => {
    const { edge } = await world.site('shown.localhost');
    const shown = async (fields: object) => {
      const { certificatePem: cert, keyPem: key } = await issue({ commonName: 'fake', usages: ['server'], ...fields });
      const address = await listening(t, createTls({ cert, key }));
      const diagnosis = await world.examine(['--edge-listen', address]);
      return said(diagnosis, 'handshakes', 'shown.localhost')[0] ?? '';
    };
    const dnsNames = ['shown.localhost'];
    assert.match(
      await shown({ dnsNames, fromDays: -9, toDays: -2 }),
      /^problem: .* a certificate from fake that expired on/,
    );
    assert.match(
      await shown({ dnsNames: ['other.localhost'] }),
      /^problem: .* a certificate for other hosts, from fake/,
    );
    assert.match(await shown({ dnsNames, toDays: 60 }), /^ok: .* expires on \S+ \(59 days\)/);
    const mute = await listening(
      t,
      createTcp((socket) => socket.destroy()),
    );
    const diagnosis = await world.examine(['--edge-listen', mute]);
    assert.match(said(diagnosis, 'handshakes', 'shown')[0] ?? '', /^problem: .*the handshake failed/);
    await world.api('DELETE', edge);
  });

  test('checks a host with mutual TLS too', async () => {
    const { edge } = await world.site('locked.localhost');
    const ca = await issue({ commonName: 'staff', isCa: true, toDays: 400 });
    const { id } = await world.api('POST', '/certificate_authorities', { ca_pem: ca.certificatePem });
    await world.api('PUT', `${edge}/mutual_tls`, { certificate_authority_ids: [id] });
    assert.match(said(await world.examine(), 'handshakes', 'locked')[0] ?? '', /^ok: /);
    await world.api('DELETE', edge);
    await world.api('DELETE', `/certificate_authorities/${id}`);
  });

  test('reports a host outside the domain whose certificate browsers do not trust', async () => {
    const { edge } = await world.site('shop.example');
    const diagnosis = await world.examine();
    assert.match(said(diagnosis, 'handshakes', 'shop.example')[0] ?? '', /^hint: .*internal CA/);
    assert.match(said(diagnosis, 'hosts', 'shop.example')[0] ?? '', /^hint: .*does not resolve/);
    await world.api('DELETE', edge);
  });
});

suite('certificates and authorities', () => {
  const upload = async (host: string, toDays: number): Promise<string> => {
    const issued = await issue({ commonName: host, usages: ['server'], dnsNames: [host], fromDays: -60, toDays });
    const body = { certificate_pem: issued.certificatePem, private_key_pem: issued.keyPem };
    return (await world.api('POST', '/tls_certificates', body)).id;
  };

  test('warns before a certificate expires, and reports an expired one until another takes over', async () => {
    const host = 'dated.localhost';
    const { edge } = await world.site(host);
    const soon = await upload(host, 12.5);
    const warned = await world.examine();
    assert.match(said(warned, 'certificates', soon)[0] ?? '', /^warning: .*\(12 days\)/);
    assert.match(said(warned, 'handshakes', host)[0] ?? '', /^warning: .*\(12 days\)/);
    assert.equal(warned.code, 0);
    await world.api('DELETE', `/tls_certificates/${soon}`);

    const ended = await upload(host, -1);
    const failed = await world.examine();
    assert.match(said(failed, 'certificates', ended)[0] ?? '', /^problem: .* expired on /);
    assert.equal(failed.code, 1);
    const next = await upload(host, 100);
    const repaired = await world.examine();
    assert.match(said(repaired, 'certificates', ended)[0] ?? '', /^hint: .*other certificates have replaced it/);
    assert.match(said(repaired, 'certificates', next)[0] ?? '', /^ok: /);
    assert.equal(repaired.code, 0);
    await world.api('DELETE', edge);
    assert.match(said(await world.examine(), 'certificates', next)[0] ?? '', /^hint: .*no host of any edge/);
    for (const id of [ended, next]) await world.api('DELETE', `/tls_certificates/${id}`);
  });

  test('reports an expired authority where it is used', async () => {
    const create = async (toDays: number) => {
      const ca = await issue({ commonName: `ca ${toDays}`, isCa: true, fromDays: -60, toDays });
      return (await world.api('POST', '/certificate_authorities', { ca_pem: ca.certificatePem })).id as string;
    };
    const [ended, soon, fine] = [await create(-1), await create(3.5), await create(100)];
    const unused = await world.examine();
    assert.match(said(unused, 'authorities', ended)[0] ?? '', /^warning: .*no edge uses it/);
    assert.match(said(unused, 'authorities', soon)[0] ?? '', /^warning: .*\(3 days\)/);
    assert.match(said(unused, 'authorities', fine)[0] ?? '', /^ok: /);
    assert.equal(unused.code, 0);
    const { edge } = await world.site('staff.localhost');
    await world.api('PUT', `${edge}/mutual_tls`, { certificate_authority_ids: [ended] });
    const used = await world.examine();
    assert.match(said(used, 'authorities', ended)[0] ?? '', /^problem: .*clients are rejected/);
    assert.equal(used.code, 1);
    await world.api('DELETE', edge);
    for (const id of [ended, soon, fine]) await world.api('DELETE', `/certificate_authorities/${id}`);
  });
});

suite('revocation lists', () => {
  test('reports those that are stale, missing or about to become stale', async () => {
    const ca = await issue({ commonName: 'listed', isCa: true, toDays: 100 });
    const day = 86_400_000;
    const current = (await crl({ issuer: ca, toMs: 9 * day })).pem;
    const { id } = await world.api('POST', '/certificate_authorities', {
      ca_pem: ca.certificatePem,
      crl_pem: current,
      crl_mode: 'hard',
    });
    const { edge } = await world.site('listed.localhost');
    await world.api('PUT', `${edge}/mutual_tls`, { certificate_authority_ids: [id] });
    const lines = async (fields: object) => {
      await world.api('PATCH', `/certificate_authorities/${id}`, fields);
      return said(await world.examine(), 'authorities', id).filter((line) => line.includes('revocation list'));
    };
    assert.match((await lines({})).join(), /^ok: .*is valid until/);
    assert.match(
      (await lines({ crl_pem: (await crl({ issuer: ca, toMs: day / 2 })).pem })).join(),
      /^warning: .*becomes stale at/,
    );
    const stale = (await crl({ issuer: ca, fromMs: -2 * day, toMs: -day })).pem;
    assert.match((await lines({ crl_pem: stale })).join(), /^problem: .*is stale: its clients are rejected/);
    assert.match((await lines({ crl_mode: 'soft' })).join(), /^warning: .*is stale: its clients are not checked/);
    assert.match((await lines({ crl_pem: '' })).join(), /^warning: .*is missing/);
    assert.deepEqual(await lines({ crl_mode: 'off' }), []);
    await world.api('DELETE', edge);
    await world.api('DELETE', `/certificate_authorities/${id}`);
  });
});

suite('routes and upstreams', () => {
  test('names an unprepared module with its route and reason', async () => {
    const { edge, route } = await world.site('broken.localhost');
    await world.api('PUT', `${route}/oidc`, { client_id: 'app' });
    const broken = await world.examine();
    assert.equal(broken.code, 1);
    const [line = '', ...more] = said(broken, 'routes', 'broken.localhost/');
    assert.match(line, /^problem: broken\.localhost\/ rejects all traffic: oidc: .+/);
    assert.deepEqual(more, []);
    await world.api('PUT', `${route}/oidc`, { enabled: false });
    assert.match(said(await world.examine(), 'routes', 'broken')[0] ?? '', /^ok: /);
    await world.api('DELETE', edge);
  });

  test('names the upstreams that the edge may not connect to', async () => {
    const { id } = await world.api('POST', '/backends/static', { address: '169.254.169.254:80' });
    const [line = ''] = said(await world.examine(), 'backends', id);
    assert.match(line, /^problem: .*the edge may not connect to 169\.254\.169\.254/);
    await world.api('DELETE', `/backends/static/${id}`);
  });

  test('reports a route without a backend, an edge without routes or hosts', async () => {
    const { edge, route } = await world.site('empty.localhost');
    await world.api('DELETE', `${route}/backend`);
    assert.match(said(await world.examine(), 'routes', 'empty.localhost/')[0] ?? '', /^warning: .*no backend/);
    await world.api('DELETE', route);
    await world.api('PATCH', edge, { hostports: [] });
    const lines = said(await world.examine(), 'routes');
    assert.equal(lines.filter((line) => /^hint: .*no (routes|hosts): /.test(line)).length, 2);
    await world.api('DELETE', edge);
  });

  test('warns about a provider where anybody can get an account', async () => {
    const { edge, route } = await world.site('public.localhost');
    const providers = async (issuer: string, enabled = true) => {
      await world.api('PUT', `${route}/oidc`, { issuer, client_id: 'app', enabled });
      return said(await world.examine(), 'routes', 'public.localhost/').filter((line) =>
        line.includes('admits anyone'),
      );
    };
    assert.match((await providers('https://accounts.google.com'))[0] ?? '', /^warning: .*account at Google/);
    assert.match((await providers('https://login.microsoftonline.com/common/v2.0'))[0] ?? '', /Microsoft/);
    assert.deepEqual(await providers('https://accounts.google.com', false), []);
    await world.api('PUT', `${route}/access`, { allow: [{ email_domains: ['example.com'] }] });
    assert.deepEqual(await providers('https://accounts.google.com'), [], 'access rules choose who enters');
    await world.api('PUT', `${route}/access`, { deny: [{ email_domains: ['example.com'] }] });
    assert.match((await providers('https://accounts.google.com'))[0] ?? '', /admits anyone/);
    await world.api('DELETE', `${route}/access`);
    assert.deepEqual(
      await providers('https://login.microsoftonline.com/6babcaad-604b-40ac-a9d7-9fd97c0b779f/v2.0'),
      [],
    );
    assert.deepEqual(await providers('https://accounts.example.com'), []);
    await world.api('DELETE', edge);
  });

  test('warns about an upstream that does not respond', async (t) => {
    const open = await listening(t);
    const dead = await deadAddress();
    const ids = await Promise.all(
      [open, dead].map(async (address) => (await world.api('POST', '/backends/static', { address })).id as string),
    );
    const diagnosis = await world.examine();
    assert.match(said(diagnosis, 'backends', open)[0] ?? '', /^ok: /);
    assert.match(said(diagnosis, 'backends', dead)[0] ?? '', /^warning: .*refused/);
    assert.equal(diagnosis.code, 0);
    for (const id of ids) await world.api('DELETE', `/backends/static/${id}`);
  });
});

suite('the text report', () => {
  test('aligns columns, puts advice below its finding and a summary at the end, and lets no escape sequence through', async () => {
    const { edge, route } = await world.site('text-that-takes-two-lines.localhost');
    await world.api('DELETE', `${route}/backend`);
    const { code, stdout } = await runCommand(['doctor'], { env: world.env, columns: 80 });
    assert.equal(code, 0);
    const lines = stdout.trimEnd().split('\n');
    assert.match(lines.at(-1) ?? '', /^no problems, 1 warning, \d+ hints?, \d+ ok$/);
    const start = /^ok +settings +/.exec(lines[0] ?? '')?.[0].length ?? 0;
    assert.ok(start > 10);
    for (const line of lines.slice(0, -2)) {
      assert.match(line.slice(0, start), / {2}$/, line);
      assert.match(line.slice(start), /^\S/, line);
    }
    const at = lines.findIndex((line) => line.startsWith('warning  routes'));
    // The finding takes two lines. A command stays on one, so that it can be copied.
    assert.match(lines[at + 2] ?? '', /^ +set one: postern api backend replace --edge edghts_.* --backend-id ID$/);
    await world.api('DELETE', edge);
  });

  test('breaks lines at words on a narrow terminal', async () => {
    const { stdout } = await runCommand(['doctor'], { env: world.env, columns: 60 });
    const lines = stdout.trimEnd().split('\n');
    // A word that is longer than its column, such as a path, stays whole.
    const hasGap = (line: string): boolean => /\S \S/.test(line);
    const tooLong = lines.filter((line) => line.length > 60 && hasGap(line) && !line.includes('postern '));
    assert.deepEqual(tooLong, []);
    assert.match(stdout, /^ {10,}\S/m);
  });

  test('summarizes many fine findings in one line', async () => {
    const hosts = Array.from({ length: 12 }, (_, index) => `many-${index}.localhost`);
    const { edge } = await world.site(...hosts);
    const { stdout } = await runCommand(['doctor'], { env: world.env });
    assert.match(stdout, /^ok +handshakes +12 are ok$/m);
    await world.api('DELETE', edge);
  });

  test('--help, wrong usage and completion', async () => {
    const help = await runCommand(['doctor', '--help']);
    assert.match(help.stdout, /^Usage: postern doctor/);
    assert.equal((await runCommand(['doctor', 'now'])).code, 2);
    assert.match((await runCommand(['doctor', '--api-key', 'x'])).stderr, /unknown flag --api-key/);
    const { stdout } = await runCommand(['completion', 'bash']);
    assert.match(stdout, /^ {4}"doctor"\) echo "--json --api-url .*--root-ca/m);
  });
});
