import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { createLog } from '../../src/kit/logging/logger.ts';
import { recorded } from '../support/recorded-request.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const folder = await tempDir({ after });
const world = await TestWorld.open({ after });
const env = operatorEnv(world);

suite('files that commands read', () => {
  const huge = join(folder, 'huge.yml');
  const commands: readonly (readonly string[])[] = [
    ['plan', '-f', 'FILE'],
    ['apply', '--yes', '-f', 'FILE'],
    ['validate', '-f', 'FILE'],
    ['import', 'caddy', 'FILE', '--file', '-'],
    ['import', 'ngrok', '--from-file', 'FILE', '--file', '-'],
    ['config', 'check', '--config', 'FILE'],
    ['status', '--api-key-file', 'FILE'],
    ['api', 'certificate-authorities', 'create', '--ca-pem', '@FILE'],
    ['server', '--config', 'FILE'],
  ];
  const data = ['--data-dir', join(folder, 'data')];
  const listen = ['api', 'edge', 'edge-http', 'tunnel'].flatMap((name) => [`--${name}-listen`, '127.0.0.1:0']);
  const certificate = ['--api-tls-cert', 'FILE', '--api-tls-key', 'FILE'];
  const reading: readonly (readonly [readonly string[], number])[] = [
    ...commands.map((command) => [command, ['server', 'config'].includes(command[0] ?? '') ? 1 : 2] as const),
    [['store', 'restore', 'FILE', ...data], 2],
    [['server', ...data, ...listen, ...certificate], 1],
    [['http', '3000', '--authtoken-file', 'FILE'], 2],
  ];
  for (const [command, expected] of reading)
    test(`the path, what is wrong with it and what to do: postern ${command.slice(0, 4).join(' ')}`, async () => {
      for (const [file, reason] of [
        [join(folder, 'gone', 'file.yml'), 'it does not exist. Check the path'],
        [join(folder, 'a-file', 'file.yml'), 'a part of the path is a file, not a directory. Check the path'],
        [folder, 'it is a directory. Name a file'],
      ] as const) {
        await writeFile(join(folder, 'a-file'), '');
        const { code, stderr } = await runCommand(
          command.map((each) => each.replace('FILE', file)),
          { env },
        );
        // A directory is as good as a file for these: its files are meant.
        if (file === folder && command.includes('-f')) continue;
        assert.ok(stderr.includes(`${file}: ${reason}`), stderr);
        assert.doesNotMatch(stderr, /\bE[A-Z]{4,}\b(?!_)/);
        assert.equal(code, expected, stderr);
      }
    });

  test('a backup into a directory that does not exist names it', async () => {
    const file = join(folder, 'gone', 'postern.backup');
    const { code, stderr } = await runCommand(['store', 'backup', file, '--data-dir', world.dataDir], { env });
    assert.match(stderr, /cannot write .*postern.backup: its directory does not exist. Create it, or check the path$/m);
    assert.equal(code, 2);
  });
  for (const command of commands)
    test(`a device and a huge file are refused by postern ${command.join(' ')}`, { timeout: 60_000 }, async () => {
      await writeFile(huge, '');
      await truncate(huge, 30 * 1024 ** 3);
      for (const [file, reason] of [
        ['/dev/zero', /neither a file nor a pipe/],
        [huge, /larger than \d+ MiB/],
      ] as const) {
        const before = process.memoryUsage().rss;
        const { code, stderr } = await runCommand(
          command.map((each) => each.replace('FILE', file)),
          { env },
        );
        assert.ok(code !== 0, stderr);
        assert.match(stderr, reason);
        assert.ok(process.memoryUsage().rss - before < 500 * 1024 ** 2);
      }
    });

  test('a pipe is read up to its end, or to the limit', { timeout: 60_000 }, async () => {
    const pipe = join(folder, 'pipe.yml');
    execFileSync('mkfifo', [pipe]);
    const good = spawn('sh', ['-c', 'printf "version: 1\\n" > "$0"', pipe]);
    assert.equal((await runCommand(['validate', '-f', pipe], { env })).code, 0);
    const endless = spawn('sh', ['-c', 'cat /dev/zero > "$0"', pipe]);
    const { code, stderr } = await runCommand(['validate', '-f', pipe], { env });
    assert.notEqual(code, 0);
    assert.match(stderr, /larger than/);
    for (const child of [good, endless]) child.kill('SIGKILL');
  });

  test('a file with a mistake on each line prints a hundred of them', { timeout: 60_000 }, async () => {
    const file = join(folder, 'postern-agent.yaml');
    await writeFile(file, `version: 2\n${Array.from({ length: 20_000 }, (_, at) => `unknown${at}: 1\n`).join('')}`);
    const { code, stderr } = await runCommand(['config', 'check', '--config', file], { env });
    assert.equal(code, 78);
    const lines = stderr.trimEnd().split('\n');
    assert.equal(lines.length, 101);
    assert.equal(lines.at(-1), 'postern: 19900 more problems are not shown');
  });
});

