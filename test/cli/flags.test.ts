import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { tempDir } from '../support/temp-dir.ts';
import { runCommand } from './run-command.ts';

const EDGE = 'edghts_000000000000000000000000000';
const ROUTE = 'edghtsrt_000000000000000000000000000';

interface Dry {
  readonly line: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The request that would be sent; needs no server. */
async function dry(...args: string[]): Promise<Dry> {
  const { code, stdout, stderr } = await runCommand(['api', ...args, '--dry-run']);
  assert.equal(code, 0, stderr);
  const [head = '', ...body] = stdout.split('\n\n');
  const [line = '', ...headers] = head.trim().split('\n');
  const named = headers.map((header) => header.split(': ') as [string, string]);
  return { line, headers: Object.fromEntries(named), body: body.length === 0 ? null : JSON.parse(body.join('\n\n')) };
}

async function refusal(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['api', ...args]);
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  return stderr;
}

suite('fields', () => {
  test('lists are repeated or separated by commas, and cleared with an empty value', async () => {
    const wanted = { hostports: ['a.localhost:7443', 'b.localhost:7443'] };
    assert.deepEqual((await dry('https-edges', 'create', '--hostports', wanted.hostports.join(','))).body, wanted);
    const repeated = wanted.hostports.flatMap((hostport) => ['--hostports', hostport]);
    assert.deepEqual((await dry('https-edges', 'create', ...repeated)).body, wanted);
    assert.deepEqual(
      (await dry('https-edges', 'create', `--hostports=${JSON.stringify(wanted.hostports)}`)).body,
      wanted,
    );
    assert.deepEqual((await dry('https-edges', 'update', EDGE, '--hostports=')).body, { hostports: [] });
  });

  test('a list of objects with one required text can be a list of these texts', async () => {
    const { body } = await dry('event-subscriptions', 'create', '--sources', 'tunnel_start.v0,tunnel_stop.v0');
    assert.deepEqual(body, { sources: [{ type: 'tunnel_start.v0' }, { type: 'tunnel_stop.v0' }] });
  });

  test('maps are pairs, and a comma inside a value stays', async () => {
    const labels = await dry('tunnel-group-backends', 'create', '--labels', 'app=web,env=prod', '--labels', 'tier=1');
    assert.deepEqual(labels.body, { labels: { app: 'web', env: 'prod', tier: '1' } });
    const headers = await dry('http-response-backends', 'create', '--headers', 'vary=accept, origin,x-a=b=c');
    assert.deepEqual(headers.body, { headers: { vary: 'accept, origin', 'x-a': 'b=c' } });
    const weights = await dry('weighted-backends', 'create', '--backends', 'bkdsc_1=90,bkdsc_2=10');
    assert.deepEqual(weights.body, { backends: { bkdsc_1: 90, bkdsc_2: 10 } });
  });

  test('switches, numbers and texts have their type', async () => {
    const off = await dry(
      'oidc',
      'replace',
      EDGE,
      ROUTE,
      '--no-enabled',
      '--options-passthrough',
      '--maximum-duration',
      '60',
    );
    assert.deepEqual(off.body, { enabled: false, options_passthrough: true, maximum_duration: 60 });
    assert.deepEqual((await dry('compression', 'replace', EDGE, ROUTE, '--enabled=false')).body, { enabled: false });
    assert.deepEqual((await dry('http-response-backends', 'create', '--body', '123')).body, { body: '123' });
  });

  test('an object is JSON or its fields with dots, and both together', async () => {
    const wanted = { address: 'a:1', tls: { enabled: true } };
    assert.deepEqual((await dry('static-backends', 'create', '--address', 'a:1', '--tls.enabled')).body, wanted);
    assert.deepEqual(
      (await dry('static-backends', 'create', '--address', 'a:1', '--tls', '{"enabled":true}')).body,
      wanted,
    );
    const inline = ['--backend', '{"backend_id":"bkdsc_1"}', '--no-backend.enabled'];
    assert.deepEqual((await dry('routes', 'create', EDGE, ...inline)).body, {
      backend: { backend_id: 'bkdsc_1', enabled: false },
    });
  });

  test('a list of objects takes JSON, once or repeated, and refers to a file for the rest', async () => {
    const rules = ['access', 'replace', '--edge', EDGE, '--route', ROUTE];
    const whole = await dry(...rules, '--allow', '[{"guests":true},{"emails":["a@b.example"]}]', '--deny=');
    assert.deepEqual(whole.body, { allow: [{ guests: true }, { emails: ['a@b.example'] }], deny: [] });
    const single = await dry(...rules, '--allow', '{"guests":true}', '--allow', '{"emails":["a@b.example"]}');
    assert.deepEqual(single.body, { allow: [{ guests: true }, { emails: ['a@b.example'] }] });
    assert.match(await refusal(...rules, '--allow', 'ana@example.com'), /--allow takes JSON objects.*--from-file FILE/);
    assert.match(await refusal(...rules, '--allow', '{guests:true}'), /not valid JSON/);
    const { stdout } = await runCommand(['api', 'access', 'replace', '--help']);
    assert.match(stdout, /--allow JSON/);
  });

  test('--set takes any JSON, null included', async () => {
    const { body } = await dry('https-edges', 'update', EDGE, '--set', 'mutual_tls=null', '--set', 'a.b=[1]');
    assert.deepEqual(body, { mutual_tls: null, a: { b: [1] } });
  });

  test('a file supplies the fields, in JSON or YAML, and flags override it', async (t) => {
    const folder = await tempDir(t);
    const yaml = join(folder, 'static.yaml');
    await writeFile(yaml, 'address: a:1\ndescription: from the file\ntls: {enabled: true}\n');
    const { body } = await dry(
      'static-backends',
      'create',
      '--from-file',
      yaml,
      '--description',
      'mine',
      '--no-tls.enabled',
    );
    assert.deepEqual(body, { address: 'a:1', description: 'mine', tls: { enabled: false } });
    const json = join(folder, 'static.json');
    await writeFile(json, '{"address": "a:1"}');
    assert.deepEqual((await dry('static-backends', 'create', '--from-file', json)).body, { address: 'a:1' });
    await writeFile(json, '["a"]');
    assert.match(await refusal('static-backends', 'create', '--from-file', json), /must contain an object/);
    await writeFile(json, '{"address": "a:1",\n  "tls": hunter2: }');
    const broken = await refusal('static-backends', 'create', '--from-file', json);
    assert.match(broken, /neither JSON nor YAML: line 2, column \d+: /);
    assert.doesNotMatch(broken, /hunter2/);
  });

  test("@FILE is replaced by the file's text, without the line end of a single line", async (t) => {
    const folder = await tempDir(t);
    const pem = join(folder, 'ca.pem');
    await writeFile(pem, 'line one\nline two\n');
    assert.deepEqual((await dry('certificate-authorities', 'create', '--ca-pem', `@${pem}`)).body, {
      ca_pem: 'line one\nline two\n',
    });
    await writeFile(pem, 'one line\n');
    assert.deepEqual((await dry('https-edges', 'create', '--description', `@${pem}`)).body, {
      description: 'one line',
    });
    assert.deepEqual((await dry('https-edges', 'create', '--description', '@@home')).body, { description: '@home' });
    assert.match(
      await refusal('https-edges', 'create', '--description', `@${folder}/none`),
      /--description: cannot read/,
    );
  });
});

