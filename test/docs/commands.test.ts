import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { howToPlans } from './how-to-plans.ts';
import { markdownPages, projectRoot, shellBlocks } from './markdown.ts';
import { tutorialPlans } from './tutorial-plans.ts';

/** Pages whose commands no test of this folder runs, with the test that does, or the reason why none can. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': 'CI runs them (.ci/run), held by tutorials.test.ts',
  'bench/cluster/README.md': 'benchmarks of several minutes',
  'bench/edge/README.md': 'benchmarks of several minutes',
  'bench/events/README.md': 'benchmarks of several minutes',
  'bench/guard/README.md': 'benchmarks of several minutes',
  'bench/tunnel/README.md': 'benchmarks of several minutes',
  'docs/how-to/install.md': 'run by test/install/package.test.ts, binary.test.ts and test/long/minimal-debian.test.ts',
  'docs/how-to/publish-a-site.md': 'run by test/up/up.test.ts, which has a DNS of its own',
  'docs/how-to/run-in-a-container.md': 'run by test/install/compose-page.test.ts, with a stand-in for Docker',
  'docs/how-to/serve-http3.md': 'run by http3-page.test.ts, which has Caddy',
  'docs/how-to/run-several-nodes.md': 'run by several-nodes.test.ts, which has three machines and a database',
  'docs/how-to/move-to-postgresql.md': 'run by its own test in how-to.test.ts, which has a database',
  'docs/tutorials/4-login-for-colleagues.md': 'run by colleagues.test.ts, with a server that has its settings',
  'docs/internals/writing-a-module.md':
    'test/architecture/throwaway-module.test.ts follows the page in a copy of the project',
  'docs/reference/agent.md': 'examples of flags, held against the help texts by test/cli/agent-docs.test.ts',
  'docs/reference/inspector.md': 'run by inspector.test.ts, which has an agent with requests',
};

const planned = new Map<string, number>([
  ...Object.entries(tutorialPlans).map(([page, plan]): [string, number] => [page, plan.length]),
  ...Object.entries(howToPlans).map(([page, { blocks }]): [string, number] => [page, blocks.length]),
]);

test('every shell command in Markdown is run by a test, or has a reason why not', () => {
  const withoutPlan = markdownPages().flatMap((page) => {
    const blocks = shellBlocks(page);
    if (page in NOT_RUN) return [];
    return blocks.slice(planned.get(page) ?? 0).map(({ line }) => `${page}:${line}`);
  });
  assert.deepEqual(withoutPlan, [], 'add these blocks to a plan in test/docs, or a reason to NOT_RUN');
});

test('no plan and no reason is left over', () => {
  const stale = [...planned].filter(([page, count]) => shellBlocks(page).length !== count);
  assert.deepEqual(stale, [], 'these plans have another number of blocks than their page');
  assert.deepEqual(
    Object.keys(NOT_RUN).filter((page) => shellBlocks(page).length === 0),
    [],
  );
});

test('a page that only the long form follows names a test of its commands', () => {
  const named = Object.values(howToPlans).flatMap(({ alsoRunBy }) => alsoRunBy ?? []);
  assert.deepEqual(
    named.filter((path) => !existsSync(join(projectRoot, path))),
    [],
  );
});