test('the report of an import prints a thousand lines of a list, and JSON has all', { timeout: 60_000 }, async () => {
  const dump = join(folder, 'dump.json');
  const edges = Array.from({ length: 3_000 }, (_, at) => ({ [`unknown${at}`]: 1 }));
  await writeFile(dump, JSON.stringify({ https_edges: edges, ip_restrictions: [] }));
  const command = ['import', 'ngrok', '--from-file', dump, '--force', '--file', join(folder, 'imported.yaml')];
  const { code, stdout, stderr } = await runCommand(command, { env });
  assert.equal(code, 4, stderr);
  const lines = stdout.split('\n');
  assert.ok(lines.length < 1_100, `${lines.length} lines`);
  assert.match(stdout, /^Not carried over \(3000\):$/m);
  assert.match(stdout, /^ {2}2000 more lines are not shown: -o json prints all of them$/m);
  const all = await runCommand([...command, '-o', 'json'], { env });
  assert.equal(JSON.parse(all.stdout).dropped.length, 3_000);
});

suite('a control character of a visitor', () => {
  const hostile = 'curl\u009b2J\u0085\u007f\u001b[2J';
  const request = recorded({ path: '/hostile', headers: ['user-agent', hostile] });
  world.server.history.record(request);

  test('does not reach a terminal or a pipe by any form of the output', async () => {
    for (const columns of [undefined, 80]) {
      const options = { env, ...(columns !== undefined && { columns }) };
      for (const args of [
        ['requests'],
        ['requests', '-o', 'json'],
        ['requests', 'show', request.id],
        ['requests', 'show', request.id, '-o', 'json'],
        ['api', 'requests', 'list'],
        ['api', 'requests', 'list', '-o', 'json'],
        ['api', 'requests', 'list', '-o', 'yaml'],
        ['api', 'requests', 'list', '-o', 'table'],
      ]) {
        const { code, stdout, stderr } = await runCommand(args, options);
        assert.equal(code, 0, stderr);
        // A table shortens what has no room, and the short lines have no id.
        const isShort = args.includes('table') || args.length === 3;
        const shown = args.length === 1 ? '/host' : isShort ? request.id.slice(0, 10) : request.id;
        assert.match(stdout, new RegExp(shown), args.join(' '));
        assert.doesNotMatch(stripVTControlCharacters(stdout), /(?!\n)\p{Cc}/u, args.join(' '));
        if (args.includes('json') && args.includes('list'))
          assert.deepEqual(JSON.parse(stdout).requests[0].user_agent, hostile);
      }
    }
  });

  test('does not reach a terminal by a plan', async () => {
    const file = join(folder, 'postern-server.yaml');
    await writeFile(file, `version: 1\nbackends:\n  page: {kind: http_response, body: "a\\x9b2J"}\n`);
    for (const args of [
      ['plan', '-f', file, '-o', 'json'],
      ['plan', '-f', file],
    ]) {
      const { code, stdout } = await runCommand(args, { env });
      assert.equal(code, 4);
      assert.match(stdout, /\\u009b/);
      assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
    }
  });

  test('does not reach the log', () => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line: string) => lines.push(line) });
    log.logger.info({ text: hostile }, hostile);
    log.requestLogger.info({ text: hostile }, 'request');
    log.flush();
    assert.equal(lines.length, 2);
    for (const line of lines) {
      assert.equal(JSON.parse(line).text, hostile);
      assert.doesNotMatch(line, /(?!\n)\p{Cc}/u);
    }
  });
});
