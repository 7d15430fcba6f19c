import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { apiResources } from '../../src/cli/api/api-resources.ts';
import { operationList } from '../../src/cli/api/operation-list.ts';
import { tempDir } from '../support/temp-dir.ts';
import { runCommand } from './run-command.ts';

const run = promisify(execFile);

test('bash completes commands, resources, verbs, flags and values', async (t) => {
  const folder = await tempDir(t);
  const script = join(folder, 'completion.bash');
  await writeFile(script, (await runCommand(['completion', 'bash'])).stdout);
  await writeFile(join(folder, 'ca.pem'), '');
  const complete = async (...words: string[]): Promise<string[]> => {
    const line = ['postern', ...words].join(' ');
    const program = `source '${script}'; COMP_LINE='${line}'; COMP_POINT=${line.length}; _postern; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['--norc', '-c', program], { cwd: folder });
    return stdout.split('\n').filter((line) => line !== '');
  };

  assert.deepEqual(await complete('s'), ['server', 'start', 'store', 'service', 'status', 'search']);
  assert.deepEqual(await complete('completion', ''), ['bash', 'zsh', 'fish']);
  const nouns = apiResources(operationList()).map(({ name }) => name);
  assert.deepEqual(await complete('api', ''), nouns);
  assert.deepEqual(await complete('api', 'https-e'), ['https-edges', 'https-edge-routes']);
  assert.deepEqual(await complete('api', 'https-edges', ''), ['create', 'list', 'get', 'update', 'delete']);
  assert.deepEqual(await complete('api', 'routes', 'd'), ['delete']);
  assert.deepEqual(await complete('api', 'https-edges', 'create', '--h'), ['--hostports']);
  assert.deepEqual(await complete('api', 'oidc', 'replace', '--edge', 'x', '--no-e'), ['--no-enabled']);
  assert.deepEqual(await complete('api', 'routes', 'create', '--match-type', ''), ['exact_path', 'path_prefix']);
  assert.deepEqual(await complete('api', 'routes', 'create', '--match-type=ex'), ['exact_path']);
  assert.deepEqual(await complete('api', 'oidc', 'get', '--edge', ''), []);
  assert.deepEqual(await complete('api', 'https-edges', 'list', '--root-ca', 'c'), ['ca.pem', 'completion.bash']);
  assert.deepEqual(await complete('api', 'certificate-authorities', 'create', '--ca-pem', '@ca'), ['@ca.pem']);
  assert.ok((await complete('server', '--api-')).includes('--api-listen'));
  assert.deepEqual(await complete('store', 'b'), ['backup']);
});

test('bash finds the function registered for postern', async (t) => {
  const script = join(await tempDir(t), 'completion.bash');
  await writeFile(script, (await runCommand(['completion', 'bash'])).stdout);
  const { stdout } = await run('bash', ['--norc', '-c', `source '${script}'\ncomplete -p postern`]);
  assert.match(stdout, /-F _postern postern/);
});

test('zsh and fish get the same words in their own syntax', async () => {
  const zsh = await runCommand(['completion', 'zsh']);
  assert.match(zsh.stdout, /^#compdef postern\n/);
  const fish = await runCommand(['completion', 'fish']);
  for (const { stdout } of [zsh, fish]) {
    for (const { name } of apiResources(operationList())) assert.match(stdout, new RegExp(`"api ${name}"`));
    assert.match(stdout, /--hostports/);
  }
});

test('rejects another shell', async () => {
  const { code, stderr } = await runCommand(['completion', 'bahs']);
  assert.equal(code, 2);
  assert.match(stderr, /bash\|zsh\|fish\. Did you mean "bash"/);
});
