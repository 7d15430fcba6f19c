import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { TunnelCommandName } from '../../src/app/cli/agent/agent-syntax.ts';
import { createConfigCommand } from '../../src/app/cli/agent/config-command.ts';
import { createStartCommand } from '../../src/app/cli/agent/start-command.ts';
import { createTunnelCommand } from '../../src/app/cli/agent/tunnel-command.ts';
import { createTextSource } from '../../src/app/cli/api/text-source.ts';
import { rootPem } from './agent-certificate.ts';
import { AgentWorld, type AgentWorldOptions } from './agent-world.ts';

/** The options that the agent would be started with. */
async function optionsOf(args: readonly string[], around: AgentWorldOptions = {}, stdin = '') {
  const world = new AgentWorld(around);
  const [name = '', ...rest] = args;
  const source = createTextSource(() => Promise.resolve(stdin));
  const command =
    name === 'start'
      ? createStartCommand(world.ports, source)
      : createTunnelCommand(name as TunnelCommandName, world.ports, source);
  const done = world.run(command, rest);
  const agent = await Promise.race([world.agent(), done.then(() => assert.fail('it ended'))]);
  await agent.close();
  assert.equal(await done, 0);
  const { onEvent: _, observe: __, agentVersion: ___, ...options } = agent.options;
  return { options, inspector: world.inspectors[0] };
}

async function refusal(args: readonly string[], around: AgentWorldOptions = {}, stdin = ''): Promise<string> {
  const world = new AgentWorld(around);
  const [name = '', ...rest] = args;
  const source = createTextSource(() => Promise.resolve(stdin));
  const command =
    name === 'start'
      ? createStartCommand(world.ports, source)
      : name === 'config'
        ? createConfigCommand(world.ports)
        : createTunnelCommand(name as TunnelCommandName, world.ports, source);
  const started = world.agent().then(() => assert.fail(`it was not refused: ${args.join(' ')}`));
  const error = await Promise.race([world.run(command, rest), started]).then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown as Error & { code: string },
  );
  assert.equal(world.agents.length, 0);
  return `${error.code}: ${error.message}`;
}

test('each command becomes one tunnel', async () => {
  const { options } = await optionsOf(['http', '3000']);
  assert.deepEqual(options, {
    serverAddr: '127.0.0.1:7444',
    authtoken: 'token',
    tunnels: [{ name: 'http', proto: 'https', addr: '3000', inspect: true }],
  });
  const plain = await optionsOf(['http', 'localhost:3000', '--scheme', 'http', '--domain=app.example.com']);
  assert.deepEqual(plain.options.tunnels, [
    { name: 'http', proto: 'http', addr: 'localhost:3000', inspect: true, domain: 'app.example.com' },
  ]);
  const tcp = await optionsOf(['tcp', '--port', '20022', '22', '--name', 'ssh', '--deny-cidr', '10.0.0.0/8']);
  assert.deepEqual(tcp.options.tunnels, [
    {
      name: 'ssh',
      proto: 'tcp',
      addr: '22',
      inspect: true,
      port: 20022,
      modules: { ip_restriction: { allow: [], deny: ['10.0.0.0/8'] } },
    },
  ]);
  assert.equal(tcp.inspector, undefined, 'there is nothing to inspect in bytes');
  const tls = await optionsOf(['tls', '--domain', 'mail.example.com', '993']);
  assert.deepEqual(tls.options.tunnels, [
    { name: 'tls', proto: 'tls', addr: '993', inspect: true, domain: 'mail.example.com' },
  ]);
  const labelled = await optionsOf(['tunnel', '--label', 'app=web', '--label=zone=a=b', 'http://10.0.0.7:80']);
  assert.deepEqual(labelled.options.tunnels, [
    { name: 'tunnel', labels: { app: 'web', zone: 'a=b' }, addr: 'http://10.0.0.7:80', inspect: true },
  ]);
});

