import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { problemText } from '../../src/app/cli/problem-text.ts';
import { createDownCommand } from '../../src/app/cli/up/down-command.ts';
import { createUpCommand } from '../../src/app/cli/up/up-command.ts';
import { servicePorts } from '../../src/app/main/commands/service-ports.ts';
import { upPorts } from '../../src/app/main/commands/up-ports.ts';
import { listenOn } from '../support/listen-on.ts';
import { tempDir } from '../support/temp-dir.ts';

const HERE = 'postern-server.yaml';
const got: string[] = [];
/** Somebody else's, who waits for keys. */
const port = await listenOn(
  { after },
  createServer(({ headers }, response) => {
    if (headers.authorization !== undefined) got.push(headers.authorization);
    response.setHeader('content-type', 'application/json').setHeader('postern-operation-id', 'op_1');
    response.end(JSON.stringify({ status: 'ready', claims: [], https_edges: [], backends: [] }));
  }),
);
const own = join(await tempDir({ after }), 'data');
await mkdir(own);
await writeFile(join(own, 'first-api-key'), 'mine\n', { mode: 0o600 });

const foreign = (dataDir: string): string => `api_listen: 127.0.0.1:${port}\ndata_dir: ${dataDir}\n`;
const nowhere = join(own, 'nowhere');

interface Run {
  readonly name?: 'up' | 'down';
  readonly text?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly answer?: string;
}

async function run({ name = 'down', text = foreign(nowhere), env = {}, args = [], answer }: Run): Promise<string> {
  got.length = 0;
  const err: string[] = [];
  const read = (path: string): string | null => (path === HERE ? text : servicePorts.read(path));
  const service = { ...servicePorts, hasSystemd: () => false, read };
  const context = {
    ...{ env, isTerminal: false, print: () => {}, warn: (line: string) => void err.push(line) },
    ...(answer !== undefined && { ask: () => Promise.resolve(answer) }),
  };
  const typed = ['app.localhost', ...args];
  const command = name === 'up' ? createUpCommand : createDownCommand;
  await command({ ...upPorts, service })
    .run(typed, context)
    .catch((error: unknown) => void err.push(problemText(error, typed, {})));
  return err.join('\n');
}

const KEY = { POSTERN_CLI_API_KEY: 'mine' };

suite('a postern-server.yaml that the current directory happens to have', () => {
  const refused: readonly (readonly [string, Run])[] = [
    ['POSTERN_CLI_API_KEY', { env: KEY }],
    ['--api-key-file', { args: ['--api-key-file', join(own, 'first-api-key')] }],
    ['POSTERN_API_KEY', { env: { POSTERN_API_KEY: 'mine'.repeat(10) } }],
    ['the first key of another server', { text: foreign(own) }],
    ['a key, though somebody at the terminal says no', { env: KEY, answer: '' }],
  ];
  for (const [what, asked] of refused) {
    test(`does not direct ${what}`, async () => {
      const message = await run(asked);
      assert.deepEqual(got, [], message);
      assert.match(message, /postern-server\.yaml in this directory says that the API is at http:\/\/127\.0\.0\.1:\d+/);
      assert.match(message, /name it with --config postern-server\.yaml/);
      assert.doesNotMatch(message, /mine/);
    });
  }

  test('is used when the person names it, its address, or agrees', async () => {
    for (const asked of [
      { env: KEY, args: ['--config', HERE] },
      { env: { ...KEY, POSTERN_CONFIG: HERE } },
      { env: KEY, args: ['--api-listen', `127.0.0.1:${port}`] },
      { env: KEY, answer: 'y' },
    ]) {
      const message = await run(asked);
      assert.equal(got[0], 'Bearer mine', message);
    }
  });

  for (const [variable, setting, line] of [
    [
      'POSTERN_CONSOLE_OIDC_CLIENT_SECRET',
      'console_oidc_issuer',
      'console_oidc_issuer: https://evil.example.com\nconsole_oidc_client_id: x\nconsole_roles: viewer=*',
    ],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'otel_endpoint', 'otel_endpoint: https://evil.example.com'],
    ['POSTERN_OTEL_HEADERS', 'otel_traces_endpoint', 'otel_traces_endpoint: https://evil.example.com/x'],
  ] as const) {
    test(`starts no server that would send ${variable} elsewhere`, async () => {
      const env = {
        [variable]: variable.includes('HEADERS') ? 'authorization=c2VjcmV0' : 'c2VjcmV0LXRoYXQtaXMtbG9uZw',
      };
      const text = `data_dir: ${nowhere}\n${line}\n`;
      const message = await run({ name: 'up', text, env, args: ['--to', '3000'] });
      assert.match(
        message,
        new RegExp(
          `postern-server\\.yaml in this directory sets ${setting}, but the secret of the variable ${variable} `,
        ),
      );
      assert.doesNotMatch(message, /c2VjcmV0/);
    });
  }
});
