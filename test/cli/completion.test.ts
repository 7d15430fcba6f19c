import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { apiResources } from '../../src/app/cli/api/api-resources.ts';
import { operationList } from '../../src/app/cli/api/operation-list.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

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
  assert.equal(
    stderr,
    'postern: there is no completion for bahs: the shells are bash, zsh and fish. Did you mean "bash"?\n',
  );
  const none = await runCommand(['completion']);
  assert.deepEqual([none.code, none.stderr], [2, 'postern completion takes one shell: bash, zsh or fish\n']);
});

suite('names that only the server knows', async () => {
  const world = await TestWorld.open({ after });
  const env = operatorEnv(world);
  const edge = await world.api('POST', '/edges/https', { hostports: ['wiki.example.com:443', 'www.example.com:443'] });
  await world.api('POST', `/edges/https/${edge.body.id}/routes`, { match: '/docs', match_type: 'path_prefix' });
  await world.api('POST', '/backends/static', { address: '127.0.0.1:3000', description: 'ci runner' });
  await world.api('POST', '/service_accounts', { name: 'ana@example.com' });

  const names = async (kinds: string, begun = ''): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await runCommand(['completion', 'names', kinds, begun], { env });
    assert.deepEqual([code, stderr], [0, '']);
    return stdout.split('\n').filter((line) => line !== '');
  };

  test('are hosts, routes, and what else people call a thing', async () => {
    assert.deepEqual(await names('https_edge'), ['wiki.example.com', 'www.example.com']);
    assert.deepEqual(await names('https_edge', 'wi'), ['wiki.example.com']);
    assert.deepEqual(await names('https_edge_route'), ['wiki.example.com/docs', 'www.example.com/docs']);
    assert.deepEqual(await names('static_backend,service_account'), ['ci runner', 'ana@example.com']);
    assert.deepEqual(await names('unheard_of'), []);
  });

  test('are none, silently and soon, without a server and without a key', async () => {
    const unreachable = { ...env, POSTERN_CLI_API_URL: 'http://127.0.0.1:9' };
    const keyless = { POSTERN_CLI_API_URL: 'https://postern.example.com' };
    for (const given of [unreachable, keyless]) {
      const began = performance.now();
      const result = await runCommand(['completion', 'names', 'https_edge', 'w'], { env: given });
      assert.deepEqual(result, { code: 0, stdout: '', stderr: '' });
      assert.ok(performance.now() - began < 3_000);
    }
  });

  test('complete flags and arguments in bash, and after npx', async (t) => {
    const folder = await tempDir(t);
    const script = join(folder, 'completion.bash');
    await writeFile(script, (await runCommand(['completion', 'bash'])).stdout);
    await writeFile(join(folder, 'file'), '');
    const program = `postern() { '${process.execPath}' '${join(import.meta.dirname, '../../bin/postern.mjs')}' "$@"; }\nnpx() { shift; postern "$@"; }\nsource '${script}'`;
    const complete = async (line: string): Promise<readonly string[]> => {
      const typed = `COMP_LINE='${line}'; COMP_POINT=${line.length}; _postern; printf '%s\n' "\${COMPREPLY[@]}"`;
      const { stdout } = await run('bash', ['--norc', '-c', `${program}\n${typed}`], {
        cwd: folder,
        env: { ...process.env, ...env },
      });
      return stdout.split('\n').filter((word) => word !== '');
    };
    assert.deepEqual(await complete('postern requests --host w'), ['wiki.example.com', 'www.example.com']);
    assert.deepEqual(await complete('postern explain wi'), ['wiki.example.com']);
    assert.deepEqual(await complete('postern api routes get --edge=ww'), ['www.example.com']);
    // bash replaces only what follows the "@", and a name with a space is one word.
    assert.deepEqual(await complete('postern requests --user ana@ex'), ['@example.com']);
    assert.deepEqual(await complete('postern api static-backends get ci'), ['ci\\ runner']);
    assert.deepEqual(await complete('npx postern requests --host wi'), ['wiki.example.com']);
    assert.deepEqual(await complete('npx other --host wi'), []);
  });
});

test('zsh and fish ask for the same names', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { stdout } = await runCommand(['completion', shell]);
    assert.match(stdout, /"users disable :operand"\)?\s+(?:echo|printf '%s\\n') "?:names:user_account/);
    assert.match(stdout, /completion names/);
  }
});
