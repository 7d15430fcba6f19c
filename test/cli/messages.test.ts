import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { createServer } from 'node:tls';
import { issue } from '../edge/tls/test-authority.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { listening } from './doctor-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });
const COMMANDS = [['status'], ['export'], ['api', 'https-edges', 'list']];

suite('the wrong scheme in --api-url', () => {
  test('https to a port without TLS says to use http', async () => {
    const { host } = new URL(world.baseUrl);
    for (const command of COMMANDS) {
      const { code, stderr } = await runCommand([...command, '--api-url', `https://${host}`], {
        env: operatorEnv(world),
      });
      assert.equal(code, 3, stderr);
      assert.match(stderr, new RegExp(`cannot reach https://${host}: it answers without TLS: use http://${host}\\n`));
      assert.doesNotMatch(stderr, /SSL|EPROTO|\.c:\d+/);
    }
  });

  test('http to a port with TLS says to use https', async (t) => {
    const { certificatePem: cert, keyPem: key } = await issue({ commonName: 'localhost', dnsNames: ['localhost'] });
    const address = await listening(t, createServer({ cert, key }));
    for (const command of COMMANDS) {
      const url = `http://${address}`;
      const { code, stderr } = await runCommand([...command, '--api-url', url], { env: operatorEnv(world) });
      assert.equal(code, 3, stderr);
      assert.match(stderr, new RegExp(`if it has TLS, use https://${address}\\n`));
    }
  });
});

test('commands name the address when the API of another program answers', async (t) => {
  const json = { 'content-type': 'application/json' };
  const other = createHttpServer((_request, response) =>
    response.writeHead(200, json).end('{"status":"ok","items":[]}'),
  );
  const address = await listening(t, other);
  for (const command of [...COMMANDS, ['requests'], ['search', 'x']]) {
    const { code, stderr } = await runCommand([...command, '--api-url', `http://${address}`], {
      env: operatorEnv(world),
    });
    assert.notEqual(code, 0, command.join(' '));
    assert.match(stderr, new RegExp(`http://${address} is not the API of a Postern server`), command.join(' '));
  }
});

test('an address where nothing listens says so, and what to do', async () => {
  const url = 'http://127.0.0.1:9';
  for (const command of [...COMMANDS, ['requests'], ['search', 'x']]) {
    const { code, stderr } = await runCommand([...command, '--api-url', url], { env: operatorEnv(world) });
    assert.equal(code, 3, stderr);
    assert.equal(
      stderr,
      'postern: cannot reach http://127.0.0.1:9: nothing listens there. Start the server, or name another address with --api-url or POSTERN_CLI_API_URL\n',
      command.join(' '),
    );
  }
  const health = await runCommand(['health', '--api-listen', '127.0.0.1:9'], { env: {} });
  assert.equal(health.code, 1);
  assert.match(
    health.stderr,
    /^postern: cannot reach 127\.0\.0\.1:9: nothing listens there\. Start the server, or correct api_listen$/m,
  );
});

test('without a server and without a key, the first words are that no server was started here', async () => {
  const folder = await tempDir({ after });
  const none = join(folder, 'none');
  const { code, stderr } = await runCommand(['status'], { env: { POSTERN_DATA_DIR: none } });
  assert.equal(code, 2, stderr);
  assert.ok(stderr.startsWith(`postern: no server was started with the data directory ${none}`), stderr);
  assert.match(stderr, /Start it with "postern server"/);
});

test('an address whose name does not resolve says so, without a code of the system', async () => {
  for (const command of COMMANDS) {
    const { code, stderr } = await runCommand([...command, '--api-url', 'https://nowhere.invalid'], {
      env: operatorEnv(world),
    });
    assert.equal(code, 3, stderr);
    assert.match(
      stderr,
      /cannot reach https:\/\/nowhere\.invalid: its name (?:does not resolve|could not be resolved)/,
    );
    assert.doesNotMatch(stderr, /getaddrinfo|ENOTFOUND|EAI_AGAIN/);
  }
});

test('a page of another program is reported with the address, and without advice about names', async (t) => {
  const other = createHttpServer((_request, response) => response.writeHead(404).end('<html>not here</html>'));
  const address = await listening(t, other);
  for (const command of COMMANDS) {
    const { code, stderr } = await runCommand([...command, '--api-url', `http://${address}`], {
      env: operatorEnv(world),
    });
    assert.equal(code, 1, stderr);
    assert.ok(stderr.includes(`http://${address} responded with status 404, but not as the API of a Postern server`));
    assert.match(stderr, /Check the address: --api-url or POSTERN_CLI_API_URL names the server/);
    assert.doesNotMatch(stderr, /written exactly/);
  }
});

suite('a key that is rejected', () => {
  test('the message begins with the address, and names the flag or the file that the key came from', async () => {
    const folder = await tempDir({ after });
    const file = join(folder, 'first-api-key');
    await writeFile(file, 'x'.repeat(40));
    for (const command of COMMANDS)
      for (const [source, args, env] of [
        [`--api-key-file ${file}`, ['--api-key-file', file], {}],
        [`the file ${file}`, [], { POSTERN_DATA_DIR: folder }],
      ] as const) {
        const { code, stderr } = await runCommand([...command, '--api-url', world.baseUrl, ...args], { env });
        assert.equal(code, 1, stderr);
        assert.ok(stderr.startsWith(`postern: ${world.baseUrl}: `), stderr);
        assert.ok(stderr.includes(`the key came from ${source}; set another with --api-key-file`), stderr);
      }
  });

  test('the message names where the key came from, and how to set another', async () => {
    for (const command of COMMANDS) {
      const { code, stderr } = await runCommand(command, {
        env: { POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: 'x'.repeat(40) },
      });
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /the key came from POSTERN_CLI_API_KEY; set another with --api-key-file or POSTERN_CLI_API_KEY/,
      );
    }
  });

  test('a token of another kind is named, and where API keys come from', async () => {
    const credential = await world.api('POST', '/credentials', {});
    const account = await world.api('POST', '/service_accounts', { name: 'robot' });
    const token = await world.api('POST', '/service_account_tokens', { service_account_id: account.body.id });
    for (const [value, kind] of [
      [credential.body.token, 'the token of an agent'],
      [token.body.token, 'the token of a service account'],
    ]) {
      assert.equal(typeof value, 'string', JSON.stringify([credential.body, account.body, token.body]));
      const { stderr } = await runCommand(['status'], {
        env: { POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: value },
      });
      assert.match(stderr, new RegExp(`this is ${kind}, not an API key: .*postern api api-keys create`));
      assert.ok(!stderr.includes(value));
    }
  });
});

test('a date of a guest link names the form that works', async () => {
  const { code, stderr } = await runCommand(
    ['api', 'guest-links', 'create', '--host', 'a.example.com', '--expires-at', 'tomorrow'],
    { env: operatorEnv(world) },
  );
  assert.equal(code, 1);
  assert.match(stderr, /expires_at must be a date and a time .*such as 20\d\d-\d\d-\d\dT18:00:00Z/);
});