suite('ids', () => {
  const path = `/edges/https/${EDGE}/routes/${ROUTE}/oidc`;

  test('ids come by flag, by position, or some by each', async () => {
    for (const ids of [
      ['--edge', EDGE, '--route', ROUTE],
      ['--edge', EDGE, '--id', ROUTE],
      ['--edge', EDGE, ROUTE],
      [EDGE, ROUTE],
      ['--route', ROUTE, EDGE],
    ]) {
      assert.equal((await dry('oidc', 'get', ...ids)).line, `GET http://127.0.0.1:7080${path}`);
    }
    assert.match((await dry('mutual-tls', 'get', '--edge', EDGE)).line, /\/edges\/https\/edghts_0+\/mutual_tls$/);
    assert.match((await dry('event-sources', 'get', '--subscription', 'esb_1', 'a.v0')).line, /esb_1\/sources\/a\.v0$/);
  });

  test('rejects a missing, empty or climbing id before anything is sent', async () => {
    assert.match(await refusal('oidc', 'get', ROUTE), /--edge ID is required/);
    assert.match(await refusal('https-edges', 'delete'), /--id ID is required/);
    assert.match(await refusal('https-edges', 'delete', ''), /--id ID is required/);
    assert.match(await refusal('https-edges', 'delete', '..'), /--id ID is required/);
    assert.match(await refusal('https-edges', 'delete', EDGE, EDGE), /too many arguments/);
    assert.match((await dry('https-edges', 'get', 'a/../b')).line, /a%2F\.\.%2Fb$/);
  });
});

