// Own process: takes long, since it starts several servers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { runCommand } from '../cli/run-command.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { type ReadyLine, startPostern, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { readPage } from './markdown.ts';

const PAGE = 'docs/how-to/troubleshoot.md';
const text = readPage(PAGE);
const run = promisify(execFile);

/** The page quotes what a person sees; here the thing happens. */
suite(PAGE, () => {
  const tasks: (() => Promise<void>)[] = [];
  const cleanup: Cleanup = { after: (task) => void tasks.unshift(task) };
  let folder: string;
  let ready: ReadyLine;

  before(async () => {
    folder = await tempDir(cleanup);
    ready = await startServerProcess(cleanup, join(folder, 'postern-data'), { cwd: folder }).ready();
  });

  after(async () => {
    for (const task of tasks) await task();
  });

  const addressOf = (listener: string): string =>
    (ready.addresses as unknown as Record<string, string>)[listener] ?? '';

  /** Everything that a command prints. */
  const printed = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const command = startPostern(cleanup, { args, cwd: folder, env: { HOME: folder, ...env } });
    const { code } = await command.exited;
    assert.notEqual(code, 0, command.stdout());
    return command.stdout() + command.stderr();
  };
  const api = (...args: string[]): readonly string[] => ['api', ...args, '--api-url', ready.base_url];
  /** The same, of a command that ends by itself and needs no process of its own. */
  const said = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(args, { env: { HOME: folder, ...env } });
    assert.notEqual(code, 0, stdout);
    return stdout + stderr;
  };
  /** What a command prints that succeeds. */
  const answerTo = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(args, { env });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };

  const quoted = (shown: string, output: string): void => {
    assert.ok(text.includes(`\`${shown}`), `the page does not have: ${shown}`);
    for (const part of shown.split('…')) assert.ok(output.includes(part.trim()), `${shown} is not in: ${output}`);
  };

  test('a server that does not start says so in these words', async () => {
    const other = ['server', '--data-dir', join(folder, 'other'), '--api-listen', '127.0.0.1:0'];
    const taken = await printed([...other, '--edge-listen', addressOf('edge')]);
    quoted('port 7443 is already in use', taken.replaceAll(addressOf('edge').split(':')[1] ?? '', '7443'));
    quoted('unknown environment variable POSTERN_…', await printed(other, { POSTERN_DOMIAN: 'example.com' }));
    quoted(
      'process … uses the data directory …',
      await printed(['server', '--data-dir', join(folder, 'postern-data')]),
    );
    const locked = join(folder, 'locked');
    const first = startServerProcess(cleanup, locked, { cwd: folder });
    await first.ready();
    first.child.kill('SIGTERM');
    await first.exited;
    const key = Buffer.alloc(32, 3).toString('base64');
    quoted(
      'the store was written with secret key …',
      await printed(['server', '--data-dir', locked], { POSTERN_SECRET_KEY: key }),
    );
  });

  test('a visitor gets these codes', async () => {
    const port = addressOf('edge').split(':')[1] ?? '';
    const key = { POSTERN_DATA_DIR: join(folder, 'postern-data') };
    const make = (...args: string[]): Promise<string> => answerTo(api(...args, '--only', 'id'), key);
    const edge = await make('https-edges', 'create', '--hostports', `a.localhost:${port}`);
    const closed = await make('static-backends', 'create', '--address', '127.0.0.1:9');
    const group = await make('tunnel-group-backends', 'create', '--labels', 'app=a');
    const route = async (match: string, ...more: string[]): Promise<string> =>
      make('routes', 'create', '--edge', edge, '--match-type', 'exact_path', '--match', match, ...more);
    await route('/unreachable', '--backend.backend-id', closed);
    await route('/tunnel', '--backend.backend-id', group);
    await route('/none');
    const curl = async (url: string): Promise<string> => {
      const args = ['-skS', '--connect-to', `::127.0.0.1:${port}`, url];
      return run('curl', args).then(
        ({ stdout }) => stdout,
        (error: unknown) => String(error),
      );
    };
    const cases = {
      '/unreachable': 'ERR_POSTERN_UPSTREAM_UNREACHABLE',
      '/tunnel': 'ERR_POSTERN_NO_TUNNEL',
      '/none': 'ERR_POSTERN_NO_BACKEND',
      '/': 'ERR_POSTERN_NO_ROUTE',
    };
    for (const [path, code] of Object.entries(cases)) quoted(code, await curl(`https://a.localhost:${port}${path}`));
    quoted('unrecognized name', await curl(`https://other.example.com:${port}/`));
  });

  test('a command says this', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    quoted('no API key', await said(api('https-edges', 'list'), { POSTERN_DATA_DIR: empty }));
    await writeFile(join(empty, 'first-api-key'), `postern_ak_${'x'.repeat(43)}\n`);
    quoted('ERR_POSTERN_UNAUTHENTICATED', await said(api('https-edges', 'list'), { POSTERN_DATA_DIR: empty }));
    const silent = await said(['api', 'https-edges', 'list', '--api-url', 'http://127.0.0.1:9'], {
      POSTERN_DATA_DIR: empty,
    });
    quoted('cannot reach http://127.0.0.1:7080', silent.replace(':9', ':7080'));
  });

  test('an agent says this', async () => {
    const agent = (...args: string[]): readonly string[] => ['http', '3000', '--no-inspect', ...args];
    const cas = join(folder, 'cas.pem');
    await writeFile(cas, await answerTo(['ca', 'print', '--data-dir', join(folder, 'postern-data')]));
    const token = ['--authtoken', `postern_cr_${'x'.repeat(43)}`];
    const gateway = ['--server-addr', addressOf('tunnel')];
    const bare = { HOME: join(folder, 'empty'), POSTERN_DATA_DIR: join(folder, 'empty') };
    quoted('is signed by an authority that is not trusted', await printed(agent(...token, ...gateway), bare));
    const trusting = (...args: string[]) => printed(agent(...gateway, '--root-ca', cas, ...args), bare);
    quoted('this server does not know the agent token', await trusting(...token));
    const data = { POSTERN_DATA_DIR: join(folder, 'postern-data') };
    const narrow = [
      '--authtoken',
      await answerTo(api('credentials', 'create', '--acl', 'bind:x.example.com', '--only', 'token'), data),
    ];
    quoted('the acl of this credential does not allow …', await trusting(...narrow, '--domain', 'y.example.com'));
    const lost = startPostern(cleanup, {
      args: agent(...token, '--server-addr', '127.0.0.1:9'),
      cwd: folder,
      env: bare,
    });
    while (!/nothing listens/.test(lost.stdout() + lost.stderr()) && lost.child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 50));
    quoted('nothing listens at …', lost.stdout() + lost.stderr());
    lost.child.kill('SIGKILL');
    await lost.exited;
  });

  test('every code on the page exists', () => {
    const known = readPage('docs/reference/errors.md');
    const codes = [...new Set(text.match(/ERR_POSTERN_\w+/g))];
    assert.ok(codes.length > 15);
    assert.deepEqual(
      codes.filter((code) => !known.includes(`\`${code}\``)),
      [],
    );
  });
});
