// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Cleanup } from '../support/cleanup.ts';
import { projectRoot, shellBlocks } from './markdown.ts';
import { Reader } from './reader.ts';
import { tutorialPlans } from './tutorial-plans.ts';

suite('the README and the tutorials, followed one after another', () => {
  /** Hooks made inside a hook would belong to the test that runs next. */
  const tasks: (() => Promise<void>)[] = [];
  const cleanup: Cleanup = { after: (task) => tasks.unshift(task) };
  let reader: Reader;

  before(async () => {
    reader = await Reader.open(cleanup);
  });

  after(async () => {
    for (const task of tasks) await task();
  });

  for (const [page, plan] of Object.entries(tutorialPlans)) {
    test(`${page} can be followed as written`, () => reader.follow(page, plan));
  }

  test('the first edge of the README has a backend and compression', async () => {
    const output = await reader.once('node bin/postern.mjs api https-edges list --json');
    const { https_edges: edges } = JSON.parse(output) as {
      https_edges: { hostports: string[]; routes: { compression: object; backend: object }[] }[];
    };
    // The tutorials delete what they create; the README's edge stays.
    assert.deepEqual(
      edges.map(({ hostports }) => hostports),
      [['hello.localhost:7443']],
    );
    assert.ok(edges[0]?.routes[0]?.compression);
    assert.ok(edges[0]?.routes[0]?.backend);
  });

  test('the CLI finds the first key automatically on the machine of the server', async () => {
    const output = await reader.once('node bin/postern.mjs api api-keys list --json', { POSTERN_CLI_API_KEY: '' });
    assert.equal((JSON.parse(output) as { keys: unknown[] }).keys.length, 1);
  });
});

test('the commands of the README and of CONTRIBUTING are those that CI runs, and exist', async () => {
  const [start, test] = shellBlocks('README.md');
  assert.deepEqual([start?.text, test?.text], ['npm start\n', 'npm test\n']);
  const contributing = shellBlocks('CONTRIBUTING.md')[0]?.text ?? '';
  const ci = await readFile(join(projectRoot, '.ci', 'run'), 'utf8');
  for (const command of ['npm run check', 'npm test']) {
    assert.match(ci, new RegExp(`^${command}$`, 'm'));
    assert.match(contributing, new RegExp(`^${command}\\b`, 'm'));
  }
  const { scripts } = JSON.parse(await readFile(join(projectRoot, 'package.json'), 'utf8')) as { scripts: object };
  for (const script of ['start', 'check', 'test', 'dev-idp']) assert.ok(script in scripts, script);
});