test('passes protection, host header, metadata and the rest to the agent', async () => {
  const files = {
    'clients.pem': `a comment\n${rootPem}\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
  };
  const { options } = await optionsOf(
    [
      ...['http', 'https://localhost:8443', '--metadata', 'mine', '--host-header', 'rewrite', '--compression'],
      ...['--oidc-issuer', 'https://idp.example.com', '--oidc-client-id', 'app', '--oidc-client-secret', '@-'],
      ...['--oidc-scope', 'email', '--oidc-scope', 'groups', '--allow-cidr', '192.0.2.0/24,10.0.0.0/8'],
      ...['--mutual-tls-ca', 'clients.pem', '--upstream-insecure', '--no-remote-management'],
    ],
    { files },
    'a secret\n',
  );
  assert.equal(options.metadata, 'mine');
  assert.equal(options.remoteManagement, false);
  assert.deepEqual(options.tunnels, [
    {
      name: 'http',
      proto: 'https',
      addr: 'https://localhost:8443',
      inspect: true,
      metadata: 'mine',
      hostHeader: 'rewrite',
      modules: {
        oidc: {
          issuer: 'https://idp.example.com',
          client_id: 'app',
          client_secret: 'a secret',
          scopes: ['email', 'groups'],
        },
        ip_restriction: { allow: ['192.0.2.0/24', '10.0.0.0/8'], deny: [] },
        mutual_tls: { ca_pems: [rootPem] },
        compression: {},
      },
      upstreamTls: { insecureSkipVerify: true },
    },
  ]);
});

test('asks for a login at the identity host of the server, of which the agent knows nothing', async () => {
  const { options } = await optionsOf(['http', '3000', '--login', '--allow-groups', 'ops,support'], {});
  const modules = { oidc: {}, access: { allow_groups: ['ops', 'support'] } };
  assert.deepEqual(options.tunnels[0]?.modules, modules);
});

test('flags override variables, which override the file', async () => {
  const files = {
    'postern-agent.yaml':
      'version: 2\nauthtoken: from-file\nserver_addr: file.example.com:1\nmetadata: file\ninspect_addr: 127.0.0.1:5\n',
  };
  const seen = async (args: readonly string[], env: Readonly<Record<string, string>>) => {
    const { options, inspector } = await optionsOf(['http', '3000', ...args], { files, env }, 'from-stdin\n');
    return [options.authtoken, options.serverAddr, options.metadata, inspector?.listen?.port];
  };
  assert.deepEqual(await seen([], {}), ['from-file', 'file.example.com:1', 'file', 5]);
  const env = { POSTERN_AUTHTOKEN: 'from-env', POSTERN_SERVER_ADDR: 'env.example.com:2' };
  assert.deepEqual(await seen([], env), ['from-env', 'env.example.com:2', 'file', 5]);
  const flags = ['--authtoken', 'from-flag', '--server-addr', 'flag.example.com:3', '--metadata', 'flag'];
  assert.deepEqual(await seen([...flags, '--inspect-addr', '127.0.0.1:6'], env), [
    'from-flag',
    'flag.example.com:3',
    'flag',
    6,
  ]);
  const [token, , , port] = await seen(['--authtoken-file', '-', '--no-inspect'], env);
  assert.deepEqual([token, port], ['from-stdin', undefined]);
});

test('finds token and CA of a server on this machine in its data directory', async () => {
  const files = {
    'data/first-authtoken': 'first-token\n',
    'data/internal-ca/domain-localhost/certificate.pem': rootPem,
    'data/internal-ca/other/certificate.pem': 'broken',
  };
  const env = { POSTERN_DATA_DIR: 'data' };
  const { options } = await optionsOf(['http', '3000'], { files, env });
  assert.equal(options.authtoken, 'first-token');
  assert.equal(options.ca?.at(-1), rootPem);
  assert.ok((options.ca?.length ?? 0) > 1, 'the roots of the system are still trusted');

  const remote = await optionsOf(['http', '3000', '--server-addr', 'gw.example.com:7444', '--authtoken', 'x'], {
    files,
    env,
  });
  assert.equal(remote.options.ca, undefined);
  const message = await refusal(['http', '3000', '--server-addr', 'gw.example.com:7444'], { files, env });
  assert.match(message, /^ERR_POSTERN_USAGE: no agent token: .*POSTERN_AUTHTOKEN/);

  const given = await optionsOf(['http', '3000', '--root-ca', 'own.pem'], {
    files: { ...files, 'own.pem': rootPem },
    env,
  });
  assert.deepEqual(given.options.ca, [rootPem]);
});

test('rejects contradictions before anything starts', async () => {
  const files = { 'empty.pem': 'nothing' };
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['http'], /requires the address of a service/],
    [['http', '1', '2'], /takes one address/],
    [['http', '70000'], /"70000" is invalid/],
    [['http', 'tcp://localhost:1'], /the scheme must be http, https or h2c/],
    [['tcp', 'http://localhost:1'], /forwards raw bytes/],
    [['tcp', '1', '--port', '0'], /--port must be a whole number from 1 to 65535/],
    [['tcp', '1', '--domain', 'a.b'], /unknown flag --domain/],
    [['http', '1', '--domain', '*.example.com'], /--domain must be a host name/],
    [['http', '1', '--domain', '*.example.com'], /at the server: postern edge '\*\.example\.com' --to BACKEND/],
    [['http', '1', '--domain', 'a.*.example.com'], /such as app\.example\.com$/],
    [['http', '1', '--basic-auth', 'ana:secret'], /--basic-auth needs a password of 8 to 128 characters$/],
    [['http', '1', '--basic-auth', 'long-enough'], /--basic-auth must be written as NAME:PASSWORD$/],
    [['http', '1', '--scheme', 'htp'], /--scheme must be one of https, http\. Did you mean "http"/],
    [['http', '1', '--allow-cidr', '10.0.0.1'], /--allow-cidr must be a CIDR range/],
    [['http', '1', '--oidc-client-id', 'x'], /--oidc-client-id requires --oidc-issuer/],
    [['http', '1', '--oidc-issuer', 'https://x'], /requires --oidc-client-id/],
    [['http', '1', '--login', '--oidc-issuer', 'https://x'], /--login and --oidc-issuer exclude each other/],
    [['http', '1', '--login', '--scheme', 'http'], /--login cannot be used with the scheme http/],
    [['tcp', '1', '--login'], /unknown flag --login/],
    [
      ['http', '1', '--scheme', 'http', '--mutual-tls-ca', 'empty.pem'],
      /--mutual-tls-ca cannot be used with the scheme http/,
    ],
    [
      ['http', '1', '--scheme', 'http', '--oidc-issuer', 'https://x', '--oidc-client-id', 'y'],
      /--oidc-issuer cannot be used with the scheme http/,
    ],
    [['http', '1', '--mutual-tls-ca', 'empty.pem'], /--mutual-tls-ca: the file empty.pem contains no PEM certificate/],
    [
      ['http', '1', '--mutual-tls-ca', 'missing.pem'],
      /--mutual-tls-ca: cannot read the file missing.pem: it does not exist. Check the path$/,
    ],
    [['http', '1', '--root-ca', 'empty.pem'], /--root-ca: the file empty.pem contains no PEM certificate/],
    [['http', '1', '--server-addr', 'nowhere'], /--server-addr must be host:port/],
    [['http', '1', '--authtoken', 'two words'], /--authtoken does not contain an authtoken/],
    [['http', '1', '--authtoken', 'a', '--authtoken-file', 'b'], /not both/],
    [['http', '1', '--no-inspect', '--inspect-addr', '127.0.0.1:1'], /cannot be used with --no-inspect/],
    [['http', '1', '--log-format', 'xml'], /--log-format must be one of text, json/],
    [['http', '1', '--metadata', 'x'.repeat(4097)], /--metadata must have at most 4096/],
    [['http', '1', '--host-header', 'a b'], /--host-header must be preserve/],
    [['http', '1', '--name', '\u001b[2J'], /--name must be/],
    [['tunnel', '1'], /requires a label/],
    [['tunnel', '1', '--label', 'app'], /--label must be NAME=VALUE/],
    [['tunnel', '1', '--label', 'a=1', '--label', 'a=2'], /two values for one name/],
    [['start'], /name the tunnels to start, or use --all/],
    [['start', '--all'], /no configuration file: .*postern-agent\.yaml or \/home\/me\/\.config\/postern\/agent\.yaml/],
    [['config', 'chekc'], /Did you mean "check"/],
    [['config', 'check'], /no configuration file/],
  ];
  for (const [args, expected] of cases) {
    const message = await refusal(args, { files });
    assert.match(message, /^ERR_POSTERN_USAGE: /, args.join(' '));
    assert.match(message, expected, args.join(' '));
  }
  assert.match(
    await refusal(['http', '1'], { env: { POSTERN_SERVER_ADDR: 'x' } }),
    /POSTERN_SERVER_ADDR must be host:port/,
  );
});

test('start opens the named tunnels, or all, with files relative to the configuration file', async () => {
  const files = {
    '/etc/p/agent.yml': `version: 2
tunnels:
  web: { proto: http, addr: 3000, schemes: [http, https] }
  api: { labels: [app=api], addr: 4000, inspect: false }
  mtls: { proto: http, addr: 1, mutual_tls_cas: [ca.pem], upstream_tls: { root_cas: [ca.pem], server_name: svc.internal } }
`,
    '/etc/p/ca.pem': rootPem,
  };
  const all = await optionsOf(['start', '--all', '--config', '/etc/p/agent.yml'], { files });
  assert.deepEqual(
    all.options.tunnels.map(({ name, proto, labels }) => [name, proto, labels]),
    [
      ['web (http)', 'http', undefined],
      ['web (https)', 'https', undefined],
      ['api', undefined, { app: 'api' }],
      ['mtls', 'https', undefined],
    ],
  );
  assert.deepEqual(all.options.tunnels[3]?.modules, { mutual_tls: { ca_pems: [rootPem] } });
  assert.deepEqual(all.options.tunnels[3]?.upstreamTls, {
    ca: [rootPem],
    servername: 'svc.internal',
    insecureSkipVerify: false,
  });
  const one = await optionsOf(['start', 'api', 'api', '--config', '/etc/p/agent.yml'], { files });
  assert.equal(one.options.tunnels.length, 1);
  assert.equal(one.inspector, undefined);
  assert.match(
    await refusal(['start', 'wbe', '--config', '/etc/p/agent.yml'], { files }),
    /Did you mean "web"\? Its tunnels: web, api, mtls/,
  );
  const missing = await refusal(['start', '--all', '--config', '/none.yml'], { files });
  assert.match(
    missing,
    /^ERR_POSTERN_AGENT_CONFIG: cannot read the configuration file \/none.yml: it does not exist. Check the path$/m,
  );
});

test('looks for the file in the usual places', async () => {
  const at = async (...paths: string[]) => {
    const files = Object.fromEntries(
      paths.map((path) => [path, `version: 2\nauthtoken: ${path.replaceAll(/\W/g, '')}\n`]),
    );
    const { options } = await optionsOf(['http', '1'], { files, env: { XDG_CONFIG_HOME: '/xdg' } });
    return options.authtoken;
  };
  const home = '/home/me/.config/postern/agent.yaml';
  assert.equal(await at(home), 'homemeconfigposternagentyaml');
  assert.equal(await at(home, '/xdg/postern/agent.yaml'), 'xdgposternagentyaml');
  assert.equal(await at(home, '/xdg/postern/agent.yaml', 'postern-agent.yaml'), 'posternagentyaml');
});

suite('a file that the current directory happens to have', () => {
  const FOREIGN = 'version: 2\nserver_addr: evil.example.com:1\ntunnels: { web: { proto: http, addr: 3000 } }\n';
  const OWN_TOKEN = `${FOREIGN}authtoken: from-file\n`;
  const ELSEWHERE = { 'postern-data/first-authtoken': 'first-token\n', token: 'from-elsewhere\n', 'ca.pem': rootPem };
  const SECRET = [
    '--oidc-issuer',
    'https://i.example.com',
    '--oidc-client-id',
    'x',
    '--oidc-client-secret',
    'my-secret',
  ];
  const refused: readonly (readonly [
    what: string,
    args: readonly string[],
    file: string,
    env?: Record<string, string>,
  ])[] = [
    ['POSTERN_AUTHTOKEN to its server', ['start', '--all'], FOREIGN, { POSTERN_AUTHTOKEN: 'mine' }],
    ['--authtoken to its server', ['http', '3000', '--authtoken', 'mine'], FOREIGN],
    ['--authtoken over its own token', ['http', '3000', '--authtoken', 'mine'], OWN_TOKEN],
    ['--authtoken-file to its server', ['http', '3000', '--authtoken-file', '-'], FOREIGN],
    [
      'first-authtoken to another loopback port',
      ['http', '3000'],
      FOREIGN.replace('evil.example.com:1', '127.0.0.1:9'),
    ],
    ['a client secret beside its own token', ['http', '3000', ...SECRET], OWN_TOKEN],
    ['a header beside its own token', ['http', '3000', '--request-header-add', 'authorization: x'], OWN_TOKEN],
    [
      "a token to the person's server, by its CA",
      ['http', '3000', '--server-addr', 'gw.example.com:1'],
      `${FOREIGN}root_cas: [ca.pem]\n`,
      { POSTERN_AUTHTOKEN: 'mine' },
    ],
    [
      'a token to the default server, by its CA',
      ['http', '3000'],
      'version: 2\nroot_cas: [ca.pem]\n',
      { POSTERN_AUTHTOKEN: 'mine' },
    ],
  ];
  for (const [what, args, file, env = {}] of refused) {
    test(`does not direct ${what}`, async () => {
      const files = { ...ELSEWHERE, 'postern-agent.yaml': file };
      const message = await refusal(args, { files, env }, 'from-stdin');
      assert.match(message, /^ERR_POSTERN_USAGE: postern-agent\.yaml in this directory names the /);
      assert.match(message, /name it with --config postern-agent\.yaml/);
      assert.doesNotMatch(message, /mine|my-secret|from-stdin|first-token/);
    });
  }

  test('is used with its own token, and when the person names it or its server', async () => {
    const env = { POSTERN_AUTHTOKEN: 'mine' };
    const sent = async (args: readonly string[], file: string, variables: Record<string, string> = env) => {
      const files = { ...ELSEWHERE, 'postern-agent.yaml': file };
      const { options } = await optionsOf(args, { files, env: variables });
      return [options.serverAddr, options.authtoken];
    };
    const evil = 'evil.example.com:1';
    assert.deepEqual(await sent(['start', 'web'], OWN_TOKEN, {}), [evil, 'from-file']);
    assert.deepEqual(await sent(['start', 'web', '--config', 'postern-agent.yaml'], FOREIGN), [evil, 'mine']);
    assert.deepEqual(await sent(['http', '1', '--server-addr', evil], FOREIGN), [evil, 'mine']);
    assert.deepEqual(await sent(['http', '1'], FOREIGN, { ...env, POSTERN_SERVER_ADDR: evil }), [evil, 'mine']);
    const standard = FOREIGN.replace(evil, '127.0.0.1:7444');
    assert.deepEqual(await sent(['http', '1'], standard), ['127.0.0.1:7444', 'mine']);
    assert.deepEqual(await sent(['http', '1'], standard, {}), ['127.0.0.1:7444', 'first-token']);
  });

  test("is not confused with the user's own file", async () => {
    const files = { '/home/me/.config/postern/agent.yaml': FOREIGN };
    const { options } = await optionsOf(['start', 'web'], { files, env: { POSTERN_AUTHTOKEN: 'mine' } });
    assert.deepEqual([options.serverAddr, options.authtoken], ['evil.example.com:1', 'mine']);
  });

  test('gets a secret after the person agreed on the terminal', async () => {
    const files = { 'postern-agent.yaml': FOREIGN };
    const asked: string[] = [];
    const answer = (text: string) => async (question: string) => {
      asked.push(question);
      return text;
    };
    const env = { POSTERN_AUTHTOKEN: 'mine' };
    const { options } = await optionsOf(['http', '3000'], { files, env, ask: answer('y') });
    assert.equal(options.authtoken, 'mine');
    assert.match(await refusal(['http', '3000'], { files, env, ask: answer('') }), /--config postern-agent\.yaml/);
    assert.match(asked.join(), /names the server evil\.example\.com:1\. Send it the secret of POSTERN_AUTHTOKEN\?/);
  });
});

suite('a data directory that the current directory happens to have', () => {
  const FOLDER = {
    'postern-data/first-authtoken': 'first-token\n',
    'postern-data/internal-ca/other/certificate.pem': rootPem,
  };
  const mine = { POSTERN_AUTHTOKEN: 'mine' };
  const own = { '/home/me/.config/postern/agent.yaml': 'version: 2\nauthtoken: mine\n' };
  const foreign = { 'postern-agent.yaml': 'version: 2\nauthtoken: theirs\n' };
  const refused: readonly (readonly [what: string, args: readonly string[], around: AgentWorldOptions])[] = [
    ['POSTERN_AUTHTOKEN', [], { files: FOLDER, env: mine }],
    ['--authtoken', ['--authtoken', 'mine'], { files: FOLDER }],
    ['--authtoken-file', ['--authtoken-file', '-'], { files: FOLDER }],
    ["the token of the user's own file", [], { files: { ...FOLDER, ...own } }],
    [
      'a header beside a foreign token',
      ['--request-header-add', 'authorization: mine'],
      { files: { ...FOLDER, ...foreign } },
    ],
    ['a token for another loopback address', ['--server-addr', '[::1]:9'], { files: FOLDER, env: mine }],
  ];
  for (const [what, args, around] of refused) {
    test(`does not vouch for the server that gets ${what}`, async () => {
      const message = await refusal(['http', '3000', ...args], { env: {}, ...around }, 'mine');
      assert.match(
        message,
        /^ERR_POSTERN_USAGE: postern-data in this directory has the CA .*POSTERN_DATA_DIR=postern-data/,
      );
      assert.doesNotMatch(message.replaceAll('/home/me', ''), /\bmine\b/);
    });
  }

  test('vouches with its own token, one beside it, and when the person names or confirms it', async () => {
    const cas = async (args: readonly string[], around: AgentWorldOptions) =>
      (await optionsOf(['http', '3000', ...args], { env: {}, ...around })).options.ca?.at(-1);
    assert.equal(await cas([], { files: FOLDER }), rootPem);
    assert.equal(await cas([], { files: { ...FOLDER, ...foreign } }), rootPem);
    assert.equal(await cas([], { files: FOLDER, env: { ...mine, POSTERN_DATA_DIR: 'postern-data' } }), rootPem);
    assert.equal(await cas([], { files: FOLDER, env: mine, ask: async () => 'y' }), rootPem);
    const named = { ...FOLDER, 'ca.pem': rootPem };
    assert.equal(await cas(['--root-ca', 'ca.pem'], { files: named, env: mine }), rootPem);
    assert.equal(await cas(['--server-addr', 'gw.example.com:1'], { files: FOLDER, env: mine }), undefined);
  });
});

suite('a folder instead of an address', () => {
  test('is relative to the working directory, with its options', async () => {
    const { options } = await optionsOf(['http', '--files', './site dir', '--fallback', 'index.html', '--listing']);
    const addr = pathToFileURL(resolve('site dir')).href;
    assert.deepEqual(options.tunnels, [
      { name: 'http', proto: 'https', addr, inspect: true, files: { listing: true, fallback: 'index.html' } },
    ]);
  });

  test('excludes an address, raw bytes, and options without a folder', async () => {
    assert.match(await refusal(['http', '3000', '--files', '.']), /either an address or a folder/);
    assert.match(
      await refusal(['http', '3000', '--fallback', 'index.html']),
      /--fallback belongs to a folder: add --files/,
    );
    assert.match(
      await refusal(['http', '--files', '.', '--fallback', '../x']),
      /--fallback must be the path of a file/,
    );
    assert.match(await refusal(['tcp', '--files', '.']), /unknown flag --files/);
    assert.match(await refusal(['http']), /requires the address of a service/);
  });
});