suite('misspelled words', () => {
  test('are rejected with a suggestion', async () => {
    assert.match(await refusal('https-edgs', 'list'), /unknown resource "https-edgs"\. Did you mean "https-edges"/);
    const words = ['edges', 'edge', 'edges-https', 'edges/https', '/edges/https', 'https_edges', 'https-edge', 'sites'];
    for (const word of words) assert.match(await refusal(word, 'list'), /Did you mean "https-edges"/, word);
    for (const word of ['edge-routes', 'edges/https/{edge_id}/routes'])
      assert.match(await refusal(word, 'list'), /Did you mean "https-edge-routes"/, word);
    assert.match(await refusal('certificates', 'list'), /Did you mean "tls-certificates"/);
    assert.match(await refusal('agent-tokens', 'list'), /Did you mean "credentials"/);
    assert.match(await refusal('https-edges', 'creat'), /Did you mean "create"/);
    assert.match(await refusal('https-edges', 'create', '--hostport', 'x'), /Did you mean "--hostports"/);
    assert.match(await refusal('https-edges', 'get', EDGE, '--if-match', '1'), /unknown flag --if-match/);
    assert.match(await refusal('https-edges'), /Usage: postern api https-edges VERB/);
    assert.match(await refusal(), /Usage: postern api RESOURCE VERB/);
    assert.match(await refusal('--json', 'https-edges', 'list'), /flags come last/);
  });

  test('a value that may be a secret is never repeated', async () => {
    for (const args of [
      ['--client-secert', 'hunter2'],
      ['--client-secert=hunter2'],
      ['--maximum-duration', 'hunter2'],
      ['--enabled=hunter2'],
      ['--set', 'hunter2'],
      ['--client-id', 'x', 'hunter2'],
      ['--api-key', 'hunter2'],
      ['--api-url', 'http://user:hunter2@host'],
      ['--client-secret', 'hunter2', '--client-secret', 'hunter2'],
    ]) {
      assert.doesNotMatch(await refusal('oidc', 'replace', EDGE, ROUTE, ...args), /hunter2/);
    }
    assert.match(await refusal('https-edges', 'list', '--api-key', 'x'), /--api-key-file FILE or POSTERN_CLI_API_KEY/);
  });

  test('a dry run masks the key and every secret field', async () => {
    const { headers, body } = await dry(
      'oidc',
      'replace',
      EDGE,
      ROUTE,
      '--client-secret',
      'hunter2',
      '--if-match',
      '7',
    );
    assert.deepEqual(body, { client_secret: '********' });
    assert.equal(headers['authorization'], 'Bearer ********');
    assert.equal(headers['if-match'], '"7"');
    const created = await dry('oidc', 'replace', EDGE, ROUTE, '--if-none-match', '*');
    assert.equal(created.headers['if-none-match'], '*');
    const changed = await dry('ip-policies', 'delete', 'ipp_1', '--if-none-match', '7');
    assert.equal(changed.headers['if-none-match'], '"7"');
  });
});
