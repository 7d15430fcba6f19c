import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, MODULE_CONTRACT, projectRoot } from './source-files.ts';

/** Data that a module only receives, and fields of forms that need files. */
const EXEMPT = ['TrafficRequest', 'ClientCertificate', 'RevocationPolicy', 'RevocationVerdict', 'AgentField'];

/** What the server implements for logins; modules only call it. */
const OF_LOGINS = /\/(login-store|own-issuer|attempt-budgets)\.ts$/;

test('the throwaway modules use every declaration, hook and port of the contract', () => {
  const used = filesIn('test/architecture/throwaway-{module,hooks}/*.ts').map(textOf).join('\n');
  const members = filesIn(`${MODULE_CONTRACT}*.ts`)
    .filter((path) => !OF_LOGINS.test(path))
    .flatMap((path) => membersIn(textOf(path)));
  assert.ok(members.length > 120, `only ${members.length} members were found`);
  const unused = members.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(used));
  assert.deepEqual(
    unused.map(({ owner, name }) => `${owner}.${name}`),
    [],
    'use it in test/architecture/throwaway-hooks, and show in use-hooked.ts what follows from it',
  );
});

function membersIn(text: string): { readonly owner: string; readonly name: string }[] {
  const interfaces = text.matchAll(/^export interface (\w+)[\s\S]*?\{\n([\s\S]*?)^\}/gm);
  return Array.from(interfaces)
    .filter(([, owner = '']) => !EXEMPT.includes(owner))
    .flatMap(([, owner = '', body = '']) =>
      Array.from(body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:<]/gm), ([, name = '']) => ({ owner, name })),
    );
}

function textOf(path: string): string {
  return readFileSync(join(projectRoot, path), 'utf8');
}
